//! First starts and restarts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vestibule_identity::{Identity, IdentityEvent, Observer, SelfManaged};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, assert_accepted, count, policy, within};
use super::silence::Log;

#[tokio::test]
async fn a_first_start_is_ready_soon_after_the_hold_and_a_restart_at_once() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    // Longer than a restart takes on a crowded machine.
    const HOLD: Duration = Duration::from_secs(10);
    let mut policy = policy();
    (policy.hold, policy.hold_cold) = (HOLD, HOLD);
    let fixture = Fixture::with(&env, policy).await;
    let start = Instant::now();
    let replica = fixture.replica();
    assert!(replica.present().is_none());
    within(15, &replica).await;
    // A hold is counted in whole seconds, and may have begun at the end of the first.
    assert!(start.elapsed() >= HOLD - Duration::from_secs(1), "the hold was kept: {:?}", start.elapsed());

    let bundles = fixture.bundles().await;
    assert_eq!(bundles[0], "not ours");
    assert_eq!(bundles[1], bundles[2]);
    assert_eq!(count(&bundles[1]), 2, "active and next");
    assert_eq!(replica.ca_bundle().as_deref(), Some(bundles[1].as_str()));
    assert_accepted(&replica, &bundles[1], &fixture.namespace);
    let status = replica.status();
    assert_eq!((status.waiting_for, status.generation), (None, Some(1)));
    assert!(status.registrations.iter().all(|registration| registration.in_sync));

    drop(replica);
    let start = Instant::now();
    let replica = fixture.replica();
    within(5, &replica).await;
    assert!(start.elapsed() < HOLD, "there was no other hold: {:?}", start.elapsed());
    assert_accepted(&replica, &bundles[1], &fixture.namespace);
    assert_eq!(fixture.bundles().await, bundles);
}

/// Delays every request by 0.5 s, so that all the work of a start overlaps.
#[tokio::test]
async fn a_first_start_waits_for_a_slow_api_server_without_an_error() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let log = Log::listen();
    let fixture = Fixture::new(&env).await;
    let (proxy, way) = env.api_server().proxied().unwrap();
    proxy.delay(Duration::from_millis(500));
    let replica = SelfManaged::start(way.admin().unwrap(), fixture.settings()).unwrap();
    assert!(replica.present().is_none() && replica.status().waiting_for.is_some());
    within(30, &replica).await;
    // Not before the bundle is where API servers find it.
    let bundles = fixture.bundles().await;
    assert_eq!((count(&bundles[1]), &bundles[2]), (2, &bundles[1]));
    assert_accepted(&replica, &bundles[1], &fixture.namespace);
    log.assert_no_error();
}

#[tokio::test]
async fn five_replicas_that_start_at_once_make_one_ring() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let replicas: Vec<_> = (0..5).map(|_| fixture.replica()).collect();
    for replica in &replicas {
        within(10, replica).await;
    }
    let bundles = fixture.bundles().await;
    assert_eq!(count(&bundles[1]), 2);
    for replica in &replicas {
        assert_accepted(replica, &bundles[1], &fixture.namespace);
        assert_eq!(replica.status().generation, Some(1));
    }
}

#[tokio::test]
async fn an_observer_that_panics_does_not_end_the_work() {
    struct Clumsy;
    impl Observer for Clumsy {
        fn happened(&self, _: &IdentityEvent) {
            panic!("no ground under the feet");
        }
    }
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let mut settings = fixture.settings();
    settings.observer = Some(Arc::new(Clumsy));
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    within(15, &replica).await;
    assert_accepted(&replica, &fixture.bundles().await[1], &fixture.namespace);
}
