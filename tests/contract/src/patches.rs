//! Hooks that change the object.

use k8s_openapi::api::core::v1::{Pod, Toleration};
use vestibule::Operation::{Create, Update};
use vestibule::{App, Context, FailurePolicy, Reject, on};

pub(crate) fn hooks(app: App) -> App {
    // An unoptimized build on a busy machine needs seconds for a megabyte.
    let pods = || on::<Pod>([Create, Update]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    app.mutate("label", pods(), label)
        .mutate("annotate", pods(), annotate)
        .mutate("lists", pods(), lists)
        .mutate("move", pods(), moves)
        .mutate("rename", pods(), renames)
}

async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    Ok(pod)
}

/// Keys that a pointer must escape (RFC 6901 section 3).
async fn annotate(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert("example.com/a~b~1c".to_owned(), "escaped".to_owned());
    annotations.remove("example.com/old~");
    Ok(pod)
}

/// Appends to a list that may not be there, puts two in front, and takes every second item out.
async fn lists(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    if let Some(spec) = &mut pod.spec {
        let exists = Toleration {
            key: Some("a".to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        };
        spec.tolerations.get_or_insert_default().push(exists);
        for container in &mut spec.containers {
            let args = container.args.get_or_insert_default();
            let mut keep = false;
            args.retain(|_| {
                keep = !keep;
                keep
            });
            args.splice(0..0, ["--first".to_owned(), "--second".to_owned()]);
        }
    }
    Ok(pod)
}

/// Changes the namespace, which no mutation may do.
async fn moves(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    pod.metadata.namespace = Some("elsewhere".to_owned());
    Ok(pod)
}

/// Changes the uid, which no mutation may do.
async fn renames(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    pod.metadata.uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    Ok(pod)
}
