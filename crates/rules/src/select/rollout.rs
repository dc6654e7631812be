//! `rollout.percent`: the rule reaches a share of the workloads, and always the same ones.

use super::{CheckResult, MatchContext, Skip, passed_unless};
use crate::decision::Reason;
use crate::diagnostic::printable_short;
use crate::rule::Rule;

/// The name of the gate in explanations.
pub(super) const NAME: &str = "rollout";

pub(super) fn check(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let Some(rollout) = &rule.rollout else {
        return CheckResult::NotApplicable(|_, _| "the rule is for all workloads".to_owned());
    };
    let Some(workload) = context.received.workload() else {
        return CheckResult::Passed(|context, rule| match is_presumed(context, rule) {
            true => "decided by the name of the pods' controller; pods without a controller are reached"
                .to_owned(),
            false => {
                "the object has no controller, and the rollout is decided for each controller".to_owned()
            }
        });
    };
    // A controller without a name is told apart by its uid.
    let name = if workload.name.is_empty() { &workload.uid } else { &workload.name };
    let skip = (!reaches(rollout.percent, context.subject.namespace, name)).then(|| {
        let (percent, name) = (rollout.percent, printable_short(name));
        let sentence = match is_presumed(context, rule) {
            true => format!("{}; one called {name} is not", decided_by_name(&workload.kind, percent)),
            false => format!("{percent} % of the workloads are reached, {name} not yet"),
        };
        Skip::new(Reason::NotRolledOut, Some(rollout.at), sentence)
    });
    passed_unless(skip, |context, rule| {
        let percent = rule.rollout.as_ref().map_or(100, |rollout| rollout.percent);
        match context.received.workload() {
            Some(workload) if is_presumed(context, rule) => {
                format!(
                    "{}; one called {} is",
                    decided_by_name(&workload.kind, percent),
                    printable_short(&workload.name)
                )
            }
            _ => format!("the workload is among the {percent} % that are reached"),
        }
    })
}

/// Whether the result depends on an owner's name that is not known yet.
pub(super) fn is_presumed(context: &MatchContext<'_>, rule: &Rule) -> bool {
    let percent = rule.rollout.as_ref().map_or(100, |rollout| rollout.percent);
    let has_no_workload = context.received.workload().is_none();
    context.subject.presumed_owner && percent < 100 && (percent > 0 || has_no_workload)
}

fn decided_by_name(kind: &str, percent: u8) -> String {
    format!("decided by the name of each {}, of which {percent} % are reached", printable_short(kind))
}

/// Whether `percent` of the workloads include this one. A workload that is included stays included when the share grows.
fn reaches(percent: u8, namespace: &str, workload: &str) -> bool {
    const SLOTS: u64 = 10_000;
    workload_hash(namespace, workload) % SLOTS < u64::from(percent) * (SLOTS / 100)
}

/// FNV-1a, followed by Stafford's thirteenth finaliser, because FNV-1a alone hardly separates names that differ only in their
/// last letter. The number must be the same on every replica and in every version.
fn workload_hash(namespace: &str, workload: &str) -> u64 {
    let bytes = namespace.bytes().chain([b'/']).chain(workload.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{reaches, workload_hash};

    proptest! {
        #[test]
        fn a_higher_share_keeps_every_workload(namespace in "[a-z-]{1,20}", name in "[a-z0-9-]{1,40}") {
            let reached: Vec<bool> = (0..=100).map(|percent| reaches(percent, &namespace, &name)).collect();
            prop_assert!(reached.is_sorted() && !reached[0] && reached[100]);
        }

        #[test]
        fn the_share_is_close_to_the_percentage(percent in 0_u8..=100, namespace in "[a-z-]{1,20}") {
            let workloads = 2_000_u32;
            let reached = (0..workloads).filter(|n| reaches(percent, &namespace, &format!("service-{n}"))).count();
            let share = f64::from(u32::try_from(reached).unwrap()) * 100.0 / f64::from(workloads);
            // Five standard deviations of a fair draw.
            prop_assert!((share - f64::from(percent)).abs() < 5.6, "{share} of {percent}");
        }
    }

    #[test]
    fn the_limit_of_a_share_is_not_in_it() {
        let mut names = (0..).map(|number| format!("service-{number}"));
        let name = names.find(|name| workload_hash("team-a", name) % 10_000 == 5_000).unwrap();
        assert!(!reaches(50, "team-a", &name) && reaches(51, "team-a", &name), "{name}");
    }

    #[test]
    fn hashes_never_change() {
        // With another hash, a new version would remove sidecars from workloads that have them.
        assert_eq!(workload_hash("team-a", "web") % 10_000, 391);
    }
}
