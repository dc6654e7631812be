//! An explanation for people, in 100 columns.

use std::fmt;

use vestibule_command::colour::{Palette, Style};
use vestibule_rules::diagnostic;
use vestibule_rules::{ClauseExplanation, CustomResource, Effect, Gate, GateResult, RuleExplanation};
use vestibule_rules::{Explanation, Outcome, Reason};

use crate::changes::ExplainedChange;
use crate::evaluation::{Evaluation, Step};
use crate::workload::ephemeral_containers;

const WIDTH: usize = 100;
const NO_BREAK: &str = "\u{a0}";
/// The width of the name column; sentences start after the answer, the name and the line.
const NAME: usize = 30;

/// The explanations of `evaluations`, one after the other.
pub(super) fn text(evaluations: &[Evaluation<'_, Explanation>], palette: Palette) -> anyhow::Result<String> {
    let mut listing = Listing { palette, text: String::new(), has_lines: true };
    for (index, evaluation) in evaluations.iter().enumerate() {
        listing.text.push_str(if index > 0 { "\n" } else { "" });
        listing.object(evaluation)?;
    }
    Ok(listing.text)
}

struct Listing {
    palette: Palette,
    text: String,
    /// Whether the rule is in a text with lines. An object has none.
    has_lines: bool,
}

impl Listing {
    fn object(&mut self, evaluation: &Evaluation<'_, Explanation>) -> anyhow::Result<()> {
        let title = evaluation.object.title(evaluation.namespace);
        let painted = self.palette.paint(Style::Heading, &title);
        self.aligned(&painted, title.chars().count(), &evaluation.object.place());
        let rules = shown_rules(evaluation);
        if rules.is_empty() {
            self.push(format_args!("\nno rule is for objects of this kind"));
        }
        let workload = evaluation.steps.iter().any(|step| !step.submitted.prefix.is_empty());
        for (step, rule) in rules {
            self.text.push('\n');
            let subject = match step.submitted.prefix {
                "" if workload => " of the object itself",
                _ => "",
            };
            self.rule(step, rule, subject)?;
        }
        if let Some(lack) = evaluation.lack_of_pod() {
            self.push(format_args!("\n{lack}"));
        }
        for warning in evaluation.warnings() {
            self.push(format_args!("\nWarning: {warning}"));
        }
        for name in ephemeral_containers(&evaluation.object.json) {
            let name = diagnostic::printable(&name);
            self.push(format_args!("\nephemeral container {name}: left alone, as rules change none"));
        }
        Ok(())
    }

    fn rule(
        &mut self,
        step: &Step<Explanation>,
        rule: &RuleExplanation,
        subject: &str,
    ) -> anyhow::Result<()> {
        let (style, outcome) = match &rule.outcome {
            Outcome::Applied => (Style::Added, format!("applied{subject}")),
            Outcome::Skipped { reason, .. } => (Style::Removed, format!("left out: {reason}")),
            Outcome::Denied { .. } => (Style::Removed, "denied".to_owned()),
            _ => (Style::Added, "unchanged: everything it asks for is there".to_owned()),
        };
        let presumed = if rule.is_presumed() { ", presumably" } else { "" };
        let outcome = outcome + presumed;
        let title = format!(
            "rule {}  {}",
            self.palette.paint(Style::Heading, &rule.rule),
            self.palette.paint(style, &outcome)
        );
        let plain = format!("rule {}  {outcome}", rule.rule).chars().count();
        let place = diagnostic::place(&rule.source, rule.line);
        self.aligned(&title, plain, &place);
        self.has_lines = !CustomResource::is_source(&rule.source);
        self.gates(&rule.gates);
        self.clauses(&rule.clauses, &step.explained()?);
        let is_explained = rule.gates.iter().any(|gate| gate.result == GateResult::Failed)
            || rule.clauses.iter().any(|clause| clause.effect == Effect::Failed);
        if let (Outcome::Denied { message, .. }, false) = (&rule.outcome, is_explained) {
            self.line("", Style::Removed, "", None, message);
        }
        Ok(())
    }

    fn gates(&mut self, gates: &[Gate]) {
        let idle = |gate: &Gate| gate.result == GateResult::NotReached;
        for run in gates.chunk_by(|one, other| idle(one) && idle(other) && one.sentence == other.sentence) {
            let Some(gate) = run.first() else { continue };
            let (answer, style) = match gate.result {
                _ if gate.presumed => ("?", Style::Place),
                GateResult::Passed => ("true", Style::Added),
                GateResult::Failed => ("false", Style::Removed),
                GateResult::NotReached if run.len() > 1 => {
                    self.idle(run.iter().map(|gate| &*gate.name), &gate.sentence);
                    continue;
                }
                GateResult::NotReached => ("-", Style::Faint),
            };
            self.line(answer, style, &gate.name, gate.line, &gate.sentence);
        }
    }

    fn clauses(&mut self, clauses: &[ClauseExplanation], changes: &[ExplainedChange]) {
        let idle = |clause: &ClauseExplanation| clause.effect == Effect::NotReached;
        for run in clauses.chunk_by(|one, other| idle(one) && idle(other)) {
            match run {
                [clause] => self.clause(clause, changes),
                run => {
                    let sentence = run.first().map_or("", |clause| &*clause.sentence);
                    self.idle(run.iter().map(|clause| &*clause.text), sentence);
                }
            }
        }
    }

    /// Checks and parts that were not reached share a line.
    fn idle<'n>(&mut self, names: impl Iterator<Item = &'n str>, sentence: &str) {
        let words = format!("{}: {sentence}", names.collect::<Vec<_>>().join(", "));
        for (index, line) in wrapped(&words, WIDTH - 9).iter().enumerate() {
            let sign = if index == 0 { "-" } else { "" };
            self.push(self.palette.paint(Style::Faint, format_args!("  {sign:5}  {line}")));
        }
    }

    fn clause(&mut self, clause: &ClauseExplanation, changes: &[ExplainedChange]) {
        let (answer, style) = match clause.effect {
            Effect::Added => ("added", Style::Added),
            Effect::Removed => ("gone", Style::Removed),
            Effect::Failed => ("false", Style::Removed),
            Effect::There => ("there", Style::Place),
            Effect::Kept => ("kept", Style::Place),
            Effect::NotNeeded => ("idle", Style::Faint),
            _ => ("-", Style::Faint),
        };
        let made = clause.changes.iter().filter_map(|index| changes.get(*index));
        // The sign and its place stay on one line.
        let made: Vec<String> = made.map(|change| change.text.replacen(' ', NO_BREAK, 1)).collect();
        match made.as_slice() {
            [] => self.line(answer, style, &clause.text, Some(clause.line), &clause.sentence),
            made => made.iter().enumerate().for_each(|(index, what)| match index {
                0 => self.line(answer, style, &clause.text, Some(clause.line), what),
                _ => self.line("", style, "", None, what),
            }),
        }
    }

    /// `  false  opt.8                   11  the object does not ask for the rule`
    fn line(&mut self, answer: &str, style: Style, name: &str, line: Option<usize>, sentence: &str) {
        let number = line.filter(|_| self.has_lines).map(|line| line.to_string()).unwrap_or_default();
        let room = WIDTH - NAME - 16;
        let lines = wrapped(sentence, room);
        let name =
            if name.chars().count() > NAME { format!("{name}\n{:33}", "") } else { format!("{name:NAME$}") };
        let head = lines.first().map_or("", String::as_str);
        let answer = self.palette.paint(style, format_args!("{answer:5}"));
        let number = self.palette.paint(Style::Faint, format_args!("{number:>4}"));
        self.push(format!("  {answer}  {name} {number}  {head}").trim_end());
        for rest in lines.iter().skip(1) {
            self.push(format_args!("{:1$}{rest}", "", WIDTH - room));
        }
    }

    fn push(&mut self, line: impl fmt::Display) {
        self.text.push_str(&format!("{line}\n"));
    }

    /// A line with coloured text of `plain` characters at the left, and a place at the right.
    fn aligned(&mut self, painted: &str, plain: usize, place: &str) {
        let gap = WIDTH.saturating_sub(plain + place.chars().count()).max(2);
        self.push(format_args!("{painted}{:gap$}{}", "", self.palette.paint(Style::Faint, place)));
    }
}

