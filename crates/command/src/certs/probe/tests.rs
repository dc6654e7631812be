//! Compares the probe of `certs check` with Go.

mod certificates;
mod go;
mod server;

use std::time::{Duration, SystemTime};

use super::{Probe, ProbeError, Probed};

use certificates::{Case, cases};
use server::Server;

/// 2027-01-15 08:00.
const NOW: u64 = 1_800_000_000;
const NAME: &str = "hooks.demo.svc";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

fn probe(server: &Server, name: &str, bundle: &str) -> Probed {
    let mut probe = Probe::new(&server.address(), name, bundle);
    probe.timeout = Duration::from_secs(20);
    probe.run(now()).unwrap()
}

fn served(case: Case) -> (Case, Server) {
    let server = Server::tls(case.chain.clone(), &case.key);
    (case, server)
}

#[test]
fn every_kind_of_certificate_gets_its_verdict() {
    for (case, server) in cases().into_iter().map(served) {
        let probed = probe(&server, case.name, &case.bundle);
        let first = probed.refusals.first().map(|refusal| refusal.cause);
        assert_eq!(first, case.expected, "{}: {:?}", case.what, probed.refusals);
        assert_eq!(probed.tls, Some("TLS 1.3"), "{}", case.what);
        assert_eq!(probed.chain.len(), case.chain.len(), "{}", case.what);
        for refusal in &probed.refusals {
            assert!(!refusal.advice.is_empty() && !refusal.message.is_empty(), "{}", case.what);
        }
    }
}

#[test]
fn texts_of_go_equal_a_go_clients() {
    let cases: Vec<_> = cases().into_iter().map(served).collect();
    let Some(verdicts) = go::ask_or_skip(&cases, NOW) else { return };
    for ((case, server), verdict) in cases.iter().zip(verdicts) {
        let probed = probe(server, case.name, &case.bundle);
        let ours = probed.refusals.first().map(|refusal| refusal.go.clone());
        let detailed = case.expected == Some("name_constraint");
        match ours {
            None => assert_eq!(verdict, "", "{}", case.what),
            Some(Some(ours)) if detailed => assert!(verdict.starts_with(&ours), "{}: {verdict}", case.what),
            // Words that are not known to the letter are left out.
            Some(None) => assert!(
                verdict.starts_with("tls: failed to verify certificate: ")
                    || verdict.starts_with("tls: failed to parse certificate from server: "),
                "{}: {verdict}",
                case.what
            ),
            Some(ours) => assert_eq!(Some(verdict), ours, "{}", case.what),
        }
    }
}

#[test]
fn a_certificate_for_another_service_names_both() {
    let case = cases().into_iter().find(|case| case.what == "another Service").unwrap();
    let (case, server) = served(case);
    let message = probe(&server, case.name, &case.bundle).refusals[0].message.clone();
    assert!(message.contains("demo/hooks") && message.contains("demo/other"), "{message}");
}

#[test]
fn a_server_without_tls_is_recognised() {
    for (what, server, cause, go) in [
        (
            "HTTP",
            Server::saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "not_tls",
            "http: server gave HTTP response to HTTPS client",
        ),
        (
            "a greeting",
            Server::saying(b"220 mail.example.com ESMTP\r\n"),
            "not_tls",
            "tls: first record does not look like a TLS handshake",
        ),
        (
            "an alert: protocol version",
            Server::saying(&[21, 3, 1, 0, 2, 2, 70]),
            "tls_too_old",
            "remote error: tls: protocol version not supported",
        ),
        (
            "an alert: unrecognised name",
            Server::saying(&[21, 3, 3, 0, 2, 2, 112]),
            "alert",
            "remote error: tls: unrecognized name",
        ),
        ("nothing", Server::saying(b""), "broken", "EOF"),
    ] {
        let probed = probe(&server, NAME, "");
        let refusal = &probed.refusals[0];
        assert_eq!((refusal.cause, refusal.go.as_deref()), (cause, Some(go)), "{what}");
    }
}

#[test]
fn a_required_client_certificate_is_detected() {
    let case = cases().remove(0);
    for required in [true, false] {
        let server = Server::asking(case.chain.clone(), &case.key, &case.bundle, required);
        let probed = probe(&server, case.name, &case.bundle);
        assert!(probed.asks_for_certificate);
        let causes: Vec<_> = probed.refusals.iter().map(|refusal| refusal.cause).collect();
        assert_eq!(causes, if required { vec!["client_certificate"] } else { vec![] });
    }
}

#[test]
fn an_alert_after_data_is_detected() {
    let case = cases().remove(0);
    let server = Server::greeting(case.chain.clone(), &case.key);
    let probed = probe(&server, case.name, &case.bundle);
    assert_eq!(probed.refusals.iter().map(|refusal| refusal.cause).collect::<Vec<_>>(), ["alert"]);
}

#[test]
fn an_address_without_a_server_is_a_connection_error() {
    let error = Probe::new("127.0.0.1:1", NAME, "").run(now()).err().unwrap();
    let ProbeError::Unreachable { go, .. } = &error else { panic!("{error}") };
    assert_eq!(go, "dial tcp 127.0.0.1:1: connect: connection refused");
    assert!(matches!(Probe::new("127.0.0.1:1", "not a name", "").run(now()), Err(ProbeError::Name(_))));
    assert!(matches!(Probe::new("localhost", NAME, "").run(now()), Err(ProbeError::Address(_))));
}
