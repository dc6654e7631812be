//! Controllers that bring a repository onto the cluster, by the calls that they make.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use vestibule_testenv::tools_or_skip;

use super::fixture::{ToolFixture, Version};
use super::owner::{Apply, Owner};
use super::releases::releases_go_well;
use crate::fixture::shared_or_skip;

/// As Argo CD syncs: the code of `kubectl apply`, with the last applied manifest as an annotation and a manager of its
/// own; its diff is the one between the live object and what that apply would make of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn argo_cd_syncs() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let flags = &["--field-manager=argocd-controller"];
    releases_go_well(&fixture, &Apply { tools: &tools, flags }).await;
}

/// With `ServerSideApply=true` it takes what others own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn argo_cd_syncs_server_side() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let flags = &["--server-side", "--force-conflicts", "--field-manager=argocd-controller"];
    releases_go_well(&fixture, &Apply { tools: &tools, flags }).await;
}

/// As Flux's kustomize-controller: a dry run of a forced apply, compared with what is there; and only where they
/// differ, the apply itself.
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

/// What Flux looks at: labels, annotations, and all but metadata.
fn compared(object: &DynamicObject) -> (Value, Value) {
    let metadata = (&object.metadata.labels, &object.metadata.annotations);
    (serde_json::to_value(metadata).unwrap(), object.data.clone())
}
