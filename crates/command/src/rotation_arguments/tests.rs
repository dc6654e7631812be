use clap::{CommandFactory, Parser};

use super::*;
use crate::tests::defaults_in_the_help;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    rotation: RotationArguments,
    #[command(flatten)]
    mounted: MountedArguments,
}

#[test]
fn the_defaults_in_the_help_are_the_defaults() {
    let told = defaults_in_the_help(&Command::command());
    assert_eq!(told.len(), 2 * 10, "{told:?}");
    let given = Command::parse_from(std::iter::once("serve".to_owned()).chain(told));
    let settings = |rotation: &RotationArguments| rotation.apply(Settings::default()).unwrap();
    let (told, default) = (settings(&given.rotation), settings(&RotationArguments::default()));
    assert_eq!(told.policy, default.policy);
    assert_eq!((told.algorithm, told.organisation), (default.algorithm, default.organisation));
    assert_eq!(given.mounted.files(), MountedFiles::default());
}

fn problems_after(change: impl FnOnce(&mut Settings)) -> Vec<String> {
    let mut settings = Settings::default();
    change(&mut settings);
    problems(&settings)
}

#[test]
fn the_default_policy_has_no_problems() {
    assert_eq!(problems(&Settings::default()), Vec::<String>::new());
}

#[test]
fn every_rotation_flag_is_applied() {
    let rotation = RotationArguments {
        leaf_life: Some(DAY),
        ca_life: Some(90 * DAY),
        hold: Some(HOUR),
        hold_cold: Some(10 * SECOND),
        key_algorithm: Some(Algorithm::P384),
        quarantine: Some(2 * DAY),
        unknown_ca: Some(UnknownAuthorities::Keep),
        ca_organisation: Some("Example".to_owned()),
        #[cfg(debug_assertions)]
        test_waits: false,
    };
    let mut settings = Settings::default();
    settings.cluster_domain = "example.internal".to_owned();
    let settings = rotation.apply(settings).unwrap();
    let policy = settings.policy;
    assert_eq!((policy.authority_life, policy.leaf_life), (90 * DAY, DAY));
    assert_eq!((policy.hold, policy.hold_cold), (HOUR, 10 * SECOND));
    assert_eq!(policy.quarantine, Some(2 * DAY));
    assert_eq!(policy.unknown_authorities, UnknownAuthorities::Keep);
    assert_eq!(settings.algorithm, Algorithm::P384);
    assert_eq!((&*settings.organisation, &*settings.cluster_domain), ("Example", "example.internal"));
}

#[test]
fn durations_in_the_wrong_order_are_refused_with_flag_and_reason() {
    type Change = fn(&mut Settings);
    let cases: [(Change, &str); 12] = [
        (
            |settings| (settings.policy.authority_life, settings.policy.leaf_life) = (30 * DAY - SECOND, DAY),
            "--ca-life: the CA's life",
        ),
        (
            |settings| settings.policy.leaf_life = HOUR - SECOND,
            "--leaf-life: the leaf life 3599 s is shorter than 1 h",
        ),
        (
            |settings| settings.policy.hold_cold = 9 * SECOND,
            "--hold-cold: the hold of a cold start 9 s is shorter than 10 s",
        ),
        (
            |settings| settings.policy.hold = DAY + SECOND / 2,
            "--hold: the hold must be at least a second, and whole",
        ),
        (
            |settings| settings.policy.leaf_life = 16 * DAY,
            "--leaf-life, --ca-life: the CA's life is too short",
        ),
        (|settings| settings.policy.hold = 122 * DAY, "--hold, --ca-life: the hold 122 d must be shorter"),
        (|settings| settings.policy.hold = 29 * SECOND, "--hold-cold, --hold: the hold of a cold start 30 s"),
        (
            |settings| (settings.policy.leaf_life, settings.policy.hold_cold) = (HOUR, 30 * 60 * SECOND),
            "--leaf-life, --hold-cold: the leaf life 1 h must be longer",
        ),
        (|settings| settings.policy.quarantine = Some(DAY), "--quarantine, --leaf-life: the quarantine 1 d"),
        (|settings| settings.organisation = " ".to_owned(), "--ca-organisation is empty"),
        (|settings| settings.organisation = "o".repeat(49), "--ca-organisation has more than 48"),
        (
            |settings| settings.cluster_domain = "cluster.local.".to_owned(),
            "--cluster-domain `cluster.local.` is no",
        ),
    ];
    for (change, expected) in cases {
        let problems = problems_after(change);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{} is not {expected}", problems[0]);
    }
}

#[test]
fn all_problems_of_the_policy_are_reported_together() {
    let problems = problems_after(|settings| {
        settings.policy.authority_life = Duration::ZERO;
        settings.policy.leaf_life = Duration::ZERO;
        settings.policy.hold = Duration::ZERO;
        settings.policy.hold_cold = Duration::ZERO;
        settings.organisation = "two\nlines".to_owned();
        settings.cluster_domain = String::new();
    });
    let flags =
        ["--ca-life:", "--leaf-life:", "--hold:", "--hold-cold:", "--ca-organisation ", "--cluster-domain "];
    for flag in flags {
        assert!(problems.iter().any(|problem| problem.starts_with(flag)), "{flag} {problems:?}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn the_waits_of_tests_are_shorter_than_is_supported() {
    let rotation = RotationArguments { test_waits: true, ..RotationArguments::default() };
    let settings = rotation.apply(Settings::default()).unwrap();
    assert_eq!((settings.policy.hold_cold, settings.settle), (2 * SECOND, SECOND));
    assert!(settings.policy.check().is_ok() && settings.policy.floors().is_err());
}
