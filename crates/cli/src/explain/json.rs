//! An explanation as JSON, for scripts.

use serde_json::{Value, json};
use vestibule_rules::{Effect, Explanation, GateResult, Mode, Outcome, RuleExplanation};

use crate::evaluation::{Evaluation, Step};
use crate::workload::ephemeral_containers;

/// A list with an entry for each object. It holds names and no values of the object.
pub(super) fn explanations(mode: Mode, evaluations: &[Evaluation<'_, Explanation>]) -> anyhow::Result<Value> {
    let objects = evaluations.iter().map(|evaluation| {
        let rules =
            evaluation.steps.iter().flat_map(|step| step.answer.rules.iter().map(move |rule| (step, rule)));
        let rules = rules.map(|(step, rule)| rule_json(step, rule)).collect::<anyhow::Result<Vec<_>>>()?;
        let object = evaluation.object;
        Ok(json!({
            "object": {
                "apiVersion": object.api_version, "kind": object.kind,
                "namespace": evaluation.namespace, "name": object.name, "place": object.place(),
            },
            "mode": mode.as_str(),
            "rules": rules,
            "warnings": evaluation.warnings(),
            "ephemeralContainers": ephemeral_containers(&object.json),
            "denied": evaluation.denial(),
        }))
    });
    Ok(Value::Array(objects.collect::<anyhow::Result<Vec<_>>>()?))
}

fn rule_json(step: &Step<Explanation>, rule: &RuleExplanation) -> anyhow::Result<Value> {
    let (outcome, reason, sentence) = match &rule.outcome {
        Outcome::Applied => ("applied", None, None),
        Outcome::Skipped { reason, sentence } => ("skipped", Some(reason.as_str()), Some(&**sentence)),
        Outcome::Denied { message, .. } => ("denied", None, Some(message.as_str())),
        _ => ("unchanged", None, None),
    };
    let gates = rule.gates.iter().map(|gate| {
        let passed = match gate.result {
            GateResult::Passed => json!(true),
            GateResult::Failed => json!(false),
            GateResult::NotReached => Value::Null,
        };
        json!({
            "name": gate.name, "line": gate.line, "passed": passed, "presumed": gate.presumed,
            "sentence": gate.sentence,
        })
    });
    let changes = step.explained()?;
    let clauses = rule.clauses.iter().map(|clause| {
        let effect = match clause.effect {
            Effect::Added => "added",
            Effect::Removed => "removed",
            Effect::There => "there",
            Effect::Kept => "kept",
            Effect::NotNeeded => "not_needed",
            Effect::Failed => "failed",
            _ => "not_reached",
        };
        let made = clause.changes.iter().filter_map(|index| Some(changes.get(*index)?.text.as_str()));
        json!({
            "clause": clause.text, "line": clause.line, "effect": effect,
            "sentence": clause.sentence, "changes": made.collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "rule": &*rule.rule, "source": &*rule.source, "line": rule.line,
        "at": if step.submitted.prefix.is_empty() { "/" } else { step.submitted.prefix },
        "outcome": outcome, "presumed": rule.is_presumed(), "reason": reason, "sentence": sentence,
        "gates": gates.collect::<Vec<_>>(), "clauses": clauses.collect::<Vec<_>>(),
    }))
}
