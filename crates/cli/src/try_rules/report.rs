//! The output of `try`.

use vestibule_command::colour::{Palette, Style};
use vestibule_command::diff;
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Outcome, Reason, Verdict};

use super::Format;
use super::loopback::{Admission, Refusal};
use super::run::TryResult;
use crate::evaluation::{Evaluation, Step};
use crate::{Failure, print, render, say};

pub(super) struct Report<'t> {
    pub(super) results: &'t [TryResult<'t>],
    /// Whether the rules say `mode: off`, so that no hook is called.
    pub(super) is_off: bool,
    pub(super) palette: Palette,
}

impl Report<'_> {
    /// Data on stdout; warnings and refusals on stderr, as kubectl prints them.
    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        let several = self.results.len() > 1;
        for TryResult { first, .. } in self.results {
            let prefix = if several { first.line_prefix() } else { String::new() };
            let warnings = first.steps.iter().flat_map(|step| &step.answer.warnings);
            warnings.for_each(|warning| say(format_args!("{prefix}Warning: {warning}")));
            if let Some(refusal) = refusal(first) {
                let reason = if refusal.reason.is_empty() { "Unknown" } else { &refusal.reason };
                say(format_args!("{prefix}Error from server ({reason}): {}", refusal.message));
            }
        }
        let admitted = self.results.iter().map(|result| &result.first).filter(|first| !first.is_denied());
        let admitted: Vec<_> = admitted.collect();
        let data = match format {
            Format::Diff => self.diff(),
            Format::Patch => render::patch_of(&admitted, several),
            Format::Yaml => render::yaml_of(&admitted),
            Format::Json => Ok(render::json_of(&admitted, several)),
        };
        Ok(print(&data?)?)
    }

    fn diff(&self) -> anyhow::Result<String> {
        let texts = self.results.iter().map(|result| {
            let Evaluation { object, namespace, after, .. } = &result.first;
            let title = self.palette.paint(Style::Heading, object.title(namespace));
            let mut text = format!("{title}  {}\n", self.palette.paint(Style::Faint, object.place()));
            if !result.first.is_denied() {
                let (before, after) = (render::yaml(&object.json)?, render::yaml(after)?);
                text.push_str(&diff::unified(&before, &after, self.palette));
            }
            text.extend(self.reasons(&result.first)?.iter().map(|line| format!("{line}\n")));
            Ok(format!("{text}{}\n", self.ending(result)))
        });
        Ok(texts.collect::<anyhow::Result<Vec<_>>>()?.join("\n"))
    }

    /// Why rules changed something, and why the others did not, line by line.
    fn reasons(&self, pass: &Evaluation<'_, Admission>) -> anyhow::Result<Vec<String>> {
        let changes = pass.steps.iter().map(Step::explained).collect::<anyhow::Result<Vec<_>>>()?.concat();
        let texts = changes.iter().map(|change| change.text.chars().count()).max().unwrap_or_default();
        let origins = changes.iter().map(|change| change.origin.chars().count()).max().unwrap_or_default();
        let (unchanged, mut lines) = (unchanged(pass), Vec::new());
        let heading = |words: &str| self.palette.paint(Style::Heading, words);
        lines.extend((!changes.is_empty()).then(|| heading("why")));
        lines.extend(changes.iter().map(|change| {
            let place = self.palette.paint(Style::Faint, &change.place);
            format!("  {:texts$}  {:origins$}  {place}", change.text, change.origin).trim_end().to_owned()
        }));
        let others = if changes.is_empty() { "why not" } else { "the other rules" };
        lines.extend((!unchanged.is_empty()).then(|| heading(others)));
        lines.extend(unchanged.iter().map(|(verdict, why)| {
            let place = format_args!("{}:{}", printable(&verdict.source), verdict.line);
            format!("  {}, {why}  {}", verdict.rule, self.palette.paint(Style::Faint, place))
        }));
        Ok(lines)
    }

    fn ending(&self, TryResult { first, second }: &TryResult<'_>) -> String {
        match second {
            Some(second) if second.operations.is_empty() && !second.is_denied() => {
                match first.operations.is_empty() {
                    true => "no change".to_owned(),
                    false => "second pass: no change".to_owned(),
                }
            }
            Some(second) => {
                format!("second pass: {} more operations; please report it", second.operations.len())
            }
            None if first.is_denied() => "refused".to_owned(),
            None if self.is_off => "no change: no hook is called".to_owned(),
            None => first.lack_of_pod().unwrap_or_else(|| "no rule is for objects of this kind".to_owned()),
        }
    }
}

fn refusal<'e>(pass: &'e Evaluation<'_, Admission>) -> Option<&'e Refusal> {
    pass.steps.iter().find_map(|step| step.answer.refusal.as_ref())
}

/// The rules that changed nothing, and why, without repetitions: every hook evaluates all rules, so a rule that one hook
/// applied is unchanged for the next, and a skipped rule is skipped each time. A rule for another resource is shown only if it
/// has no other outcome.
fn unchanged<'e>(pass: &'e Evaluation<'_, Admission>) -> Vec<(&'e Verdict, String)> {
    let is_other_resource =
        |verdict: &Verdict| matches!(verdict.outcome, Outcome::Skipped { reason: Reason::OtherResource, .. });
    let changes: Vec<_> = pass.steps.iter().flat_map(|step| &step.answer.changes).collect();
    let verdicts: Vec<_> = pass.steps.iter().flat_map(|step| &step.answer.unchanged).collect();
    let is_applied = |rule: &str| changes.iter().any(|change| &*change.origin.rule == rule);
    let has_other =
        |rule: &str| verdicts.iter().any(|verdict| &*verdict.rule == rule && !is_other_resource(verdict));
    let mut shown: Vec<(&Verdict, String)> = Vec::new();
    for verdict in &verdicts {
        let rule = &*verdict.rule;
        let why = match &verdict.outcome {
            _ if is_other_resource(verdict) && (is_applied(rule) || has_other(rule)) => continue,
            // The rule made its own condition false.
            Outcome::Skipped { reason: Reason::MatchConditionFalse, .. } if is_applied(rule) => continue,
            Outcome::Skipped { reason, sentence } => format!("{reason}: {sentence}"),
            Outcome::Denied { .. } => "denied: it refuses the object".to_owned(),
            _ if is_applied(rule) => continue,
            _ => "unchanged: everything it asks for is there".to_owned(),
        };
        let is_same = |(other, text): &(&Verdict, String)| {
            &*other.rule == rule && (*text == why || is_other_resource(other))
        };
        if !shown.iter().any(is_same) {
            shown.push((verdict, why));
        }
    }
    shown
}
