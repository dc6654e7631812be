//! Explanations for an object whose owner has no name yet, such as a pod template before its ReplicaSet exists.

use vestibule_rules::{Explanation, Gate, GateResult};

use crate::kit::{creation, rule, rules};

const OWNED: &str = r#"{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job","name":"build","uid":"u","controller":true}]},"spec":{}}"#;
const ALONE: &str = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;

fn explain(spec: &str, object: &str, presumed: bool) -> Explanation {
    rules(&rule("r", spec)).explain(&creation(object).presumed_owner(presumed)).unwrap()
}

fn presumed_gates(explanation: &Explanation) -> Vec<&str> {
    let gates = explanation.rules[0].gates.iter().filter(|gate| gate.presumed);
    gates.map(|gate| gate.name.as_str()).collect()
}

fn rollout(explanation: &Explanation) -> &Gate {
    explanation.rules[0].gates.iter().find(|gate| gate.name == "rollout").unwrap()
}

/// The rollout is presumed if another name could change its result.
#[test]
fn a_rollout_is_presumed_if_the_name_decides() {
    let by_name = |percent: u8, verb: &str| {
        format!("decided by the name of each Job, of which {percent} % are reached; one called build {verb}")
    };
    let of_pods = "decided by the name of the pods' controller; pods without a controller are reached";
    let no_controller = "the object has no controller, and the rollout is decided for each controller";
    for (percent, object, owner_is_presumed, result, presumed, sentence) in [
        (1, OWNED, true, GateResult::Failed, true, by_name(1, "is not")),
        (99, OWNED, true, GateResult::Passed, true, by_name(99, "is")),
        (
            100,
            OWNED,
            true,
            GateResult::Passed,
            false,
            "the workload is among the 100 % that are reached".to_owned(),
        ),
        (
            0,
            OWNED,
            true,
            GateResult::Failed,
            false,
            "0 % of the workloads are reached, build not yet".to_owned(),
        ),
        (
            99,
            OWNED,
            false,
            GateResult::Passed,
            false,
            "the workload is among the 99 % that are reached".to_owned(),
        ),
        (0, ALONE, true, GateResult::Passed, true, of_pods.to_owned()),
        (50, ALONE, true, GateResult::Passed, true, of_pods.to_owned()),
        (100, ALONE, true, GateResult::Passed, false, no_controller.to_owned()),
        (50, ALONE, false, GateResult::Passed, false, no_controller.to_owned()),
    ] {
        let spec = format!("rollout: {{percent: {percent}}}\npod: {{labels: {{x: y}}}}");
        let explanation = explain(&spec, object, owner_is_presumed);
        let gate = rollout(&explanation);
        let expected: &[&str] = if presumed { &["rollout"] } else { &[] };
        assert_eq!(presumed_gates(&explanation), expected, "{percent} {object} {owner_is_presumed}");
        assert_eq!((gate.result, gate.sentence.as_str()), (result, sentence.as_str()), "{percent} {object}");
    }
    let without = explain("pod: {labels: {x: y}}", OWNED, true);
    assert_eq!(presumed_gates(&without), [""; 0]);
    let opted_out = ALONE.replace(r#""app":"web""#, r#""app":"web","inject.vestibule.dev/r":"false""#);
    let not_reached = explain("rollout: {percent: 50}\npod: {labels: {x: y}}", &opted_out, true);
    assert_eq!(
        (rollout(&not_reached).result, rollout(&not_reached).presumed),
        (GateResult::NotReached, false)
    );
}

#[test]
fn a_condition_is_presumed_if_it_reads_the_name_of_a_presumed_owner() {
    for (condition, owner_is_presumed, presumed) in [
        ("owner.name == 'build'", true, true),
        ("owner.name == 'build'", false, false),
        ("object.metadata.labels.app == 'web'", true, false),
    ] {
        let spec =
            format!("matchConditions: [{{name: c, expression: \"{condition}\"}}]\npod: {{labels: {{x: y}}}}");
        let explanation = explain(&spec, OWNED, owner_is_presumed);
        assert_eq!(
            presumed_gates(&explanation).len(),
            usize::from(presumed),
            "{condition} {owner_is_presumed}"
        );
    }
}
