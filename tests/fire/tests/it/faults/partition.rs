//! Rows 23 and 25: a replica that is disconnected from the API server, or misses watch events.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{Response, StatusCode};
use k8s_openapi::ByteString;
use kube::Client;
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use vestibule_identity::Identity;

use super::fixture::{Fixture, InProcessReplica, SERVICE, names, now, shared_or_skip, until};

/// Row 23, rule S3: the last read of the ring is valid for one leaf lifetime.
#[tokio::test]
async fn a_replica_that_is_cut_off_signs_no_leaf_beyond_its_lease_and_comes_back() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let (proxy, way) = env.api_server().proxied().unwrap();
    let replica = fixture.start_by(&way).await;
    replica.ready().await;
    fixture.steady().await;
    let name = format!("{SERVICE}.{}.svc", fixture.cluster.home());

    proxy.cut();
    let life = fixture.policy.leaf_life;
    let end = now().plus(life).0 + 1;
    until("its leaf ends", life.as_secs() + 10, async || {
        let leaf = replica.identity.present().unwrap();
        assert!(leaf.not_after.as_secs() <= end, "{} s beyond the lease", leaf.not_after.as_secs() - end);
        replica.identity.status().waiting_for.is_some()
    })
    .await;
    // The last read may be some time before the cut if the machine stalled.
    let (at, status) = (now(), replica.identity.status());
    let lease = at.minus(status.ring_read_ago.unwrap()).plus(life).0;
    let leaf = replica.identity.present().unwrap().not_after.as_secs();
    assert!(
        leaf + 1 >= lease && at.0 + 1 >= leaf,
        "not ready at {at:?}, of a leaf to {leaf}, of a lease to {lease}"
    );

    // Another replica rotates meanwhile.
    let other = fixture.start().await;
    other.ready().await;
    fixture.annotate(fire::ROTATE, "meanwhile").await;
    until("a rotation", 20, async || other.recorded.count("promoted") == 1).await;

    proxy.resume();
    // A watch is retried after up to 30 s; reads do not wait for it.
    until("it is ready again", 40, async || replica.identity.status().waiting_for.is_none()).await;
    until("with a leaf that is accepted", 10, async || {
        let bundles = fixture.bundles().await;
        bundles.iter().all(|bundle| replica.is_accepted(bundle, &name, now()))
    })
    .await;
    until("it knows what the other knows", 10, async || {
        replica.identity.ca_bundle() == other.identity.ca_bundle()
    })
    .await;
}

/// Row 23 under load: the replica becomes unready while its leaf is still valid.
#[tokio::test]
async fn a_replica_that_is_cut_off_is_not_ready_before_its_leaf_ends_and_no_call_fails() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &["--leaf=20"]).await;
    let (proxy, way) = env.api_server().proxied().unwrap();
    let cluster = &fixture.cluster;
    let kubeconfig = way.service_account_kubeconfig(cluster.home(), fire::ACCOUNT).await.unwrap();
    let connected = cluster.start_replica().await.unwrap();
    let cut = cluster.start_unrouted(|command| {
        command.arg("--kubeconfig").arg(kubeconfig);
    });
    let cut = cut.await.unwrap();
    cluster.route(&cut).unwrap();
    let replicas = [connected, cut];
    fixture.all_ready(&replicas).await;
    let load = fixture.load();
    until("both are called", 20, async || cluster.counters().read().replicas.len() == 2).await;

    proxy.cut();
    until("one is left", 40, async || cluster.service().routed() == [replicas[0].hooks()[0]]).await;
    let calls = cluster.counters().read().calls + 100;
    until("calls go on", 30, async || cluster.counters().read().calls > calls).await;
    proxy.resume();
    until("both serve", 60, async || cluster.service().routed().len() == 2).await;
    fixture.nothing_failed(load).await;
}

/// Row 25. The bundle is overwritten and restored while the watch is cut. The hold restarts, because the replica cannot
/// know that the bundle was there all the time.
#[tokio::test]
async fn a_change_undone_while_the_watch_was_cut_restarts_the_hold() {
    let Some(env) = shared_or_skip().await else { return };
    let mut fixture = Fixture::new(&env, &["--leaf=30"]).await;
    fixture.policy.hold = Duration::from_secs(10);
    let (proxy, way) = env.api_server().proxied().unwrap();
    let replica = fixture.start_by(&way).await;
    replica.ready().await;
    let bundles = fixture.bundles().await;
    let ring = fixture.ring().await.unwrap();
    assert!(ring.next().unwrap().held.is_none());

    proxy.cut();
    let unknown = vestibule_identity::Local::in_memory(&["localhost"], std::time::SystemTime::now()).unwrap();
    write(&fixture, &unknown.ca_bundle().unwrap()).await;
    write(&fixture, &bundles[0]).await;
    let undone = Instant::now();
    proxy.resume();
    until("the next CA is held", 60, async || {
        // The bundle must not lose a CA.
        assert_eq!(names(&fixture.bundles().await[0]), ring.trusted());
        fixture.ring().await.is_some_and(|ring| ring.next().is_some_and(|next| next.held.is_some()))
    })
    .await;
    let held = undone.elapsed() + Duration::from_secs(1);
    assert!(held >= fixture.policy.hold, "held {held:?} after the change was undone");
}

/// Row 25. The first four watches are answered with 410 Gone.
#[tokio::test]
async fn watches_answered_410_are_resumed() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let gone = Arc::new(AtomicUsize::new(0));
    let replica = InProcessReplica::start(
        client_with_expired_watches(fixture.cluster.kubeconfig(), &gone, 4).await,
        fixture.settings(),
    );
    replica.ready().await;
    let bundles = fixture.bundles().await;
    fixture.steady().await;
    until("watches were refused", 30, async || gone.load(Ordering::SeqCst) >= 4).await;
    write(&fixture, "\n").await;
    until("the bundle is repaired", 20, async || fixture.bundles().await == bundles).await;
    assert_eq!(fixture.ring().await.unwrap().trusted(), names(&bundles[0]), "and nothing shrank");
}

/// A client whose first watches are answered with 410 Gone, as after a compaction.
async fn client_with_expired_watches(kubeconfig: &Path, gone: &Arc<AtomicUsize>, times: usize) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let inner = ClientBuilder::try_from(config).unwrap().build();
    let gone = Arc::clone(gone);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (inner, gone) = (inner.clone(), gone.clone());
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let refuses = is_watch && gone.fetch_add(1, Ordering::SeqCst) < times;
            if refuses {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired",
                    "code": 410, "message": "too old resource version",
                });
                let event = json!({ "type": "ERROR", "object": status }).to_string() + "\n";
                let mut response = Response::new(Body::from(event.into_bytes()));
                *response.status_mut() = StatusCode::OK;
                return Ok(response);
            }
            inner.send(request).await
        }
    });
    Client::new(service, "default")
}

/// Overwrites the bundle of each entry of this webhook with another field manager.
async fn write(fixture: &Fixture<'_>, bundle: &str) {
    let all = fixture.cluster.configurations().unwrap();
    let name = fixture.cluster.registration();
    let params =
        kube::api::PostParams { field_manager: Some("another-manager".to_owned()), ..Default::default() };
    loop {
        let mut object = all.get(name).await.unwrap();
        for entry in object.webhooks.iter_mut().flatten() {
            if entry.name.ends_with(".fire.vestibule.dev") {
                entry.client_config.ca_bundle = Some(ByteString(bundle.as_bytes().to_vec()));
            }
        }
        match all.replace(name, &params, &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            written => return drop(written.unwrap()),
        }
    }
}
