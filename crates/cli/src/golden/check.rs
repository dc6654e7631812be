//! Checks one case.

use std::fmt;
use std::path::Path;

use serde_json::Value;
use vestibule::patch::{Document, Operation};
use vestibule_command::{CommandError, colour, diff};
use vestibule_injector::files::printable_path;
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Decision, Outcome, Reason, RuleSet, STATUS_ANNOTATION};

use super::case::{Case, Expected, Suite};
use super::subset;
use crate::evaluation::{Evaluation, Facts, Request};
use crate::{render, workload};

/// The result of a case.
pub(super) struct Checked {
    /// `tests/nginx.yaml`
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) name: String,
    /// Empty if the result is as expected.
    pub(super) failures: Vec<String>,
    /// The changes and outcomes of the rules, if the case failed.
    pub(super) explanation: Vec<String>,
    /// The file that was written.
    pub(super) updated: Option<String>,
}

/// Checks `case`; with `update` the file of its result is written instead.
pub(super) fn check(
    rules: &RuleSet,
    suite: &Suite,
    case: &Case,
    update: bool,
) -> Result<Checked, CommandError> {
    let running = |error: anyhow::Error| {
        let file = printable_path(&suite.file);
        CommandError::running(format_args!("{file}:{}: {error:#}", case.line))
    };
    let facts = Facts::everywhere(case.facts.clone());
    let request = Request {
        rules,
        verb: case.verb,
        default_namespace: &case.namespace,
        facts: &facts,
        user: case.user.as_deref(),
    };
    let evaluation = request.evaluate(&case.object, &case.object.json, RuleSet::evaluate).map_err(running)?;
    let mut check = Check { case, evaluation: &evaluation, failures: Vec::new(), updated: None };
    check.rules();
    check.denial();
    check.warnings();
    if !evaluation.is_denied() {
        let whole = without_status(&evaluation.after).map_err(running)?;
        check.contains();
        check.result(&whole, update).map_err(running)?;
        check.fixpoint(request).map_err(running)?;
    }
    let Check { failures, updated, .. } = check;
    let explanation =
        if failures.is_empty() { Vec::new() } else { explanation_of(&evaluation).map_err(running)? };
    let file = suite.file.display().to_string();
    Ok(Checked { file, line: case.line, name: case.name.clone(), failures, explanation, updated })
}

struct Check<'c> {
    case: &'c Case,
    evaluation: &'c Evaluation<'c, Decision>,
    failures: Vec<String>,
    updated: Option<String>,
}

impl Check<'_> {
    /// Adds a failure on one line, with control characters escaped.
    fn fail(&mut self, words: impl fmt::Display) {
        self.failures.push(printable(&words.to_string()));
    }

    fn rules(&mut self) {
        for (rule, expected) in &self.case.expect.rules {
            match outcome(self.evaluation, rule) {
                None => self.fail(format_args!("rule {rule}: there is none of this name")),
                Some(outcome) => {
                    let (found, why) = words(outcome);
                    if found != expected {
                        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                        self.fail(format_args!("rule {rule}: expected {expected}, found {found}{why}"));
                    }
                }
            }
        }
    }

    fn denial(&mut self) {
        match (&self.case.expect.denied, self.evaluation.denial()) {
            (Some(expected), Some(found)) if !found.contains(expected.as_str()) => {
                self.fail(format_args!("denied, but not with `{expected}`: {found}"));
            }
            (Some(_), None) => self.fail("expected to be denied, and is not"),
            (None, Some(found)) if !self.case.expect.rules.values().any(|word| word == "denied") => {
                self.fail(format_args!("denied: {found}"));
            }
            _ => {}
        }
    }

    fn warnings(&mut self) {
        let Some(expected) = &self.case.expect.warnings else { return };
        let mut found = self.evaluation.warnings();
        for expected in expected {
            match found.iter().position(|found| found.contains(expected.as_str())) {
                Some(index) => drop(found.remove(index)),
                None => self.fail(format_args!("no warning with `{expected}`")),
            }
        }
        found.iter().for_each(|found| self.fail(format_args!("a warning too many: {found}")));
    }

    fn contains(&mut self) {
        let Some(expected) = &self.case.expect.contains else { return };
        let found = serde_json::from_str(&self.evaluation.after).unwrap_or_default();
        if let Some(why) = subset::missing(expected, &found) {
            self.fail(format_args!("contains: {why}"));
        }
    }

    /// `whole` is the result, JSON.
    fn result(&mut self, whole: &str, update: bool) -> anyhow::Result<()> {
        let Some(expected) = &self.case.expect.result else { return Ok(()) };
        let found: Value = serde_json::from_str(whole)?;
        let wanted = match expected {
            Expected::Inline(wanted) => Some(wanted.clone()),
            Expected::File(file) => read(file)?,
        };
        let wanted = wanted.map(|wanted| without_status(&wanted.to_string())).transpose()?;
        let wanted = wanted.map(|wanted| serde_json::from_str::<Value>(&wanted)).transpose()?;
        match (wanted, expected) {
            (Some(wanted), _) if wanted == found => {}
            (_, Expected::File(file)) if update => {
                std::fs::write(file, render::yaml(whole)?)
                    .map_err(|error| anyhow::anyhow!("cannot write {}: {error}", printable_path(file)))?;
                self.updated = Some(file.display().to_string());
            }
            (None, Expected::File(file)) => {
                let file = printable_path(file);
                self.fail(format_args!("result: there is no {file}; `vestibule test --update` writes it"));
            }
            (wanted, _) => {
                let wanted = render::yaml(&wanted.unwrap_or_default().to_string())?;
                let palette = colour::When::Never.palette();
                let hunks = diff::unified(&wanted, &render::yaml(&found.to_string())?, palette);
                self.failures.push(format!("result: expected (-), found (+)\n{}", hunks.trim_end()));
            }
        }
        Ok(())
    }

    fn fixpoint(&mut self, request: Request<'_>) -> anyhow::Result<()> {
        let second = request.evaluate(&self.case.object, &self.evaluation.after, RuleSet::evaluate)?;
        let operations = second.operations.iter().map(|operation| operation.path().to_string());
        let operations: Vec<String> = operations.collect();
        if let Some(denial) = second.denial() {
            self.fail(format_args!("evaluated again, it is denied: {denial}"));
        } else if !operations.is_empty() {
            self.fail(format_args!("evaluated again, it changes once more: {}", operations.join(", ")));
        }
        Ok(())
    }
}

