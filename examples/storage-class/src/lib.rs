//! Claims without a class get the class in the label of their namespace. Start at [`app`].

use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, Watch, on};

/// The label of a namespace whose value is the class.
pub const LABEL: &str = "example.com/storage-class";

/// The annotation for a claim's class that the field has replaced.
const OLD_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// One hook, called for new claims. It watches only the metadata of namespaces.
pub fn app() -> App {
    App::new("storage-class")
        .mutate(
            "by-namespace",
            on::<PersistentVolumeClaim>([Create]).failure_policy(FailurePolicy::Fail),
            by_namespace,
        )
        .watch(Watch::<PartialObjectMeta<Namespace>>::new())
}

async fn by_namespace(
    mut claim: PersistentVolumeClaim,
    context: Context,
) -> Result<PersistentVolumeClaim, Reject> {
    let has_old_name = claim.annotations().contains_key(OLD_ANNOTATION);
    let class = &mut claim.spec.get_or_insert_default().storage_class_name;
    // An empty name counts too: it requests a volume without a class.
    if class.is_none() && !has_old_name {
        let name = context.namespace().unwrap_or_default();
        let namespace = context.lookup::<PartialObjectMeta<Namespace>>().get(name).await?;
        *class = namespace.and_then(|namespace| namespace.labels().get(LABEL).cloned());
    }
    Ok(claim)
}
