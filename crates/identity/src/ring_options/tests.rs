use super::*;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn problems(change: impl FnOnce(&mut RingOptions)) -> Vec<String> {
    let mut options = RingOptions::default();
    change(&mut options);
    options.policy().map_or_else(|error| error.problems, |_| Vec::new())
}

#[test]
fn the_defaults_are_the_policys() {
    assert_eq!(RingOptions::default().policy(), Ok(Policy::default()));
    let settings = RingOptions::default().apply(Settings::default()).unwrap();
    assert_eq!(settings.organisation, Settings::default().organisation);
}

#[test]
fn every_knob_reaches_the_settings() {
    let options = RingOptions {
        algorithm: Algorithm::P384,
        ca_life: 90 * DAY,
        leaf_life: DAY,
        hold: HOUR,
        hold_cold: 10 * SECOND,
        quarantine: Some(2 * DAY),
        unknown_ca: UnknownAuthorities::Drop,
        organisation: "Example".to_owned(),
        cluster_domain: "example.internal".to_owned(),
    };
    let settings = options.apply(Settings::default()).unwrap();
    let policy = settings.policy;
    assert_eq!((policy.authority_life, policy.leaf_life), (90 * DAY, DAY));
    assert_eq!((policy.hold, policy.hold_cold), (HOUR, 10 * SECOND));
    assert_eq!(policy.quarantine, Some(2 * DAY));
    assert_eq!(policy.unknown_authorities, UnknownAuthorities::Drop);
    assert_eq!(settings.algorithm, Algorithm::P384);
    assert_eq!(
        (settings.organisation, settings.cluster_domain),
        (options.organisation, options.cluster_domain)
    );
}

#[test]
fn what_breaks_the_order_is_refused_with_its_flag_and_a_reason() {
    type Change = fn(&mut RingOptions);
    let cases: [(Change, &str); 12] = [
        (
            |options| (options.ca_life, options.leaf_life) = (30 * DAY - SECOND, DAY),
            "--ca-life: the CA's life",
        ),
        (
            |options| options.leaf_life = HOUR - SECOND,
            "--leaf-life: the leaf life 3599 s is shorter than 1 h",
        ),
        (
            |options| options.hold_cold = 9 * SECOND,
            "--hold-cold: the hold of a cold start 9 s is shorter than 10 s",
        ),
        (|options| options.hold = DAY + SECOND / 2, "--hold: the hold must be at least a second, and whole"),
        (|options| options.leaf_life = 16 * DAY, "--leaf-life, --ca-life: the CA's life is too short"),
        (|options| options.hold = 122 * DAY, "--hold, --ca-life: the hold 122 d must be shorter"),
        (|options| options.hold = 29 * SECOND, "--hold-cold, --hold: the hold of a cold start 30 s"),
        (
            |options| (options.leaf_life, options.hold_cold) = (HOUR, 30 * 60 * SECOND),
            "--leaf-life, --hold-cold: the leaf life 1 h must be longer",
        ),
        (|options| options.quarantine = Some(DAY), "--quarantine, --leaf-life: the quarantine 1 d"),
        (|options| options.organisation = " ".to_owned(), "--ca-organisation is empty"),
        (|options| options.organisation = "o".repeat(49), "--ca-organisation has more than 48"),
        (
            |options| options.cluster_domain = "cluster.local.".to_owned(),
            "--cluster-domain `cluster.local.` is no",
        ),
    ];
    for (change, expected) in cases {
        let problems = problems(change);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{} is not {expected}", problems[0]);
    }
}

#[test]
fn every_problem_is_told_at_once() {
    let problems = problems(|options| {
        options.ca_life = Duration::ZERO;
        options.leaf_life = Duration::ZERO;
        options.hold = Duration::ZERO;
        options.hold_cold = Duration::ZERO;
        options.organisation = "two\nlines".to_owned();
        options.cluster_domain = String::new();
    });
    let flags =
        ["--ca-life:", "--leaf-life:", "--hold:", "--hold-cold:", "--ca-organisation ", "--cluster-domain "];
    for flag in flags {
        assert!(problems.iter().any(|problem| problem.starts_with(flag)), "{flag} {problems:?}");
    }
}
