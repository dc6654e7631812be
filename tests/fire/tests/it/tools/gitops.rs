//! The API calls of GitOps controllers.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use vestibule_testenv::tools_or_skip;

use super::fixture::{ToolFixture, Version};
use super::owner::{Apply, Owner};
use super::releases::releases_go_well;
use crate::fixture::shared_or_skip;

/// Argo CD's sync: `kubectl apply` with the last applied manifest as an annotation and its own field manager. Its diff
/// compares the live object with the result of that apply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn argo_cd_syncs() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let flags = &["--field-manager=argocd-controller"];
    releases_go_well(&fixture, &Apply { tools: &tools, flags }).await;
}

/// With `ServerSideApply=true` the sync takes over fields of other managers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn argo_cd_syncs_server_side() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let flags = &["--server-side", "--force-conflicts", "--field-manager=argocd-controller"];
    releases_go_well(&fixture, &Apply { tools: &tools, flags }).await;
}

/// Flux's kustomize-controller: compares a dry run of a forced apply with the live object, and applies only if they
/// differ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flux_applies() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    releases_go_well(&fixture, &Flux).await;
}

struct Flux;

impl Flux {
    async fn apply(fixture: &ToolFixture<'_>, version: Version, dry_run: bool) -> DynamicObject {
        let mut parameters = PatchParams::apply("kustomize-controller").force();
        parameters.dry_run = dry_run;
        let patch = Patch::Apply(fixture.manifest(version));
        configurations(fixture).patch(&fixture.registration, &parameters, &patch).await.unwrap()
    }

    async fn drifted(fixture: &ToolFixture<'_>, version: Version) -> bool {
        let live = configurations(fixture).get_opt(&fixture.registration).await.unwrap();
        let wanted = Self::apply(fixture, version, true).await;
        live.is_none_or(|live| compared(&live) != compared(&wanted))
    }
}

impl Owner for Flux {
    fn release(&self, fixture: &ToolFixture<'_>, version: Version) {
        wait(async {
            if Self::drifted(fixture, version).await {
                Self::apply(fixture, version, false).await;
            }
        });
    }

    fn sees_no_difference(&self, fixture: &ToolFixture<'_>, version: Version) {
        assert!(!wait(Self::drifted(fixture, version)), "drifted from {version:?}");
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}

fn configurations(fixture: &ToolFixture<'_>) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration");
    Api::all_with(fixture.admin.clone(), &ApiResource::from_gvk(&kind))
}

/// The fields that Flux compares: labels, annotations, and everything outside metadata.
fn compared(object: &DynamicObject) -> (Value, Value) {
    let metadata = (&object.metadata.labels, &object.metadata.annotations);
    (serde_json::to_value(metadata).unwrap(), object.data.clone())
}
