//! Row 21: wrong clocks. A proxy shifts the `Date` header of answers, which to the replica looks like an error of its own
//! clock.

use std::time::Duration;

use fire::ROTATE;
use vestibule_identity::Identity;
use vestibule_pki::ring::Moment;

use super::fixture::{Fixture, InProcessReplica, SERVICE, now, shared_or_skip, stays, until};

const HOUR: i64 = 60 * 60;
const YEAR: i64 = 365 * 24 * HOUR;

/// CAs that stay valid at every shifted time.
const LONG: &str = "--authority=3153600000";

/// The replica serves leaves that the API servers accept by their clocks, and does not rotate.
#[tokio::test]
async fn a_replica_whose_clock_is_wrong_signs_by_the_api_servers_clock_and_promotes_nothing() {
    let Some(env) = shared_or_skip().await else { return };
    let shifts = [2 * HOUR, -2 * HOUR, YEAR, -YEAR].map(async |shift| {
        let fixture = Fixture::new(&env, &[LONG]).await;
        let (clock, way) = env.api_server().with_clock().unwrap();
        clock.ahead_by(shift);
        let replica = fixture.start_by(&way).await;
        replica.ready().await;
        assert!(is_accepted(&fixture, &replica, shift).await, "{shift}");
        until("an Event about the skew", 10, async || fixture.event("ClockSkew").await.is_some()).await;
        // `Date` has whole seconds, and a busy machine reads it late.
        assert!((replica.identity.status().clock_skew - shift).abs() <= 10);

        fixture.annotate(ROTATE, "not now").await;
        let blocked = async || replica.identity.status().blocked == Some("clock");
        until("the rotation is blocked by the clock", 20, blocked).await;
        let ring = fixture.ring_at(ahead(shift)).await.unwrap();
        stays("no rotation, and leaves go on", 8, async || {
            let same = fixture.ring_at(ahead(shift)).await.is_some_and(|now| now.trusted() == ring.trusted());
            same && is_accepted(&fixture, &replica, shift).await
        })
        .await;
        drop(clock);
    });
    futures_util::future::join_all(shifts).await;
}

/// The API server's clock is wrong for a while, with a rotation requested.
#[tokio::test]
async fn a_clock_that_jumps_promotes_and_removes_nothing_before_it_is_right_again() {
    let Some(env) = shared_or_skip().await else { return };
    let shifts = [2 * HOUR, -50 * 60].map(async |shift| {
        let fixture = Fixture::new(&env, &[LONG]).await;
        let (clock, way) = env.api_server().with_clock().unwrap();
        let replica = fixture.start_by(&way).await;
        replica.ready().await;
        fixture.steady().await;
        fixture.annotate(ROTATE, "first").await;
        until("a predecessor is there", 20, async || {
            fixture.ring().await.is_some_and(|ring| ring.is_overlapping())
        })
        .await;
        let before = fixture.ring().await.unwrap();

        clock.ahead_by(shift);
        until("it knows", 10, async || replica.identity.status().clock_skew.abs() > HOUR / 2).await;
        // The predecessor's leaves have expired by both clocks.
        let seconds = (fixture.policy.leaf_life + fixture.policy.skew + Duration::from_secs(2)).as_secs();
        stays("nothing is removed", seconds, async || {
            fixture.ring_at(ahead(shift.max(0))).await.is_some_and(|now| now.trusted() == before.trusted())
        })
        .await;
        assert_eq!(replica.recorded.count("promoted"), 1);
        assert!(is_accepted(&fixture, &replica, shift).await, "by the clock of the client");

        clock.ahead_by(0);
        until("what is presented is valid again", 10, async || is_accepted(&fixture, &replica, 0).await)
            .await;
        until("the predecessor goes", 40, async || {
            fixture.ring().await.is_some_and(|ring| !ring.is_overlapping())
        })
        .await;
        fixture.steady().await;
    });
    futures_util::future::join_all(shifts).await;
}

/// Leaves are backdated by an hour, so an API server whose clock is 50 minutes behind accepts new ones.
#[tokio::test]
async fn an_api_server_fifty_minutes_behind_accepts_new_leaves() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let replica = fixture.start().await;
    replica.ready().await;
    assert!(is_accepted(&fixture, &replica, -50 * 60).await);
    assert!(!is_accepted(&fixture, &replica, -70 * 60).await, "dated back by an hour");
}

fn ahead(seconds: i64) -> Moment {
    Moment(now().0.saturating_add_signed(seconds))
}

/// Whether an API server whose clock is ahead by `shift` accepts the leaf by its caBundle.
async fn is_accepted(fixture: &Fixture<'_>, replica: &InProcessReplica, shift: i64) -> bool {
    let name = format!("{SERVICE}.{}.svc", fixture.cluster.home());
    let bundles = fixture.bundles().await;
    bundles.iter().all(|bundle| replica.is_accepted(bundle, &name, ahead(shift)))
}
