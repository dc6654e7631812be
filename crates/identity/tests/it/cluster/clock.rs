//! Clocks that do not agree.

use std::time::{Duration, SystemTime};

use rustls_pki_types::UnixTime;
use vestibule_identity::{Identity, SelfManaged};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, count, fleeting, until, within};

#[tokio::test]
async fn a_certificate_is_valid_by_the_api_servers_clock_and_nothing_is_promoted_while_clocks_differ() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await;
    let (clock, server) = env.api_server().with_clock().unwrap();
    clock.ahead_by(20 * 60);
    let replica = SelfManaged::start(server.admin().unwrap(), fixture.settings()).unwrap();
    within(10, &replica).await;
    let status = replica.status();
    assert!(status.clock_skew.abs_diff(20 * 60) < 5, "{}", status.clock_skew);
    let bundle = fixture.bundles().await[1].clone();
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_secs(20 * 60);
    let now = UnixTime::since_unix_epoch(now);
    let name = format!("hooks.{}.svc", fixture.namespace);
    vestibule_pki::verify(&bundle, &replica.present().unwrap().chain, &[&name], now).unwrap();

    fixture.annotate_secret("vestibule.dev/rotate", "1").await;
    until("it says why not", 10, async || replica.status().blocked == Some("clock")).await;
    assert_eq!(count(&fixture.bundles().await[1]), 2);
    clock.ahead_by(0);
    until("the rotation begins", 15, async || count(&fixture.bundles().await[1]) == 3).await;
}
