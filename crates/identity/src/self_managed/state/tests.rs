mod bench;
mod drain;
mod entries;
mod persistent_writers;
mod restored_etcd;

use k8s_openapi::ByteString;
use serde_json::json;

use self::bench::{Bench, START, state};
use super::*;
use crate::self_managed::api_client::{Answer, ApiError, ApiErrorKind};
use crate::self_managed::watches::{Change, WatchEvent};
use crate::time::system_time;

#[test]
fn a_handshake_signs_what_the_task_did_not() {
    let mut bench = Bench::new();
    let leaf = bench.run().unwrap();
    assert_eq!(bench.status().waiting_for, None);
    assert!(bench.state.renew_overdue(bench.now, bench.at).is_none(), "nothing is due");

    // The task stands still for six of seven days; the clock of a lease goes on.
    bench.pass(Duration::from_secs(6 * 24 * 60 * 60));
    assert!(
        bench.state.renew_overdue(bench.now, bench.at).is_none(),
        "the ring was not read since: no longer lease"
    );
    bench.reachable = true;
    let answer = bench.answer(bench.secret.clone());
    bench.state.ring_answered(answer, bench.now, bench.at);
    bench.at += Duration::from_secs(1);
    let renewed = bench.state.renew_overdue(bench.now, bench.at).unwrap();
    assert!(renewed.not_after > leaf.not_after);
    assert!(bench.state.overdue_in(bench.now) > Duration::from_secs(4 * 24 * 60 * 60));
}

#[test]
fn a_lease_counts_from_the_question_though_the_answer_is_late() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let answer = bench.answer(bench.secret.clone());
    let asked = bench.now;
    // Stopped between question and answer: the ring may have moved on since.
    bench.pass(Duration::from_secs(6 * 24 * 60 * 60));
    bench.state.ring_answered(answer, bench.now, bench.at);
    assert_eq!(bench.state.seen.confirmed, Some(asked));
}

#[test]
fn without_an_api_server_the_leaf_lasts_to_its_end_and_no_longer() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let leaf = bench.state.seen.leaf.clone().unwrap();
    bench.reachable = false;
    bench.pass(Duration::from_secs(5 * 24 * 60 * 60));
    assert!(bench.run().is_none(), "a new one would end no later");
    assert_eq!(bench.status().ring_read_ago, Some(Duration::from_secs(5 * 24 * 60 * 60)));
    assert_eq!(bench.status().waiting_for, None);
    let left = leaf.not_after.0 - bench.now.0;
    bench.pass(Duration::from_secs(left - 10));
    assert!(bench.run().is_none());
    assert_eq!(bench.status().waiting_for, None);
    bench.pass(Duration::from_secs(1));
    let waiting_for = bench.status().waiting_for.unwrap();
    assert!(waiting_for.contains("renewed (Secret demo/hooks-ring was last read"), "{waiting_for}");
    bench.pass(Duration::from_secs(60));
    assert!(bench.run().is_none());
    assert!(bench.status().waiting_for.is_some());
    assert!(bench.status().leaf_not_after.unwrap() < system_time(bench.now.0));

    bench.reachable = true;
    bench.pass(Duration::from_secs(60));
    assert!(bench.run().is_some(), "it recovers by itself");
    assert_eq!(bench.status().waiting_for, None);
}

/// Also when the pause is over, before the next attempt, and after the Secret was changed.
#[test]
fn a_failing_operation_is_reported_until_it_succeeds() {
    let mut bench = Bench::new();
    bench.version = 1;
    let metadata = json!({ "name": "hooks-ring", "namespace": "demo", "resourceVersion": "1" });
    bench.secret = Some(json!({ "metadata": metadata, "immutable": true, "data": {} }));
    assert!(bench.run().is_none());
    assert_eq!(bench.status().blocked, Some("ring_write"));
    bench.pass(Duration::from_secs(60));
    assert_eq!(bench.status().blocked, Some("ring_write"));
    bench.edit_secret(|_| {});
    assert_eq!(bench.status().blocked, Some("ring_write"));

    bench.secret = None;
    bench.state.watch_event(WatchEvent::Ring(None), bench.now);
    assert!(bench.run().is_some());
    assert_eq!(bench.status().blocked, None);
}

