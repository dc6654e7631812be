//! Checks that every pod has the outcome of rules that were in force while it was created.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{CreatedPod, Outcome};

/// The rules in force from one write to the next.
#[derive(Clone, Debug)]
pub struct Period {
    /// The outcome of a pod under these rules.
    pub outcome: Outcome,
    /// The time just before the write; no replica can know the rules earlier.
    pub from: Instant,
    /// The time at which every replica reported these rules; no replica uses older rules afterwards.
    pub settled: Instant,
}

/// The result of the checks.
#[derive(Clone, Debug, Default)]
pub struct PodChecks {
    /// The number of checked pods.
    pub pods: usize,
    /// Pods for which only one outcome was possible.
    pub certain: usize,
    /// Pods that one version injected completely.
    pub injected: usize,
    /// Pods that were not injected.
    pub not_injected: usize,
    /// Wrong outcomes and their number.
    pub wrong: BTreeMap<String, usize>,
}

/// Checks pods against ordered periods; pods were created after the first period had settled. A pod may have the outcome
/// of any period that was in force at some replica while the pod was created.
#[must_use]
pub fn check_pods(periods: &[Period], pods: &[CreatedPod]) -> PodChecks {
    let mut checks = PodChecks { pods: pods.len(), ..PodChecks::default() };
    for pod in pods {
        let over = |number: usize| periods.get(number + 1).is_some_and(|next| next.settled < pod.begun);
        let possible = periods.iter().enumerate();
        let possible = possible.filter(|(number, period)| period.from <= pod.ended && !over(*number));
        let possible: Vec<_> = possible.map(|(_, period)| &period.outcome).collect();
        checks.certain += usize::from(possible.len() == 1);
        match &pod.outcome {
            Outcome::NotInjected => checks.not_injected += 1,
            Outcome::Injected { .. } => checks.injected += 1,
            Outcome::Partial(_) => {}
        }
        if !possible.contains(&&pod.outcome) {
            let expected: Vec<_> = possible.iter().map(|outcome| words(outcome)).collect();
            let wrong = format!("{} instead of {}", words(&pod.outcome), expected.join(" or "));
            *checks.wrong.entry(wrong).or_default() += 1;
        }
    }
    checks
}

fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::NotInjected => "not injected".to_owned(),
        Outcome::Injected { version, hash } => format!("{version} ({hash})"),
        Outcome::Partial(parts) => format!("half: {parts}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pod_has_an_outcome_of_the_rules_in_force() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let injected =
            |version: &str| Outcome::Injected { version: version.to_owned(), hash: "h".to_owned() };
        let period = |outcome, from, settled| Period { outcome, from: at(from), settled: at(settled) };
        let periods = [
            period(injected("v1"), 0, 10),
            period(Outcome::NotInjected, 100, 120),
            period(injected("v2"), 200, 220),
        ];
        let wrong = |begun, ended, outcome| {
            let made = CreatedPod { begun: at(begun), ended: at(ended), outcome };
            check_pods(&periods, &[made]).wrong.len()
        };
        assert_eq!(wrong(50, 60, injected("v1")), 0);
        assert_eq!(wrong(50, 60, Outcome::NotInjected), 1, "before it was written");
        assert_eq!(wrong(90, 105, Outcome::NotInjected), 0);
        assert_eq!(wrong(110, 115, injected("v1")), 0, "not every replica knows");
        assert_eq!(wrong(130, 150, injected("v1")), 1, "every replica knows");
        assert_eq!(wrong(130, 150, injected("v2")), 1);
        assert_eq!(wrong(230, 240, injected("v2")), 0);
        assert_eq!(wrong(230, 240, injected("bad3")), 1);
        assert_eq!(wrong(230, 240, Outcome::Partial("what".to_owned())), 1);
        let other = Outcome::Injected { version: "v2".to_owned(), hash: "other".to_owned() };
        assert_eq!(wrong(230, 240, other), 1, "the annotation names other rules");
        let pods = [CreatedPod { begun: at(105), ended: at(110), outcome: Outcome::NotInjected }];
        assert_eq!(check_pods(&periods, &pods).certain, 0);
    }
}
