use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use vestibule_identity::NamespacedName;
use vestibule_pki::ring::{AuthorityState, CaId, CrossSignature, Lineage, Moment, Request};

use super::*;
use crate::certs::show::ring_report::EntryReport;
use crate::colour::When;

const DAY: u64 = 86_400;

/// 2027-01-15 08:00 and some days.
fn moment(days: u64) -> Moment {
    Moment(1_800_000_000 + days * DAY)
}

fn day(days: u64) -> SystemTime {
    moment_time(moment(days))
}

fn authority(id: u64, state: AuthorityState) -> AuthorityFacts {
    let (not_before, not_after) = (moment(0), moment(365));
    AuthorityFacts { id: CaId(id), state, not_before, not_after, held: None, cross_signature: None }
}

fn report(ring: RingFacts, registrations: Vec<RegistrationReport>) -> RingReport {
    let secret = NamespacedName { namespace: "demo".to_owned(), name: "hooks-ring".to_owned() };
    let (problem, subjects, bundle, notes) = (None, BTreeMap::new(), String::new(), Vec::new());
    RingReport { secret, ring, problem, subjects, bundle, registrations, notes }
}

fn ring() -> Facts {
    let active = AuthorityFacts {
        held: Some(moment(1)),
        cross_signature: Some(CrossSignature { issuer: CaId(0xaa), not_after: moment(9) }),
        ..authority(0xbb, AuthorityState::Active)
    };
    let retired = AuthorityFacts {
        not_after: moment(0),
        ..authority(0xaa, AuthorityState::Retired { until: moment(9) })
    };
    Facts {
        lineage: Lineage(0x0123_4567_89ab_cdef),
        generation: 7,
        due: moment(120),
        rotation: Request { asked: 1, answered: 0 },
        revocation: Request::default(),
        restored: None,
        revoked: BTreeSet::new(),
        made: Vec::new(),
        authorities: vec![retired, active, authority(0xcc, AuthorityState::Next)],
    }
}

fn registration(differences: &[&str]) -> RegistrationReport {
    let entry = EntryReport {
        name: "a.example.com".to_owned(),
        target: "demo/hooks".to_owned(),
        authorities: vec!["00000000000000bb".to_owned(), "00000000000000cc".to_owned()],
    };
    RegistrationReport {
        name: "mutating/hooks".parse().unwrap(),
        entries: vec![entry],
        generation: Some(6),
        written_by: Some("helm".to_owned()),
        differences: differences.iter().map(|text| (*text).to_owned()).collect(),
    }
}

fn shown(report: &RingReport) -> String {
    write(report, None, day(2), When::Never.palette())
}

#[test]
fn a_ring_and_a_bundle_that_differs() {
    let differs = registration(&["a.example.com: CA 00000000000000aa is missing"]);
    let report = report(RingFacts::Known(ring()), vec![differs]);
    assert!(!report.is_in_sync());
    assert_eq!(
        shown(&report),
        "\
ring demo/hooks-ring  generation 7, lineage 0123456789abcdef
  CA                ROLE     NOT AFTER          TIME LEFT  REMARK
  00000000000000bb  active   2028-01-15 08:00Z  363 d      held since 2027-01-16 08:00Z, cross-signed by 00000000000000aa
  00000000000000cc  next     2028-01-15 08:00Z  363 d      not held yet
  00000000000000aa  retired  2027-01-15 08:00Z  expired    trusted until 2027-01-24 08:00Z
  next rotation 2027-05-15 08:00Z (118 d left)
  a rotation was requested and has not happened yet
mutating/hooks  differs, generation 6, last written by helm
  a.example.com -> demo/hooks  00000000000000bb 00000000000000cc
  ! a.example.com: CA 00000000000000aa is missing
"
    );
}

#[test]
fn a_configuration_in_sync_is_printed_as_such() {
    let report = report(RingFacts::Known(ring()), vec![registration(&[])]);
    assert!(report.is_in_sync());
    assert!(shown(&report).contains("mutating/hooks  in sync, generation 6, last written by helm\n"));
}

#[test]
fn an_unusable_ring_is_printed_with_the_reason() {
    let problem = Some("the ring's field `ring.json` is missing".to_owned());
    let report = RingReport { problem, ..report(RingFacts::Unreadable, Vec::new()) };
    assert!(!report.is_in_sync());
    assert_eq!(
        shown(&report),
        "\
ring demo/hooks-ring  cannot be used: the ring's field `ring.json` is missing
  what to do: a replica makes it anew and says so in its log; if the Secret is not a ring's, name another with --secret
"
    );
}

#[test]
fn a_ring_without_a_configuration_is_noted() {
    let shown = shown(&report(RingFacts::Known(ring()), Vec::new()));
    assert!(shown.contains("no configuration has an annotation of this ring"), "{shown}");
}

/// Certificates and annotations may hold control characters.
#[test]
fn text_from_the_cluster_does_not_move_the_cursor() {
    const ODD: &str = "a\u{1b}[2J\u{9b}b\u{202e}\nforged";
    let mut odd = registration(&[ODD]);
    odd.written_by = Some(ODD.to_owned());
    odd.entries[0].name = ODD.to_owned();
    let mut report = report(RingFacts::Known(ring()), vec![odd]);
    report.notes.push(ODD.to_owned());
    let shown = write(&report, None, day(2), When::Always.palette());
    let ours = shown.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "");
    assert_eq!(shown.matches("\x1b[31mdiffers\x1b[0m").count(), 1, "{shown:?}");
    assert!(
        !ours.chars().any(|character| character != '\n' && crate::terminal_escape::is_control(character)),
        "{ours:?}"
    );
    assert!(
        ours.matches("forged").count() == 4 && !ours.lines().any(|line| line.starts_with("forged")),
        "{ours}"
    );
}
