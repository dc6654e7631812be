//! A hook that waits, and a hook that releases it.

use k8s_openapi::api::core::v1::Pod;
use tokio::sync::Semaphore;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, on};

/// One permit for each call of `slow` that may continue.
static GO_ON: Semaphore = Semaphore::const_new(0);

pub(crate) fn hooks(app: App) -> App {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    app.mutate("slow", pods(), slow).mutate("release", pods(), release)
}

/// Waits for a call of `release`.
async fn slow(pod: Pod, _: Context) -> Result<Pod, Reject> {
    tracing::info!("slow begins");
    let call = Call { done: false };
    GO_ON.acquire().await?.forget();
    call.end();
    Ok(pod)
}

async fn release(pod: Pod, _: Context) -> Result<Pod, Reject> {
    GO_ON.add_permits(1);
    Ok(pod)
}

/// Logs a call that is dropped before its end.
struct Call {
    done: bool,
}

impl Call {
    fn end(mut self) {
        self.done = true;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.done {
            tracing::info!("slow is cancelled");
        }
    }
}
