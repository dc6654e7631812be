//! Rows 28 and 29: what people ask for by annotations.

use std::time::Duration;

use fire::{REVOKE, ROTATE};

use super::ground::{Ground, shared_or_skip, stays, until};

/// Row 28.
#[tokio::test]
async fn the_same_wish_is_fulfilled_once() {
    let Some(env) = shared_or_skip().await else { return };
    let ground = Ground::new(&env, &[]).await;
    let replicas = [ground.start().await, ground.start().await];
    let promotions = || replicas.iter().map(|replica| replica.told.count("promoted")).sum::<usize>();
    for replica in &replicas {
        replica.ready().await;
    }
    ground.steady().await;
    for (wish, expected) in [("monday", 1), ("monday", 1), ("tuesday", 2)] {
        ground.annotate(ROTATE, wish).await;
        until("it is heeded", 20, async || promotions() == expected).await;
        ground.steady().await;
        stays("no other CA", 3, async || promotions() == expected).await;
    }
}

/// Row 29. Both keys were in the Secret, so that both are stolen.
#[tokio::test]
async fn a_revoked_ring_is_trusted_no_longer_and_no_call_fails() {
    let Some(env) = shared_or_skip().await else { return };
    let ground = Ground::new(&env, &[]).await;
    let _replicas = ground.serve(2).await;
    let load = ground.load();
    let before = ground.steady().await.trusted();
    ground.annotate(REVOKE, "stolen").await;
    let took = until("no stolen CA is trusted", 30, async || {
        let trusted = ground.trusted().await;
        !trusted.is_empty() && trusted.is_disjoint(&before)
    })
    .await;
    let promised = ground.policy.hold_cold + ground.policy.switch_wait;
    println!("revoked within {took:?}; hold_cold and switch_wait are {promised:?}");
    // Whole seconds, a random moment before what is planned, and a busy machine.
    assert!(took < promised + Duration::from_secs(15), "{took:?}");
    let after = ground.steady().await.trusted();
    assert!(after.is_disjoint(&before));
    stays("nobody brings them back", 3, async || ground.trusted().await == after).await;
    let keys = ground.secret().await.data.unwrap().into_keys().filter(|field| field.ends_with(".key"));
    assert_eq!(keys.count(), 2);
    ground.nothing_failed(load).await;
}
