//! Many calls at once.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, missing_docs)]

#[path = "../../../../crates/caller/tests/it/fixture.rs"]
mod fixture;
#[allow(dead_code, reason = "the tests of the caller read all fields")]
#[path = "../../../../crates/caller/tests/it/server.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep_until};
use vestibule_caller::Caller;
use webhook_load::{Failure, Load, Report};

use self::fixture::{UID, allowed, answered, mutating, review};
use self::server::{Authority, NAME, Scripted, Seen, busy, ok, served};

const HELD: Duration = Duration::from_millis(400);

#[tokio::test]
async fn latency_counts_from_the_moment_a_call_was_due() {
    let (server, caller) = served(vec![ok()]).await;
    server.hold(true);
    // 40 calls in 200 ms, of which one at a time may be under way: the first is answered after 400 ms.
    let load = Load::open(200.0).calls(40).in_flight(1).start(&[Arc::new(caller)], &mutating(), &[review()]);
    let begin = Instant::now();
    server.until(|state| state.waiting == 1).await;
    sleep_until(begin + HELD).await;
    server.hold(false);
    let report = load.end().await;

    assert_eq!((report.called, report.admitted, report.connections), (40, 40, 1), "{report}");
    let median = report.latency.quantile(0.5);
    assert!(median >= HELD - Duration::from_millis(100), "{report}");
    // All but the first of them were not even sent until then, and that can be told from the server's own time.
    assert!(report.late.quantile(0.5) >= HELD - Duration::from_millis(100), "{report}");
    assert!(report.latency.max() >= median && report.took >= HELD, "{report}");
}

#[tokio::test]
async fn slow_calls_are_noted_with_the_time_at_which_they_were_due() {
    let (server, caller) = served(vec![ok()]).await;
    let (caller, long) = ([Arc::new(caller)], Duration::from_millis(300));
    let begin = Instant::now();
    let quick = Load::closed(1).calls(3).noting(Duration::MAX).run(&caller, &mutating(), &[review()]).await;
    assert_eq!((quick.called, quick.slow.len()), (3, 0), "{quick}");
    server.hold(true);
    let load = Load::closed(1).calls(3).noting(long).start(&caller, &mutating(), &[review()]);
    server.until(|state| state.waiting == 1).await;
    sleep_until(begin + HELD * 2).await;
    server.hold(false);
    let report = load.end().await;
    let noted: Vec<_> = report.slow.iter().filter(|(_, took)| *took > long).collect();
    assert!(!noted.is_empty() && noted.len() == report.slow.len(), "{report}");
    assert!(
        noted.iter().all(|(due, took)| *due > begin.into_std() && *took <= report.latency.max()),
        "{report}"
    );
}

#[tokio::test]
async fn a_rate_does_not_wait_for_answers() {
    let (server, caller) = served(vec![ok()]).await;
    server.hold(true);
    let load = Load::open(1000.0).calls(50).start(&[Arc::new(caller)], &mutating(), &[review()]);
    server.until(|state| state.waiting == 50).await;
    assert_eq!(load.so_far().called, 0);
    server.hold(false);
    let report = load.end().await;
    assert_eq!((report.called, report.connections, report.failures()), (50, 50, 0), "{report}");
}

#[tokio::test]
async fn callers_of_a_closed_loop_have_one_call_each() {
    let (server, caller) = served(vec![ok()]).await;
    server.hold(true);
    let caller = Arc::new(caller);
    let load = Load::closed(7).calls(100).start(&[Arc::clone(&caller)], &mutating(), &[review()]);
    server.until(|state| state.waiting == 7).await;
    server.hold(false);
    let report = load.end().await;
    assert_eq!((report.called, report.connections, report.retried), (100, 7, 0), "{report}");
    let mut uids: Vec<String> = server.seen().iter().map(uid).collect();
    uids.sort();
    uids.dedup();
    assert_eq!(uids.len(), 100, "each call has a uid of its own");
}