/// The log said nothing, and the API server called no hook any more.
#[test]
fn a_configuration_that_is_deleted_is_reported_once() {
    let mut bench = Bench::registered();
    bench.state.notices.clear();
    for version in ["1000", "1001"] {
        let object = Change::Deleted(Some(version.to_owned()));
        let event = WatchEvent::Configuration { position: 0, listed: false, object };
        bench.state.watch_event(event, bench.now);
    }
    let [notice] = &bench.state.notices[..] else { panic!("{} notices", bench.state.notices.len()) };
    assert!(notice.is_warning && notice.text.starts_with("mutating/hooks was deleted"), "{}", notice.text);
}

/// Case F20: no timer has moved when the machine wakes. None is waited for that is longer than a second.
#[test]
fn after_the_machine_slept_overdue_work_is_done_at_once() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let mut bench = Bench::new();
    let leaf = bench.run().unwrap();
    let due = bench.state.seen.leaf.as_ref().unwrap().renew;
    bench.pass(due.since(bench.now) - HOUR * 4);
    assert!(bench.run().is_none(), "nothing is due");

    bench.now = bench.now.plus(HOUR * 8);
    assert!(bench.state.pause(bench.at) <= Duration::from_secs(1));
    let renewed = bench.run().unwrap();
    assert!(renewed.not_after.as_secs() > leaf.not_after.as_secs());
    assert!(renewed.not_before.as_secs() + HOUR.as_secs() <= bench.now.0, "dated back");
    assert_eq!(bench.status().waiting_for, None);
}

#[test]
fn a_ring_that_ended_in_the_sleep_of_all_is_made_anew() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let first = bench.state.stored.as_ref().unwrap().facts().lineage;
    bench.pass(Duration::from_secs(2 * 365 * 24 * 60 * 60));
    assert!(bench.run().is_some());
    let ring = bench.state.stored.as_ref().unwrap();
    assert_ne!(ring.facts().lineage, first);
    assert!(ring.facts().active().unwrap().not_after > bench.now);
}

#[test]
fn a_clock_set_back_holds_nothing_up() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let dated = |bench: &Bench, date| Answer { date: Some(date), ..bench.answer(bench.secret.clone()) };
    // The API server's clock goes back by half an hour.
    let back = Moment(bench.now.0 - 30 * 60);
    let answer = dated(&bench, back);
    bench.state.ring_answered(answer, bench.now, bench.at);
    assert_eq!(bench.state.seen.offset, -30 * 60);
    assert!(bench.run().is_some(), "a leaf of the new time");
    let status = bench.status();
    assert_eq!((status.waiting_for, status.clock_skew), (None, -30 * 60));
}

#[test]
fn a_spoilt_ca_crt_is_written_again_and_nothing_else_changes() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let good = bench.secret.clone().unwrap()["data"].clone();
    let stranger = vestibule_pki::Authority::new(
        "x",
        rustls_pki_types::UnixTime::since_unix_epoch(Duration::from_secs(START.0)),
        Duration::from_secs(60),
    )
    .unwrap();
    let stranger = json!(ByteString(stranger.certificate_pem().into()));
    for rubbish in [None, Some(json!("Cg==")), Some(stranger)] {
        bench.edit_secret(|data| match rubbish {
            None => drop(data.as_object_mut().unwrap().remove("ca.crt")),
            Some(rubbish) => data["ca.crt"] = rubbish,
        });
        bench.run();
        assert_eq!(bench.secret.as_ref().unwrap()["data"], good);
    }
    let writes = bench.version;
    bench.run();
    let ca_crt: ByteString = serde_json::from_value(good["ca.crt"].clone()).unwrap();
    let commented = json!(ByteString([b"# by hand\n", ca_crt.0.as_slice()].concat()));
    bench.edit_secret(|data| data["ca.crt"] = commented);
    bench.run();
    assert_eq!(bench.version, writes + 1, "others than us wrote once, we did not");
}

#[test]
fn a_first_leaf_does_not_wait_for_a_write_that_fails() {
    let mut bench = Bench::registered();
    bench.restart();
    // The configuration holds the bundle and has lost its mark, and the API server cannot write.
    bench.configuration.as_mut().unwrap()["metadata"].as_object_mut().unwrap().remove("annotations");
    bench.refusal = Some(ApiErrorKind::Unreachable);
    bench.watch_configuration();
    assert!(bench.run().is_some());
}

#[test]
fn only_what_refuses_one_version_twice_is_denied() {
    let mut bench = Bench::registered();
    bench.refusal = Some(ApiErrorKind::Refused);
    let is_denied = |bench: &Bench| bench.state.seen.configurations[0].denied;
    for _ in 0..2 {
        bench.spoil_configuration();
        bench.run_to_write();
        assert!(!is_denied(&bench), "another writer moved the entries in between");
    }
    assert!(bench.state.notices.iter().all(|notice| notice.reason != Some("RegistrationDenied")));
    bench.run_to_write();
    assert!(is_denied(&bench));
    assert!(bench.state.notices.iter().any(|notice| notice.reason == Some("RegistrationDenied")));
}

