//! `rollout.percent`: some of the workloads first, and always the same ones.

use super::{Answer, Inquiry, Out, passed_or};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::Rule;

/// The gate.
pub(super) const NAME: &str = "rollout";

pub(super) fn ask(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let Some(rollout) = &rule.rollout else {
        return Answer::NotAsked(|_, _| "the rule is for all workloads".to_owned());
    };
    let Some(workload) = inquiry.received.workload() else {
        return Answer::Passed(|inquiry, rule| match is_presumed(inquiry, rule) {
            true => "whoever controls its pods decides by its name; pods that nobody controls are reached"
                .to_owned(),
            false => "nobody controls it, so no part of a workload would differ".to_owned(),
        });
    };
    // A pod of a workload without a name is told apart by what its owner surely has.
    let name = if workload.name.is_empty() { &workload.uid } else { &workload.name };
    let out = !reaches(rollout.percent, inquiry.subject.namespace, name);
    let out = out.then(|| {
        let (percent, name) = (rollout.percent, shown(name));
        let sentence = match is_presumed(inquiry, rule) {
            true => format!("{}; one called {name} is not", drawn(&workload.kind, percent)),
            false => format!("{percent} % of the workloads are reached, {name} not yet"),
        };
        Out::new(Reason::NotRolledOut, Some(rollout.at), sentence)
    });
    passed_or(out, |inquiry, rule| {
        let percent = rule.rollout.as_ref().map_or(100, |rollout| rollout.percent);
        match inquiry.received.workload() {
            Some(workload) if is_presumed(inquiry, rule) => {
                format!("{}; one called {} is", drawn(&workload.kind, percent), shown(&workload.name))
            }
            _ => format!("the workload is among the {percent} % that are reached"),
        }
    })
}

/// Whether another name might be drawn otherwise, and the name is not known yet.
pub(super) fn is_presumed(inquiry: &Inquiry<'_>, rule: &Rule) -> bool {
    let percent = rule.rollout.as_ref().map_or(100, |rollout| rollout.percent);
    let is_nobodys = inquiry.received.workload().is_none();
    inquiry.subject.presumed_owner && percent < 100 && (percent > 0 || is_nobodys)
}

fn drawn(kind: &str, percent: u8) -> String {
    format!("decided by the name of each {}, of which {percent} % are reached", shown(kind))
}

/// Whether `percent` of the workloads include this one. With a higher share, none of them leaves.
fn reaches(percent: u8, namespace: &str, workload: &str) -> bool {
    const SLOTS: u64 = 10_000;
    place(namespace, workload) % SLOTS < u64::from(percent) * (SLOTS / 100)
}

/// The same number on every replica, in every version: FNV-1a, whose last bits are then mixed well (Stafford's thirteenth
/// finaliser), because names that differ in their last letter only have to part as well.
fn place(namespace: &str, workload: &str) -> u64 {
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

    use super::{place, reaches};

    proptest! {
        #[test]
        fn a_higher_share_keeps_everybody(namespace in "[a-z-]{1,20}", name in "[a-z0-9-]{1,40}") {
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
    fn places_never_change() {
        // A new version that drew anew would take sidecars away from workloads that have them.
        assert_eq!(place("team-a", "web") % 10_000, 391);
    }
}