/// The explanations to show: one for each rule and evaluated object. That a rule is for another resource is shown only if the
/// rule has no other explanation.
fn shown_rules<'e>(
    evaluation: &'e Evaluation<'_, Explanation>,
) -> Vec<(&'e Step<Explanation>, &'e RuleExplanation)> {
    let steps = evaluation.steps.iter();
    let all: Vec<_> = steps.flat_map(|step| step.answer.rules.iter().map(move |rule| (step, rule))).collect();
    let is_other_resource = |rule: &RuleExplanation| {
        matches!(rule.outcome, Outcome::Skipped { reason: Reason::OtherResource, .. })
    };
    let has_other = |name: &str| all.iter().any(|(_, rule)| &*rule.rule == name && !is_other_resource(rule));
    let mut shown: Vec<(&Step<Explanation>, &RuleExplanation)> = Vec::new();
    for (step, rule) in &all {
        let is_shown = shown.iter().any(|(_, before)| before.rule == rule.rule);
        let is_redundant =
            is_other_resource(rule) && (has_other(&rule.rule) || is_shown || evaluation.is_denied());
        if !is_redundant {
            shown.push((step, rule));
        }
    }
    shown
}

/// Lines of at most `room` characters; a longer word has a line of its own.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let word = &word.replace(NO_BREAK, " ");
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}