/// The outcome of `rule`; of the outcomes for an object and its pod, the more specific one.
fn outcome<'e>(evaluation: &'e Evaluation<'_, Decision>, rule: &str) -> Option<&'e Outcome> {
    let verdicts = evaluation.steps.iter().flat_map(|step| &step.answer.verdicts);
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Denied { .. } => 4,
        Outcome::Applied => 3,
        Outcome::Unchanged => 2,
        Outcome::Skipped { reason: Reason::OtherResource, .. } => 0,
        _ => 1,
    };
    let own = verdicts.filter(|verdict| &*verdict.rule == rule).map(|verdict| &verdict.outcome);
    own.max_by_key(|outcome| rank(outcome))
}

/// The word for an outcome, and the sentence that goes with it.
fn words(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Applied => ("applied", None),
        Outcome::Skipped { reason, sentence } => (reason.as_str(), Some(sentence)),
        Outcome::Denied { message, .. } => ("denied", Some(message)),
        _ => ("unchanged", None),
    }
}

/// The changes and outcomes of the rules, line by line.
fn explanation_of(evaluation: &Evaluation<'_, Decision>) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for step in &evaluation.steps {
        for change in step.explained()? {
            lines.push(format!("{}  {}  {}", change.text, change.origin, change.place));
        }
        for verdict in &step.answer.verdicts {
            let (word, sentence) = words(&verdict.outcome);
            if let Some(sentence) = sentence.filter(|_| word != Reason::OtherResource.as_str()) {
                lines.push(format!(
                    "rule {}, {word}: {sentence}  {}:{}",
                    verdict.rule,
                    printable(&verdict.source),
                    verdict.line
                ));
            }
        }
    }
    Ok(lines)
}

fn read(file: &Path) -> anyhow::Result<Option<Value>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => anyhow::bail!("cannot read {}: {error}", printable_path(file)),
    };
    let documents = vestibule_rules::yaml::read(&file.display().to_string(), &text);
    match documents.as_deref() {
        Ok([document]) => Ok(Some(serde_json::from_str(&document.to_kubectl_json())?)),
        _ => anyhow::bail!("{} is not one document", printable_path(file)),
    }
}

/// Removes the status annotation. It holds the hash of all rules, so every change of a rule would change every result.
fn without_status(json: &str) -> anyhow::Result<String> {
    let document = Document::parse(json)?;
    let annotations = document.at(&"/metadata/annotations".parse()?);
    let Some(annotations) = annotations.filter(|annotations| annotations.get(STATUS_ANNOTATION).is_some())
    else {
        return Ok(json.to_owned());
    };
    let path = match annotations.entries().len() {
        1 => "/metadata/annotations".to_owned(),
        _ => format!("/metadata/annotations/{}", STATUS_ANNOTATION.replace('/', "~1")),
    };
    workload::applied(&[Operation::Remove { path: path.parse()? }], json)
}
