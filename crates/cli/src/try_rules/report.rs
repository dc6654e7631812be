//! The output of `try`.

use std::fmt::Write as _;

use vestibule_command::colour::{Palette, Style};
use vestibule_command::diff;

use super::Format;
use super::recorder::UnchangedReason;
use super::run::{Pass, TryResult};
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
        for result in self.results {
            let prefix = self.prefix(result);
            result.first.warnings.iter().for_each(|warning| say(format_args!("{prefix}Warning: {warning}")));
            if let Some(refusal) = &result.first.refusal {
                let reason = if refusal.reason.is_empty() { "Unknown" } else { &refusal.reason };
                say(format_args!("{prefix}Error from server ({reason}): {}", refusal.message));
            }
        }
        let admitted: Vec<_> = self.results.iter().filter_map(TryResult::admitted).collect();
        let several = self.results.len() > 1;
        let data = match format {
            Format::Diff => self.diff(),
            Format::Patch => render::patch_of(&admitted, several),
            Format::Yaml => render::yaml_of(&admitted),
            Format::Json => Ok(render::json_of(&admitted, several)),
        };
        Ok(print(&data?)?)
    }

    /// The object as the start of a line on stderr, if there are several.
    fn prefix(&self, result: &TryResult<'_>) -> String {
        match self.results {
            [_] => String::new(),
            _ => format!("{} ({}): ", result.object.title(result.namespace), result.object.place()),
        }
    }

    fn diff(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        for (index, result) in self.results.iter().enumerate() {
            text.push_str(if index > 0 { "\n" } else { "" });
            let title = self.palette.paint(Style::Heading, result.object.title(result.namespace));
            writeln!(text, "{title}  {}", self.palette.paint(Style::Faint, result.object.place()))?;
            self.hunks(&mut text, result)?;
            self.reasons(&mut text, &result.first)?;
            writeln!(text, "{}", self.ending(result))?;
        }
        Ok(text)
    }

    fn hunks(&self, text: &mut String, result: &TryResult<'_>) -> anyhow::Result<()> {
        if result.first.refusal.is_some() {
            return Ok(());
        }
        let (before, after) = (render::yaml(&result.object.json)?, render::yaml(&result.first.after)?);
        text.push_str(&diff::unified(&before, &after, self.palette));
        Ok(())
    }

    fn reasons(&self, text: &mut String, pass: &Pass) -> anyhow::Result<()> {
        let texts = pass.reasons.iter().map(|change| change.text.chars().count()).max().unwrap_or_default();
        let origins = pass.reasons.iter().map(|change| change.origin.chars().count());
        let origins = origins.max().unwrap_or_default();
        if !pass.reasons.is_empty() {
            writeln!(text, "{}", self.palette.paint(Style::Heading, "why"))?;
        }
        for change in &pass.reasons {
            let place = self.palette.paint(Style::Faint, &change.place);
            writeln!(
                text,
                "{}",
                format!("  {:texts$}  {:origins$}  {place}", change.text, change.origin).trim_end()
            )?;
        }
        if !pass.unchanged.is_empty() {
            let heading = if pass.reasons.is_empty() { "why not" } else { "the other rules" };
            writeln!(text, "{}", self.palette.paint(Style::Heading, heading))?;
        }
        for unchanged in &pass.unchanged {
            let why = match &unchanged.reason {
                UnchangedReason::Skipped { reason, sentence } => format!("{reason}: {sentence}"),
                UnchangedReason::Denied => "denied: it refuses the object".to_owned(),
                UnchangedReason::NothingToDo => "unchanged: everything it asks for is there".to_owned(),
            };
            writeln!(
                text,
                "  {}, {why}  {}",
                unchanged.rule,
                self.palette.paint(Style::Faint, &unchanged.place)
            )?;
        }
        Ok(())
    }

    fn ending(&self, result: &TryResult<'_>) -> String {
        match &result.second {
            Some(second) if second.operations.is_empty() && second.refusal.is_none() => {
                match result.first.operations.is_empty() {
                    true => "no change".to_owned(),
                    false => "second pass: no change".to_owned(),
                }
            }
            Some(second) => {
                format!("second pass: {} more operations; please report it", second.operations.len())
            }
            None if result.first.refusal.is_some() => "refused".to_owned(),
            None if self.is_off => "no change: no hook is called".to_owned(),
            None => "no rule is for objects of this kind".to_owned(),
        }
    }
}