#[test]
fn a_configuration_without_the_right_to_watch_is_reported_and_still_read() {
    let mut bench = Bench::registered();
    bench.state.notices.clear();
    let why = "not allowed to watch".to_owned();
    bench.state.watch_event(WatchEvent::Unwatched { position: 0, why }, bench.now);
    assert!(bench.state.notices.iter().any(|notice| notice.text.contains("not allowed to watch")));
    assert!(matches!(bench.state.decide(bench.now, bench.at), Some(Operation::ReadConfiguration(0))));
}

#[test]
fn a_configuration_that_may_not_be_read_is_not_waited_for_as_if_it_were_missing() {
    let mut bench = Bench { state: state(&["mutating/hooks"]), ..Bench::new() };
    bench.state.watch_event(WatchEvent::Unwatched { position: 0, why: String::new() }, bench.now);
    let outcome = Err(ApiError { kind: ApiErrorKind::Forbidden, text: String::new() });
    let answer = Answer { outcome, ..bench.answer(None) };
    bench.run();
    bench.state.configuration_answered(0, answer, bench.now, bench.at);
    assert_eq!(bench.status().waiting_for.unwrap(), "the right to read mutating/hooks");
}

#[test]
fn a_configuration_is_read_again_when_the_right_to_read_returns() {
    let mut bench = Bench::registered();
    let outcome = Err(ApiError { kind: ApiErrorKind::Forbidden, text: String::new() });
    let answer = Answer { outcome, ..bench.answer(None) };
    bench.state.configuration_answered(0, answer, bench.now, bench.at);
    bench.run_without_waiting();
    assert!(!bench.status().registrations[0].in_sync);
    assert_eq!(bench.status().waiting_for, None, "rule E1");
    bench.pass(Duration::from_secs(2));
    bench.run();
    assert!(bench.status().registrations[0].in_sync);
}

/// A ring that was copied from another namespace: its CAs sign for that one only.
#[test]
fn a_ring_of_another_namespace_is_named_and_a_revocation_mends_it() {
    let mut bench = Bench::registered();
    let mut elsewhere = Settings::for_service("elsewhere/hooks".parse().unwrap());
    elsewhere.secret = Some("demo/hooks-ring".parse().unwrap());
    let mut other = Bench::new();
    other.state = State::new(elsewhere, "demo/hooks-ring".parse().unwrap());
    assert!(other.run().is_some());
    bench.restart();
    bench.secret = other.secret;
    bench.version += 1;
    bench.secret.as_mut().unwrap()["metadata"]["resourceVersion"] = json!(bench.version.to_string());
    bench.configuration.as_mut().unwrap()["webhooks"][0]["clientConfig"]["caBundle"] = json!("");
    bench.watch_configuration();
    for _ in 0..4 {
        assert!(bench.run().is_none());
        bench.pass(Duration::from_secs(31));
    }
    let waiting_for = bench.status().waiting_for.unwrap();
    assert!(waiting_for.contains("vestibule.dev/revoke"), "{waiting_for}");
    let notice = bench.state.notices.iter().rfind(|notice| notice.is_warning).unwrap();
    assert!(notice.text.contains("copied from another namespace"), "{}", notice.text);

    bench.secret.as_mut().unwrap()["metadata"]["annotations"] = json!({ "vestibule.dev/revoke": "now" });
    bench.edit_secret(|_| {});
    for _ in 0..4 {
        bench.run();
        bench.pass(Duration::from_secs(31));
    }
    assert_eq!(bench.status().waiting_for, None);
}

/// Each refused read began the wait of a minute again, so the new CA of a revocation never signed.
#[test]
fn a_revocation_ends_although_every_read_of_the_configuration_is_refused() {
    let mut bench = Bench::registered();
    bench.may_read = false;
    bench.state.registrations[0].outdated = true;
    bench.run();
    bench.secret.as_mut().unwrap()["metadata"]["annotations"] = json!({ "vestibule.dev/revoke": "now" });
    bench.edit_secret(|_| {});
    let mut leaf = bench.run();
    for _ in 0..60 {
        bench.pass(Duration::from_secs(5));
        leaf = bench.run().or(leaf);
    }
    assert!(leaf.is_some(), "{:?}", bench.status());
}
