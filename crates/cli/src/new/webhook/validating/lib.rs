//! Refuses images without a tag or a digest; start at [`app`].

use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::Create;
use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};

/// The webhook: one hook, called for new pods of namespaces labelled `my-validator=enabled`.
pub fn app() -> App {
    // While the webhook is down, no pod is created in these namespaces.
    let pods = on::<Pod>([Create]).namespaces("my-validator=enabled").failure_policy(FailurePolicy::Fail);
    App::new("my-validator").validate("images", pods, images)
}

/// Names all images that are wrong, each by its field.
async fn images(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let containers = change.object().and_then(|pod| pod.spec.as_ref()).map(|spec| &spec.containers);
    let (mut denial, mut is_denied) = (deny("images need a tag or a digest").invalid(), false);
    for (index, container) in containers.into_iter().flatten().enumerate() {
        let image = container.image.as_deref().unwrap_or_default();
        // A port of the registry is before the last slash.
        let name = image.rsplit('/').next().unwrap_or_default();
        if !name.contains([':', '@']) {
            denial =
                denial.field(format!("spec.containers[{index}].image"), "it has neither a tag nor a digest");
            is_denied = true;
        }
    }
    if is_denied { Err(denial) } else { Ok(()) }
}
