//! Rows 28 and 29: requests by annotation.

use std::time::Duration;

use fire::{REVOKE, ROTATE};

use super::fixture::{Fixture, shared_or_skip, stays, until};

/// Row 28: a rotation request.
#[tokio::test]
async fn the_same_rotation_request_is_fulfilled_once() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let replicas = [fixture.start().await, fixture.start().await];
    let promotions = || replicas.iter().map(|replica| replica.recorded.count("promoted")).sum::<usize>();
    for replica in &replicas {
        replica.ready().await;
    }
    fixture.steady().await;
    for (wish, expected) in [("monday", 1), ("monday", 1), ("tuesday", 2)] {
        fixture.annotate(ROTATE, wish).await;
        until("the request is fulfilled", 20, async || promotions() == expected).await;
        fixture.steady().await;
        stays("no other CA", 3, async || promotions() == expected).await;
    }
}

/// Row 29: a revocation. Both keys were in the Secret, so both count as stolen.
#[tokio::test]
async fn a_revoked_ring_is_trusted_no_longer_and_no_call_fails() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let _replicas = fixture.serve(2).await;
    let load = fixture.load();
    let before = fixture.steady().await.trusted();
    fixture.annotate(REVOKE, "stolen").await;
    let took = until("no stolen CA is trusted", 30, async || {
        let trusted = fixture.trusted().await;
        !trusted.is_empty() && trusted.is_disjoint(&before)
    })
    .await;
    let promised = fixture.policy.hold_cold + fixture.policy.switch_wait;
    println!("revoked within {took:?}; hold_cold and switch_wait are {promised:?}");
    // Rounding to seconds, jitter, and a busy machine.
    assert!(took < promised + Duration::from_secs(15), "{took:?}");
    let after = fixture.steady().await.trusted();
    assert!(after.is_disjoint(&before));
    stays("they stay removed", 3, async || fixture.trusted().await == after).await;
    let keys = fixture.secret().await.data.unwrap().into_keys().filter(|field| field.ends_with(".key"));
    assert_eq!(keys.count(), 2);
    fixture.nothing_failed(load).await;
}
