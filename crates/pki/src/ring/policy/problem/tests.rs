use super::*;

fn refused(change: impl FnOnce(&mut Policy)) -> String {
    let mut policy = Policy::default();
    change(&mut policy);
    let problems = policy.check().unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn the_default_is_sound_and_above_the_floors() {
    assert_eq!((Policy::default().check(), Policy::default().floors()), (Ok(()), Ok(())));
}

#[test]
fn each_span_is_held_to_the_others() {
    let day = HOUR * 24;
    assert!(
        refused(|policy| policy.leaf_life = day * 121 + HOUR * 16).contains("leaves live too long: 2920 h")
    );
    assert!(
        refused(|policy| policy.leaf_life = day * 16).contains("a twelfth of it (730 h) must be at least")
    );
    assert!(refused(|policy| policy.hold = day * 122).contains("the hold 122 d must be shorter"));
    assert!(refused(|policy| policy.hold_cold = day * 2).contains("the hold of a cold start 2 d"));
    assert!(refused(|policy| policy.leaf_life = Duration::from_secs(60)).contains("leaf life 1 min must be"));
    assert!(refused(|policy| policy.recheck = Duration::from_secs(30)).contains("a look may be 30 s old"));
    assert!(refused(|policy| policy.quarantine = Some(day)).contains("the quarantine 1 d must be at least"));
    assert!(refused(|policy| policy.unknown_limit = 17).contains("17 unknown CAs"));
    assert!(refused(|policy| policy.switch_wait = Duration::ZERO).contains("at least a second"));
    assert!(refused(|policy| policy.hold = Duration::from_millis(1_500)).contains("whole seconds"));
}

#[test]
fn no_span_is_too_long_to_be_checked() {
    let all = refused(|policy| {
        (policy.leaf_life, policy.hold_cold, policy.hold) = (Duration::MAX, Duration::MAX, Duration::MAX);
        policy.skew = Duration::MAX;
    });
    assert!(all.lines().count() >= 4, "{all}");
}

#[test]
fn floors_are_apart() {
    let mut policy = Policy::default();
    (policy.leaf_life, policy.authority_life) = (Duration::from_secs(6), Duration::from_secs(156));
    (policy.hold, policy.hold_cold) = (Duration::from_secs(3), Duration::from_secs(2));
    (policy.skew, policy.recheck) = (Duration::from_secs(1), Duration::from_secs(1));
    assert_eq!(policy.check(), Ok(()));
    let problems = policy.floors().unwrap_err();
    assert_eq!(problems[0].to_string(), "the leaf life 6 s is shorter than 1 h, the least that is supported");
    assert_eq!(problems.len(), 3);
}

#[test]
fn every_limit_itself_is_allowed() {
    let (second, day) = (Duration::from_secs(1), Duration::from_secs(86_400));
    let mut policy = Policy::default();
    (policy.hold, policy.hold_cold, policy.unknown_limit) = (day, day, 16);
    assert_eq!(policy.check(), Ok(()));
    (policy.leaf_life, policy.authority_life, policy.hold_cold) = (second * 3_600, day * 30, second * 10);
    assert_eq!(policy.floors(), Ok(()));
    policy.leaf_life -= second;
    policy.authority_life -= second;
    policy.hold_cold -= second;
    assert_eq!(policy.floors().unwrap_err().len(), 3);
}

#[test]
fn a_model_switches_one_rule_off_and_leaves_the_others_on() {
    use crate::ring::Rule::*;
    let rules = [W2, W3, H1, P1, P2, S1, S2, S3, D1, G1, G2, E1, C1, L1, L2];
    assert!(rules.iter().all(|rule| Policy::default().enforces(*rule)));
    for off in rules {
        let policy = Policy::default().without(off);
        assert!(rules.iter().all(|rule| policy.enforces(*rule) == (*rule != off)), "{off:?}");
    }
}