#[tokio::test]
async fn each_api_server_has_connections_of_its_own() {
    let (server, first) = served(vec![ok()]).await;
    let (other, second) = served(vec![ok()]).await;
    let callers = [Arc::new(first), Arc::new(second)];
    let report = Load::closed(1).calls(10).run(&callers, &mutating(), &[review()]).await;
    assert_eq!((server.seen().len(), other.seen().len(), report.connections), (5, 5, 2), "{report}");
    let report = Load::closed(1).calls(10).run(&callers, &mutating(), &[review()]).await;
    assert_eq!(report.connections, 0, "connections that were there before are not counted again");
}

#[tokio::test]
async fn a_server_that_asks_for_it_is_asked_again() {
    let report = of(vec![busy("0"), busy("0"), ok()], 1).await;
    assert_eq!((report.called, report.admitted, report.retried), (1, 1, 2), "{report}");
    let report = of(vec![busy("0")], 1).await;
    assert_eq!((report.admitted, report.retried), (0, 10), "{report}");
    assert_eq!(report.failed, [(Failure::Status(503), 1)].into());
}

#[tokio::test]
async fn failures_are_counted_by_kind_and_a_denial_is_none() {
    let broken = (200, vec![], "no review".to_owned());
    let denied = (200, vec![], answered(json!({"uid": UID, "allowed": false})).to_string());
    let patch = "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL25vYm9keSJ9XQ==";
    let patched = (200, vec![], allowed(json!({"patch": patch, "patchType": "JSONPatch"})).to_string());
    let report = of(vec![Some(broken), Some(denied), Some(patched), ok()], 4).await;
    assert_eq!((report.called, report.admitted), (4, 1), "{report}");
    assert_eq!(report.failed, [(Failure::Invalid, 1), (Failure::Patch, 1)].into());
    assert!(report.words[&Failure::Patch].contains("nonexistent key"), "{report}");
}

#[tokio::test]
async fn silence_and_absence_are_failures_too() {
    let (_server, caller) = served(vec![None]).await;
    let hook = mutating().timeout(Duration::from_secs(1));
    let load = Load::open(100.0).calls(4).in_flight(1);
    let report = load.run(&[Arc::new(caller)], &hook, &[review()]).await;
    // The first had no answer in time; what waited for its place was never sent, unless the place was free just in time.
    assert_eq!(report.failures(), 4, "{report}");
    assert!(report.failed[&Failure::Deadline] >= 1, "{report}");
    // Nothing listens at the port, and no other process gets it.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let bundle = Authority::new().bundle();
    let address = taken.local_addr().unwrap();
    let caller = Caller::new(address, NAME, bundle.as_bytes()).unwrap();
    let report = Load::closed(1).calls(3).run(&[Arc::new(caller)], &mutating(), &[review()]).await;
    assert_eq!(report.failed, [(Failure::Connect, 3)].into(), "{report}");
}

#[tokio::test]
async fn a_load_ends_when_it_is_told_to_and_not_in_the_middle_of_a_call() {
    let (server, caller) = served(vec![ok()]).await;
    server.hold(true);
    let load = Load::open(1000.0).start(&[Arc::new(caller)], &mutating(), &[review()]);
    server.until(|state| state.waiting >= 3).await;
    server.hold(false);
    let report = load.stop().await;
    assert!(report.called >= 3, "{report}");
    assert_eq!((report.failures(), server.seen().len() as u64), (0, report.called), "{report}");
    let none = Load::closed(2).run(&[], &mutating(), &[review()]).await;
    assert_eq!(none.called, 0);
}

async fn of(script: Vec<Scripted>, calls: u64) -> Report {
    let (_server, caller) = served(script).await;
    Load::closed(1).calls(calls).run(&[Arc::new(caller)], &mutating(), &[review()]).await
}

fn uid(seen: &Seen) -> String {
    let review: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
    review["request"]["uid"].as_str().unwrap().to_owned()
}
