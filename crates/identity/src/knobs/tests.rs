use super::*;

fn problems(change: impl FnOnce(&mut Knobs)) -> Vec<String> {
    let mut knobs = Knobs::default();
    change(&mut knobs);
    knobs.policy().map_or_else(|error| error.problems, |_| Vec::new())
}

#[test]
fn the_defaults_are_the_policys() {
    assert_eq!(Knobs::default().policy(), Ok(Policy::default()));
    let settings = Knobs::default().apply(Settings::default()).unwrap();
    assert_eq!(settings.organisation, Settings::default().organisation);
}

#[test]
fn the_floors_themselves_are_taken() {
    let floors = Knobs {
        ca_life: 30 * DAY,
        leaf_life: HOUR,
        hold: 10 * SECOND,
        hold_cold: 10 * SECOND,
        ..Knobs::default()
    };
    let policy = floors.policy().unwrap();
    assert_eq!((policy.authority_life, policy.leaf_life), (30 * DAY, HOUR));
    assert_eq!((policy.hold, policy.hold_cold), (10 * SECOND, 10 * SECOND));
}

#[test]
fn what_breaks_the_order_is_refused_with_its_flag_and_a_reason() {
    type Change = fn(&mut Knobs);
    let cases: [(Change, &str); 12] = [
        (
            |knobs| (knobs.ca_life, knobs.leaf_life) = (30 * DAY - SECOND, DAY),
            "--ca-life 2591999s is below 30d: ",
        ),
        (|knobs| knobs.ca_life = 36_501 * DAY, "--ca-life 36501d is above 36500d"),
        (|knobs| knobs.leaf_life = HOUR - SECOND, "--leaf-life 3599s is below 1h: "),
        (|knobs| knobs.hold_cold = 9 * SECOND, "--hold-cold 9s is below 10s: "),
        (|knobs| knobs.hold = DAY + SECOND / 2, "--hold 86400.5s is not in whole seconds"),
        (|knobs| knobs.leaf_life = 61 * DAY, "--leaf-life 61d is not below a sixth of --ca-life 365d: "),
        (|knobs| knobs.hold = 122 * DAY, "--hold 122d is not below a third of --ca-life 365d: "),
        (|knobs| knobs.hold = 29 * SECOND, "--hold 29s is below --hold-cold 30s: "),
        (
            |knobs| (knobs.leaf_life, knobs.hold_cold) = (HOUR, 10 * 60 * SECOND),
            "--hold-cold 10m is not below a sixth of --leaf-life 1h: ",
        ),
        (|knobs| knobs.organisation = " ".to_owned(), "--organisation is empty"),
        (|knobs| knobs.organisation = "o".repeat(49), "--organisation has more than 48"),
        (
            |knobs| knobs.cluster_domain = "cluster.local.".to_owned(),
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
    let problems = problems(|knobs| {
        knobs.ca_life = Duration::ZERO;
        knobs.leaf_life = Duration::ZERO;
        knobs.hold = Duration::ZERO;
        knobs.hold_cold = Duration::ZERO;
        knobs.organisation = "two\nlines".to_owned();
        knobs.cluster_domain = String::new();
    });
    for flag in ["--ca-life", "--leaf-life", "--hold ", "--hold-cold", "--organisation", "--cluster-domain"] {
        assert!(problems.iter().any(|problem| problem.starts_with(flag)), "{flag}: {problems:?}");
    }
}
