//! What `try` prints.

use std::fmt::Write as _;

use vestibule_command::colour::{Palette, Style};
use vestibule_command::diff;

use super::Format;
use super::recorder::Because;
use super::run::{Pass, Trial};
use crate::{Failure, print, render, say};

pub(super) struct Report<'t> {
    pub(super) trials: &'t [Trial<'t>],
    /// Whether nobody is called because the rules say so.
    pub(super) is_off: bool,
    pub(super) palette: Palette,
}

impl Report<'_> {
    /// Data on stdout; warnings and refusals on stderr, as kubectl prints them.
    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        for trial in self.trials {
            let whose = self.whose(trial);
            trial.first.warnings.iter().for_each(|warning| say(format_args!("{whose}Warning: {warning}")));
            if let Some(refusal) = &trial.first.refusal {
                let reason = if refusal.reason.is_empty() { "Unknown" } else { &refusal.reason };
                say(format_args!("{whose}Error from server ({reason}): {}", refusal.message));
            }
        }
        let admitted: Vec<_> = self.trials.iter().filter_map(Trial::admitted).collect();
        let several = self.trials.len() > 1;
        let data = match format {
            Format::Diff => self.diff(),
            Format::Patch => render::patch_of(&admitted, several),
            Format::Yaml => render::yaml_of(&admitted),
            Format::Json => Ok(render::json_of(&admitted, several)),
        };
        Ok(print(&data?)?)
    }

    /// Which of several objects a line on stderr is about.
    fn whose(&self, trial: &Trial<'_>) -> String {
        match self.trials {
            [_] => String::new(),
            _ => format!("{} ({}): ", trial.object.title(trial.namespace), trial.object.place()),
        }
    }

    fn diff(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        for (index, trial) in self.trials.iter().enumerate() {
            text.push_str(if index > 0 { "\n" } else { "" });
            let title = self.palette.paint(Style::Heading, trial.object.title(trial.namespace));
            writeln!(text, "{title}  {}", self.palette.paint(Style::Faint, trial.object.place()))?;
            self.hunks(&mut text, trial)?;
            self.why(&mut text, &trial.first)?;
            writeln!(text, "{}", self.ending(trial))?;
        }
        Ok(text)
    }

    fn hunks(&self, text: &mut String, trial: &Trial<'_>) -> anyhow::Result<()> {
        if trial.first.refusal.is_some() {
            return Ok(());
        }
        let (before, after) = (render::yaml(&trial.object.json)?, render::yaml(&trial.first.after)?);
        text.push_str(&diff::unified(&before, &after, self.palette));
        Ok(())
    }

    fn why(&self, text: &mut String, pass: &Pass) -> anyhow::Result<()> {
        let what = pass.reasons.iter().map(|why| why.what.chars().count()).max().unwrap_or_default();
        let whos = pass.reasons.iter().map(|why| why.who.chars().count());
        let whos = whos.max().unwrap_or_default();
        if !pass.reasons.is_empty() {
            writeln!(text, "{}", self.palette.paint(Style::Heading, "why"))?;
        }
        for why in &pass.reasons {
            let place = self.palette.paint(Style::Faint, &why.place);
            writeln!(text, "{}", format!("  {:what$}  {:whos$}  {place}", why.what, why.who).trim_end())?;
        }
        if !pass.idle.is_empty() {
            let heading = if pass.reasons.is_empty() { "why not" } else { "the other rules" };
            writeln!(text, "{}", self.palette.paint(Style::Heading, heading))?;
        }
        for idle in &pass.idle {
            let why = match &idle.because {
                Because::Skipped { reason, sentence } => format!("{reason}: {sentence}"),
                Because::Denied => "denied: it refuses the object".to_owned(),
                Because::NothingToDo => "unchanged: everything it asks for is there".to_owned(),
            };
            writeln!(text, "  {}, {why}  {}", idle.rule, self.palette.paint(Style::Faint, &idle.place))?;
        }
        Ok(())
    }

    fn ending(&self, trial: &Trial<'_>) -> String {
        match &trial.second {
            Some(second) if second.operations.is_empty() && second.refusal.is_none() => {
                match trial.first.operations.is_empty() {
                    true => "no change".to_owned(),
                    false => "second pass: no change".to_owned(),
                }
            }
            Some(second) => {
                format!("second pass: {} more operations; please report it", second.operations.len())
            }
            None if trial.first.refusal.is_some() => "refused".to_owned(),
            None if self.is_off => "no change: nobody is called".to_owned(),
            None => "no rule is for objects of this kind".to_owned(),
        }
    }
}
