//! The webhook of the run. ConfigMaps say what its handlers do.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use vestibule::Operation::Create;
use vestibule::{App, Change, Context, FailurePolicy, Reject, Watch, deny, on};

/// Longer than the second of the alert about slow answers.
const SLOW: Duration = Duration::from_millis(1200);

/// ConfigMaps with the label `watching: check` or `watching: slow` are judged.
pub(crate) fn app() -> App {
    let config_maps = |label| {
        on::<ConfigMap>([Create]).objects(label).failure_policy(FailurePolicy::Ignore).timeout_seconds(5)
    };
    let app = App::new("webhook").validate("check", config_maps("watching=check"), check);
    // No handler reads Services; the panel about objects in memory shows them.
    app.mutate("slow", config_maps("watching=slow"), slow).watch(Watch::<Service>::new())
}

#[expect(clippy::panic, reason = "an alert is about handlers that panic")]
async fn check(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
    let outcome = change.object().and_then(|object| object.data.as_ref()?.get("outcome").cloned());
    match outcome.as_deref() {
        Some("deny") => Err(deny("on purpose")),
        Some("error") => Err(std::io::Error::other("on purpose").into()),
        Some("panic") => panic!("on purpose"),
        _ => Ok(()),
    }
}

async fn slow(config_map: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
    tokio::time::sleep(SLOW).await;
    Ok(config_map)
}
