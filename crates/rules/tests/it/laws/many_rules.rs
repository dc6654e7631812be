//! With many rules, lists are searched by indexes. The decision must be the same as with few rules.

use proptest::prelude::*;
use vestibule_rules::{Decision, NamespaceFacts};

use super::cases;
use super::generated::{requests, specs};
use super::requests::Request;
use super::shared_ports::listening;
use crate::kit::{evaluate, made, rule, rules, words};

const NAMES: [&str; 4] = ["one", "two", "three", "four"];

/// The decision of the rules of `specs` after `count` rules that change nothing.
fn behind(count: usize, request: &Request, specs: &[String]) -> Decision {
    let fillers = (0..count).map(|n| rule(&format!("filler-{n}"), "order: -9\npod: {labels: {filled: x}}"));
    let named = specs.iter().zip(NAMES).map(|(spec, name)| rule(name, spec));
    evaluate(&rules(&fillers.chain(named).collect::<String>()), &request.creation(&request.pod.to_string()))
}

/// Outcomes, warnings and the resulting object are the same.
fn is_the_same_after_many(request: &Request, specs: &[String]) -> Result<(), TestCaseError> {
    let mut request = request.clone();
    request.pod["metadata"]["labels"]["filled"] = "x".into();
    let (few, many) = (behind(1, &request, specs), behind(8, &request, specs));
    prop_assert_eq!(&words(&many)[8..], &words(&few)[1..]);
    prop_assert_eq!(&many.warnings, &few.warnings);
    let pod = request.pod.to_string();
    prop_assert_eq!(made(&many, &pod), made(&few, &pod));
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn many_rules_do_not_change_the_decision(request in requests(), specs in specs()) {
        is_the_same_after_many(&request, &specs)?;
    }

    #[test]
    fn many_rules_do_not_change_port_conflicts((pod, specs) in listening()) {
        is_the_same_after_many(&Request { pod, facts: NamespaceFacts::default() }, &specs)?;
    }
}
