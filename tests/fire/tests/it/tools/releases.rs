//! helm and kubectl release one version after the other.

use vestibule_testenv::tools_or_skip;

use super::fixture::{AT_ONCE, PATIENCE, ToolFixture, Version, succeed, until};
use super::owner::{Apply, Helm, Owner};
use crate::fixture::shared_or_skip;

/// Expectations of every applying tool: it sees no difference where only the replica wrote, existing entries keep their
/// bundle in every version, new entries get it at once, and there is no conflict.
pub(crate) async fn releases_go_well(fixture: &ToolFixture<'_>, owner: &impl Owner) {
    owner.release(fixture, Version::First);
    let bundle = fixture.ready().await;
    fixture.wait_for_answers().await;
    let load = fixture.load();

    let before = (fixture.version().await, fixture.versions().await);
    owner.sees_no_difference(fixture, Version::First);
    owner.release(fixture, Version::First);
    assert_eq!((fixture.version().await, fixture.versions().await), before, "there was nothing to write");

    let start = fixture.versions().await;
    owner.release(fixture, Version::Changed);
    until("the change is seen", PATIENCE, async || fixture.history.len() > start).await;
    assert_eq!(fixture.history.gaps(start, &bundle), [], "entries that stay keep their bundle");
    assert_eq!(fixture.configuration().await.webhooks.unwrap()[0].timeout_seconds, Some(9));
    owner.sees_no_difference(fixture, Version::Changed);

    // The load does not match the new entry.
    gets_the_bundle(fixture, owner, (Version::Added, "added.fire.vestibule.dev"), &bundle).await;
    until("calls were made", PATIENCE, async || fixture.calls() > 40).await;
    load.stop().await;
    assert_eq!(fixture.failures(), [].into());

    gets_the_bundle(fixture, owner, (Version::Renamed, "renamed.fire.vestibule.dev"), &bundle).await;
    owner.sees_no_difference(fixture, Version::Renamed);
    gets_the_bundle(fixture, owner, (Version::First, "close.fire.vestibule.dev"), &bundle).await;
    fixture.wait_for_answers().await;
    assert_eq!(fixture.errors(), [""; 0]);
}

/// Applies a version that adds this entry; no other entry may lack the bundle at any moment.
async fn gets_the_bundle(
    fixture: &ToolFixture<'_>,
    owner: &impl Owner,
    (version, entry): (Version, &str),
    bundle: &str,
) {
    let start = fixture.versions().await;
    owner.release(fixture, version);
    is_injected(fixture, (start, entry), bundle).await;
    let wanted = fixture.manifest(version)["webhooks"].as_array().unwrap().len();
    assert_eq!(fixture.bundles().await.len(), wanted, "what the owner drops is gone");
    fixture.wait_for_answers().await;
}

async fn is_injected(fixture: &ToolFixture<'_>, (start, entry): (usize, &str), bundle: &str) {
    until("the new entry holds the bundle", AT_ONCE, async || {
        fixture.bundles().await.get(entry).is_some_and(|held| held == bundle)
    })
    .await;
    until("that is seen", PATIENCE, async || fixture.history.repairs(start, bundle) > 0).await;
    match fixture.history.gaps(start, bundle).as_slice() {
        [(entries, took)] => {
            assert_eq!(entries, &[entry]);
            assert!(*took < AT_ONCE, "{took:?}");
        }
        gaps => panic!("{gaps:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_apply() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    releases_go_well(&fixture, &Apply { tools: &tools, flags: &[] }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_apply_server_side() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    releases_go_well(&fixture, &Apply { tools: &tools, flags: &["--server-side"] }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_3() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let helm = Helm { program: &tools.helm3, flags: &[] };
    releases_go_well(&fixture, &helm).await;
    goes_back_and_comes_again(&fixture, &helm).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_4() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let helm = Helm { program: &tools.helm4, flags: &[] };
    releases_go_well(&fixture, &helm).await;
    let managers = fixture.configuration().await.metadata.managed_fields.unwrap();
    let applies = |manager: &str, operation: &str| {
        managers.iter().any(|entry| {
            entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some(operation)
        })
    };
    assert!(applies("helm", "Apply") && applies("vestibule", "Update"), "{managers:?}");
    goes_back_and_comes_again(&fixture, &helm).await;
}

/// Rolls back to the revision that renamed a hook, and installs another object with the same name after an uninstall.
async fn goes_back_and_comes_again(fixture: &ToolFixture<'_>, helm: &Helm<'_>) {
    let bundle = fixture.ready().await;
    let history = helm.run(fixture, "history", &["--output", "json"]);
    let revisions: Vec<serde_json::Value> = serde_json::from_str(&history).unwrap();
    let renaming = revisions[revisions.len() - 2]["revision"].to_string();
    let start = fixture.versions().await;
    helm.run(fixture, "rollback", &[&renaming]);
    is_injected(fixture, (start, "renamed.fire.vestibule.dev"), &bundle).await;
    fixture.wait_for_answers().await;

    helm.run(fixture, "uninstall", &[]);
    let start = fixture.history.len();
    helm.release(fixture, Version::First);
    until("the new object holds the bundle", AT_ONCE, async || {
        fixture.bundles().await.values().all(|held| *held == bundle)
    })
    .await;
    until("that is seen", PATIENCE, async || fixture.history.repairs(start, &bundle) > 0).await;
    let gaps = fixture.history.gaps(start, &bundle);
    assert!(gaps.iter().all(|(_, took)| *took < AT_ONCE), "{gaps:?}");
    fixture.wait_for_answers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_4_takes_over_what_helm_3_installed() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    Helm { program: &tools.helm3, flags: &[] }.release(&fixture, Version::First);
    let bundle = fixture.ready().await;
    let helm = Helm { program: &tools.helm4, flags: &["--server-side=true"] };
    let start = fixture.versions().await;
    helm.release(&fixture, Version::Changed);
    until("the change is seen", PATIENCE, async || fixture.history.len() > start).await;
    assert_eq!(fixture.history.gaps(start, &bundle), []);
    gets_the_bundle(&fixture, &helm, (Version::Renamed, "renamed.fire.vestibule.dev"), &bundle).await;
    gets_the_bundle(&fixture, &helm, (Version::First, "close.fire.vestibule.dev"), &bundle).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_replace_takes_the_bundle_away_and_it_is_repaired() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let fixture = ToolFixture::new(&env).await;
    let kubectl = |command: &str, version| {
        let file = fixture.file(version);
        let mut kubectl = fixture.env.command(&tools.kubectl);
        succeed(kubectl.args([command, "-f"]).arg(file));
    };
    kubectl("create", Version::First);
    let bundle = fixture.ready().await;
    for version in [Version::Changed, Version::Renamed] {
        let start = fixture.versions().await;
        kubectl("replace", version);
        until("the bundle is back", AT_ONCE, async || fixture.history.repairs(start, &bundle) == 1).await;
        let gaps = fixture.history.gaps(start, &bundle);
        assert!(gaps.len() == 1 && gaps[0].0.len() == 2 && gaps[0].1 < AT_ONCE, "{gaps:?}");
        fixture.wait_for_answers().await;
    }
    fixture.wait_for_repair_event("kubectl-replace").await;
    assert_eq!(fixture.errors(), [""; 0]);
}
