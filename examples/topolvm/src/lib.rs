//! Adds the storage that a pod's pending claims request from TopoLVM as a resource of its first container, so that the
//! scheduler chooses a node with enough free storage. Start at [`app`].

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, Watch, on};

/// The node resource for the free storage of volume groups, in bytes.
pub const CAPACITY: &str = "topolvm.cybozu.com/capacity";

const PROVISIONER: &str = "topolvm.cybozu.com";
/// The size of a volume is a multiple of this, and at least one.
const GIBIBYTE: i128 = 1 << 30;

/// One hook, called for new pods.
pub fn app() -> App {
    // `managedFields` are not read; the spec and the status of a claim are enough.
    let claims = Watch::<PersistentVolumeClaim>::new().slim(|claim| claim.metadata.annotations = None);
    App::new("topolvm")
        .mutate("capacity", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), ask_for_capacity)
        .watch(claims)
        .watch(Watch::<StorageClass>::new())
}

async fn ask_for_capacity(mut pod: Pod, context: Context) -> Result<Option<Pod>, Reject> {
    let capacity = capacity(&pod, &context).await?;
    let container = pod.spec.as_mut().and_then(|spec| spec.containers.first_mut());
    let Some(container) = container.filter(|_| capacity > 0) else { return Ok(None) };
    set(container, &Quantity(capacity.to_string()));
    Ok(Some(pod))
}

/// The sum of the requests of the pod's claims, in bytes; 0 if one of them has a volume already, because then the pod
/// goes to the node of that volume.
async fn capacity(pod: &Pod, context: &Context) -> Result<i128, Reject> {
    let mut sum = 0;
    for name in claim_names(pod) {
        // The namespace is the request's, because the pod may not have it yet. A new claim is found too. A pod that is
        // created before its claims is not changed.
        let Some(claim) = context.lookup::<PersistentVolumeClaim>().get(name).await? else { continue };
        let Some(spec) = &claim.spec else { continue };
        if !is_ours(spec, context).await? {
            continue;
        }
        if phase(&claim) != "Pending" {
            return Ok(0);
        }
        sum += requested(spec)?;
    }
    Ok(sum)
}

fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| Some(&*volume.persistent_volume_claim.as_ref()?.claim_name))
}

async fn is_ours(claim: &PersistentVolumeClaimSpec, context: &Context) -> Result<bool, Reject> {
    let Some(class) = claim.storage_class_name.as_deref() else { return Ok(false) };
    let class = context.lookup::<StorageClass>().get(class).await?;
    Ok(class.is_some_and(|class| class.provisioner == PROVISIONER))
}

fn phase(claim: &PersistentVolumeClaim) -> &str {
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

/// In bytes, rounded up as TopoLVM makes the volume.
fn requested(claim: &PersistentVolumeClaimSpec) -> Result<i128, Reject> {
    let requests = claim.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let Some(storage) = requests.and_then(|requests| requests.get("storage")) else { return Ok(GIBIBYTE) };
    let bytes = quantity::Amount::try_from(storage)?.whole().max(1);
    Ok((bytes + GIBIBYTE - 1) / GIBIBYTE * GIBIBYTE)
}

fn set(container: &mut Container, capacity: &Quantity) {
    let resources = container.resources.get_or_insert_default();
    let put = |resources: &mut Option<BTreeMap<String, Quantity>>| {
        resources.get_or_insert_default().insert(CAPACITY.to_owned(), capacity.clone());
    };
    put(&mut resources.requests);
    put(&mut resources.limits);
}
