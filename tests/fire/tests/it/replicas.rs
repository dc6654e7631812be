//! Replicas that die, hang or are replaced while CAs rotate: short forms of rows 4, 23 and 26 of the fault table.

use std::time::Duration;

use fire::Replica;
use tokio::time::{Instant, sleep};
use vestibule_testenv::until;

use crate::fixture::{Fixture, PATIENCE};

const AT_ONCE: Duration = Duration::ZERO;

/// Another replica finishes the killed replica's work. The killed replica is under load: its calls in flight are lost, and
/// calls that are sent to it until its endpoint is removed.
#[tokio::test]
async fn a_rotation_completes_after_a_replica_is_killed_in_it() {
    /// The time from the kill to the removal of the endpoint.
    const LAG: Duration = Duration::from_millis(500);
    /// The longest duration of a call in flight.
    const UNDER_WAY: Duration = Duration::from_secs(1);
    let Some(fixture) = Fixture::shared_or_skip(&[]).await else { return };
    let mut soak = fixture.begin().await;
    soak.cluster.service().set_propagation_delay(LAG);
    let (mut lost, mut bound, mut answered) = (0, 0.0, 0);
    for milliseconds in [0, 150, 400, 900] {
        let victim = soak.replicas.remove(0);
        assert!(soak.cluster.service().routed().contains(&victim.hooks()[0]), "the replica is an endpoint");
        let kill = async {
            sleep(Duration::from_millis(milliseconds)).await;
            let killed = Instant::now();
            victim.kill().await.unwrap();
            soak.cluster.service().wait_for_replicas(1).await.unwrap();
            killed.elapsed()
        };
        let (rotated, routed_for) = tokio::join!(soak.rotations.rotate(AT_ONCE, PATIENCE), kill);
        rotated.unwrap();
        bound += fixture.rate() * (routed_for + UNDER_WAY).as_secs_f64();
        // Afterwards calls in flight have ended, and the other replica answers every call.
        let counts = until_answered(&soak.cluster, fixture.rate() as usize * 2).await;
        lost = counts.failed();
        let next = soak.cluster.start_replica().await.unwrap();
        soak.replicas.push(next);
        soak.cluster.service().wait_for_replicas(2).await.unwrap();
        answered = until_answered(&soak.cluster, fixture.rate() as usize).await.calls;
        let counts = soak.cluster.counters().read();
        assert_eq!(counts.failed(), lost, "lost after its endpoint has gone: {:#?}", counts.failures);
    }
    soak.rotations.settle(PATIENCE).await.unwrap();
    let report = soak.finish().await;
    let counts = &report.counts;
    println!("{lost} of {} calls lost by four kills, {bound:.0} at most", counts.calls);
    assert!(lost as f64 <= bound && lost < answered, "{lost} lost of {bound:.0} at most: {report}");
    assert!(counts.failed() == lost && counts.alerts() == 0 && counts.promotions >= 4, "{report}");
    let is_a_dead_end = |failure: &String| {
        ["EOF", "connection reset", "broken pipe", "connection refused"]
            .iter()
            .any(|end| failure.contains(end))
    };
    assert!(counts.failures.keys().all(is_a_dead_end), "{report}");
}

/// Waits until this many more calls have ended; returns the counters.
async fn until_answered(cluster: &fire::Cluster<'_>, calls: usize) -> fire::Counts {
    let wanted = cluster.counters().read().calls + calls;
    until(&format!("{wanted} calls"), PATIENCE, async || cluster.counters().read().calls >= wanted)
        .await
        .unwrap();
    cluster.counters().read()
}

/// The paused replica resumes with an expired leaf of an untrusted CA, and a ring that is two rotations old.
#[tokio::test]
async fn a_replica_paused_for_longer_than_a_leaf_lives_recovers() {
    let Some(fixture) = Fixture::shared_or_skip(&["--replicas=3"]).await else { return };
    let mut soak = fixture.begin().await;
    let sleeper = soak.replicas.remove(0);
    soak.abandon(&sleeper, PATIENCE).await.unwrap();
    let slept = Instant::now();
    sleeper.child().pause().unwrap();
    for _ in 0..2 {
        soak.rotations.rotate(AT_ONCE, PATIENCE).await.unwrap();
    }
    soak.rotations.settle(PATIENCE).await.unwrap();
    sleep(fixture.leaf_life().saturating_sub(slept.elapsed()) + Duration::from_secs(1)).await;

    // The Service probes the replica from the moment it resumes.
    soak.cluster.route(&sleeper).unwrap();
    sleeper.child().resume().unwrap();
    soak.cluster.service().wait_for_replicas(3).await.unwrap();
    wait_until_presented(&soak.cluster, &sleeper).await;
    soak.replicas.push(sleeper);
    soak.rotate(AT_ONCE, PATIENCE).await.unwrap();
    let report = soak.finish().await;
    assert!(report.is_good(), "{report}");
}

/// Replicas are replaced one after the other while CAs rotate.
#[tokio::test]
async fn a_roll_out_during_rotations_fails_no_call() {
    let Some(fixture) = Fixture::shared_or_skip(&[]).await else { return };
    let mut soak = fixture.begin().await;
    let mut leaving = Vec::new();
    for _ in 0..2 {
        let (rotated, next) =
            tokio::join!(soak.rotations.rotate(AT_ONCE, PATIENCE), soak.cluster.start_replica());
        rotated.unwrap();
        soak.replicas.push(next.unwrap());
        soak.cluster.service().wait_for_replicas(3).await.unwrap();
        // The drain lasts as long as the API server keeps connections, which is longer than this test.
        let old = soak.replicas.remove(0);
        old.child().terminate().unwrap();
        soak.cluster.service().wait_for_replicas(2).await.unwrap();
        leaving.push(old);
    }
    soak.rotate(AT_ONCE, PATIENCE).await.unwrap();
    soak.rotations.settle(PATIENCE).await.unwrap();
    let report = soak.finish().await;
    assert!(report.is_good() && report.counts.promotions >= 3, "{report}");
}

/// Waits until the replica has presented a new leaf.
async fn wait_until_presented(cluster: &fire::Cluster<'_>, replica: &Replica) {
    let leaves = || cluster.counters().read().replicas.get(&replica.number()).map_or(0, |seen| seen.leaves);
    let before = leaves();
    until("a new leaf of the resumed replica", PATIENCE, async || leaves() > before).await.unwrap();
}
