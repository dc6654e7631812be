use std::time::{Duration, SystemTime};

use vestibule_identity::{EntryReport, NamespacedName};

use super::*;
use crate::colour::When;

const DAY: u64 = 86_400;

/// 2027-01-15 08:00 and some days.
fn day(days: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + days * DAY)
}

fn authority(id: &str, role: Role) -> AuthorityReport {
    AuthorityReport {
        id: id.to_owned(),
        role,
        subject: format!("CN={id}"),
        not_after: day(365),
        held_since: None,
        trusted_until: None,
        crossed_by: None,
    }
}

fn report(ring: RingState, registrations: Vec<RegistrationReport>) -> InspectReport {
    let secret = NamespacedName { namespace: "demo".to_owned(), name: "hooks-ring".to_owned() };
    InspectReport { secret, ring, bundle: String::new(), registrations, notes: Vec::new() }
}

fn ring() -> RingReport {
    let active = AuthorityReport {
        held_since: Some(day(1)),
        crossed_by: Some("00000000000000aa".to_owned()),
        ..authority("00000000000000bb", Role::Active)
    };
    let retired = AuthorityReport {
        not_after: day(0),
        trusted_until: Some(day(9)),
        ..authority("00000000000000aa", Role::Retired)
    };
    RingReport {
        lineage: "0123456789abcdef".to_owned(),
        generation: 7,
        due: day(120),
        rotation_asked: true,
        revocation_asked: false,
        authorities: vec![retired, active, authority("00000000000000cc", Role::Next)],
    }
}

fn registration(differences: &[&str]) -> RegistrationReport {
    let entry = EntryReport {
        name: "a.example.com".to_owned(),
        target: "demo/hooks".to_owned(),
        authorities: vec!["00000000000000bb".to_owned(), "00000000000000cc".to_owned()],
    };
    RegistrationReport {
        registration: "mutating/hooks".parse().unwrap(),
        entries: vec![entry],
        generation: Some(6),
        written_by: Some("helm".to_owned()),
        differences: differences.iter().map(|text| (*text).to_owned()).collect(),
    }
}

fn shown(report: &InspectReport) -> String {
    write(report, None, day(2), When::Never.palette())
}

#[test]
fn a_ring_and_a_bundle_that_differs() {
    let differs = registration(&["a.example.com: CA 00000000000000aa is missing"]);
    let report = report(RingState::Known(ring()), vec![differs]);
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
  a rotation was asked for, and has not come yet
mutating/hooks  differs, generation 6, last written by helm
  a.example.com -> demo/hooks  00000000000000bb 00000000000000cc
  ! a.example.com: CA 00000000000000aa is missing
"
    );
}

#[test]
fn what_is_in_sync_says_so() {
    let report = report(RingState::Known(ring()), vec![registration(&[])]);
    assert!(report.is_in_sync());
    assert!(shown(&report).contains("mutating/hooks  in sync, generation 6, last written by helm\n"));
}

#[test]
fn what_is_no_ring_says_why() {
    let unreadable = RingState::Unreadable("the ring's field `ring.json` is missing".to_owned());
    let report = report(unreadable, Vec::new());
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
fn a_ring_that_no_configuration_bears_says_so() {
    let shown = shown(&report(RingState::Known(ring()), Vec::new()));
    assert!(shown.contains("no configuration bears the mark of this ring"), "{shown}");
}

/// Certificates and annotations may hold control characters.
#[test]
fn text_from_the_cluster_does_not_move_the_cursor() {
    const ODD: &str = "a\u{1b}[2J\u{9b}b\u{202e}\nforged";
    let mut odd = registration(&[ODD]);
    odd.written_by = Some(ODD.to_owned());
    odd.entries[0].name = ODD.to_owned();
    let mut report = report(RingState::Known(RingReport { lineage: ODD.to_owned(), ..ring() }), vec![odd]);
    report.notes.push(ODD.to_owned());
    let shown = write(&report, None, day(2), When::Always.palette());
    let ours = shown.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "");
    assert_eq!(shown.matches("\x1b[31mdiffers\x1b[0m").count(), 1, "{shown:?}");
    assert!(
        !ours.chars().any(|character| character != '\n' && crate::terminal_escape::is_control(character)),
        "{ours:?}"
    );
    assert!(
        ours.matches("forged").count() == 5 && !ours.lines().any(|line| line.starts_with("forged")),
        "{ours}"
    );
}
