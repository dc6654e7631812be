//! Row 4: a replica dies before or after a write, and the next replica continues.

use fire::rig::get;
use fire::{ROTATE, Replica};
use vestibule_pki::ring::AuthorityState;
use vestibule_testenv::Proxy;

use super::fixture::{Fixture, now, shared_or_skip, until};

const CRASH_FLAGS: [&str; 2] = ["--die-before=1", "--die-after=1"];

/// The serving replica is disconnected from the API server while other replicas die at their writes, so that it writes
/// nothing itself. Its leaf outlives the disconnection.
#[tokio::test]
async fn a_rotation_continues_after_a_replica_dies_at_any_write() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &["--leaf=20", "--hold=6"]).await;
    let (proxy, way) = env.api_server().proxied().unwrap();
    let kubeconfig = way.service_account_kubeconfig(fixture.cluster.home(), fire::ACCOUNT).await.unwrap();
    let survivor = fixture.cluster.start_unrouted(|command| {
        command.arg("--kubeconfig").arg(kubeconfig);
    });
    let survivor = survivor.await.unwrap();
    fixture.cluster.route(&survivor).unwrap();
    fixture.all_ready(std::slice::from_ref(&survivor)).await;
    let load = fixture.load();
    let before = fixture.steady().await;

    promotion(&fixture, &proxy).await;
    let promoted = fixture.ring().await.unwrap();
    assert_eq!(promoted.active().unwrap().id, before.next().unwrap().id);
    assert!(promoted.next().unwrap().held.is_some(), "the last replica recorded the hold");
    removal(&fixture, &proxy).await;
    fixture.steady().await;
    restoration(&fixture, &proxy).await;

    until("the bundle is the ring's", 20, async || {
        let ring = fixture.ring().await;
        ring.is_some() && Some(fixture.trusted().await) == ring.map(|ring| ring.trusted())
    })
    .await;
    assert!(survivor.child().exited().is_none());
    fixture.nothing_failed(load).await;
}

/// Writes G2 and W2 of a first start: the next replica uses the existing ring.
#[tokio::test]
async fn a_first_start_continues_after_a_replica_dies_at_any_write() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    run_until_crash(&fixture, CRASH_FLAGS[0]).await;
    assert!(fixture.ring().await.is_none(), "it died before");
    run_until_crash(&fixture, CRASH_FLAGS[1]).await;
    let ring = fixture.ring().await.expect("it died after");
    run_until_crash(&fixture, CRASH_FLAGS[0]).await;
    assert!(fixture.trusted().await.is_empty());
    run_until_crash(&fixture, CRASH_FLAGS[1]).await;
    assert_eq!(fixture.trusted().await, ring.trusted());

    let _replicas = fixture.serve(2).await;
    let load = fixture.load();
    let steady = fixture.steady().await;
    assert_eq!((steady.generation, steady.trusted()), (1, ring.trusted()), "no other ring");
    fixture.nothing_failed(load).await;
}

/// Writes P1, W2 and H1.
async fn promotion(fixture: &Fixture<'_>, proxy: &Proxy) {
    proxy.hold();
    let before = fixture.active().await;
    fixture.annotate(ROTATE, "once").await;
    run_until_crash(fixture, CRASH_FLAGS[0]).await;
    assert_eq!(fixture.active().await, before, "it died before");
    run_until_crash(fixture, CRASH_FLAGS[1]).await;
    let ring = fixture.ring().await.unwrap();
    assert_ne!(Some(ring.active().unwrap().id), before, "it died after");
    assert_ne!(fixture.trusted().await, ring.trusted());
    for flag in CRASH_FLAGS {
        run_until_crash(fixture, flag).await;
    }
    assert_eq!(fixture.trusted().await, ring.trusted());
    proxy.resume();
    until("the serving replica has switched", 15, async || {
        let counts = fixture.cluster.counters().read();
        counts.switches() > 0
    })
    .await;
    proxy.hold();
    for flag in CRASH_FLAGS {
        run_until_crash(fixture, flag).await;
    }
    proxy.resume();
}

/// Write D1.
async fn removal(fixture: &Fixture<'_>, proxy: &Proxy) {
    let mut end = None;
    for ca in fixture.ring().await.unwrap().authorities {
        if let AuthorityState::Retired { until } = ca.state {
            end = Some(until);
        }
    }
    let end = end.expect("a predecessor");
    until("its leaves have almost ended", 40, async || end.since(now()).as_secs() <= 2).await;
    proxy.hold();
    for flag in CRASH_FLAGS {
        assert_eq!(fixture.ring().await.unwrap().authorities.len(), 3);
        run_until_crash(fixture, flag).await;
    }
    assert_eq!(fixture.ring().await.unwrap().authorities.len(), 2);
    proxy.resume();
}

/// Write G2 by replicas that remember the ring, and W2 by a replica that does not.
async fn restoration(fixture: &Fixture<'_>, proxy: &Proxy) {
    let mut crashing = Vec::new();
    for flag in CRASH_FLAGS {
        let replica = fixture.cluster.start_unrouted(|command| {
            command.arg(flag);
        });
        crashing.push(replica.await.unwrap());
    }
    for replica in &crashing {
        until("a replica has read the ring", 20, async || is_ready(replica).await).await;
    }
    proxy.hold();
    let before = fixture.ring().await.unwrap();
    fixture.delete_secret().await;
    for replica in crashing {
        assert_eq!(replica.child().wait().await.unwrap(), ABORTED);
    }
    let restored = fixture.ring().await.expect("one of them died after");
    assert!(restored.trusted().is_superset(&before.trusted()) && restored.generation > before.generation);
    for flag in CRASH_FLAGS {
        run_until_crash(fixture, flag).await;
    }
    proxy.resume();
}

/// The exit code of a shell for SIGABRT.
const ABORTED: i32 = 134;

/// Starts a replica that aborts at its first write, and waits for its end.
async fn run_until_crash(fixture: &Fixture<'_>, flag: &str) {
    let crashing = fixture.cluster.start_unrouted(|command| {
        command.arg(flag);
    });
    let crashing = crashing.await.unwrap();
    let status = crashing.child().wait().await.unwrap();
    assert_eq!(status, ABORTED, "{}", crashing.child().log());
}

async fn is_ready(replica: &Replica) -> bool {
    get(replica.probes(), "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
