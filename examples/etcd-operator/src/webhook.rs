use k8s_openapi::api::storage::v1::StorageClass;
use kube::ResourceExt;
use vestibule::{Change, Context, Reject, deny};

use crate::cluster::EtcdCluster;

const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";

/// Sets the current default class, so that all members keep the same class.
pub(crate) async fn default(mut cluster: EtcdCluster, context: Context) -> Result<EtcdCluster, Reject> {
    if cluster.spec.storage.class_name.is_none() {
        let mut classes = context.lookup::<StorageClass>().list()?;
        classes.retain(|class| class.annotations().get(IS_DEFAULT).is_some_and(|value| value == "true"));
        // The newest one, and among equally new ones the first by name, as Kubernetes chooses.
        let newest = classes.iter().rev().max_by_key(|class| class.creation_timestamp());
        cluster.spec.storage.class_name = newest.map(|class| class.name_any());
    }
    Ok(cluster)
}

/// Checks that a schema cannot express: odd numbers, quantities, changes, and other objects.
pub(crate) async fn validate(change: Change<EtcdCluster>, context: Context) -> Result<(), Reject> {
    let (old, new) = match change {
        Change::Create { new } => (None, new.spec),
        Change::Update { old, new } => (Some(old.spec), new.spec),
        _ => return Ok(()),
    };
    let mut wrong = Vec::new();
    if new.members % 2 == 0 {
        wrong.push(("spec.members", "an even number survives no more failures than one member less"));
    }
    let size = quantity::Amount::try_from(&new.storage.size).unwrap_or_default();
    if size.whole() < 1 {
        wrong.push(("spec.storage.size", "not an amount above zero"));
    }
    if let Some(old) = old {
        if size < quantity::Amount::try_from(&old.storage.size)? {
            wrong.push(("spec.storage.size", "storage never shrinks"));
        }
        if new.storage.class_name != old.storage.class_name {
            wrong.push(("spec.storage.className", "it never changes"));
        }
    } else if let Some(class) = &new.storage.class_name
        && context.lookup::<StorageClass>().get(class).await?.is_none()
    {
        wrong.push(("spec.storage.className", "there is no such StorageClass"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let denial = deny("the EtcdCluster is invalid").code(422).reason("Invalid");
    Err(wrong.into_iter().fold(denial, |denial, (field, why)| denial.field(field, why)))
}
