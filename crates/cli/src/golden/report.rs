//! The output of `test`.

use serde_json::{Value, json};
use vestibule_command::colour::{Palette, Style};
use vestibule_rules::diagnostic::printable;

use super::check::Checked;
use crate::render::counted;

pub(super) struct Report<'r> {
    pub(super) outcomes: &'r [Checked],
    pub(super) palette: Palette,
}

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let (mut lines, mut file) = (Vec::new(), "");
        for checked in self.outcomes {
            if file != checked.file {
                file = &checked.file;
                lines.push(self.palette.paint(Style::Heading, printable(file)));
            }
            self.case(&mut lines, checked);
        }
        let failed = self.outcomes.iter().filter(|checked| !checked.failures.is_empty()).count();
        let cases = counted(self.outcomes.len(), "case");
        lines.push(match failed {
            0 => format!("{cases}: all as expected"),
            failed => format!("{cases}: {failed} not as expected"),
        });
        lines.join("\n") + "\n"
    }

    pub(super) fn json(&self) -> Value {
        let cases = self.outcomes.iter().map(|checked| {
            json!({
                "file": checked.file, "line": checked.line, "name": checked.name,
                "ok": checked.failures.is_empty(), "failures": checked.failures, "explanation": checked.explanation,
            })
        });
        cases.collect()
    }

    fn case(&self, lines: &mut Vec<String>, checked: &Checked) {
        let (sign, style) = match (checked.failures.is_empty(), &checked.updated) {
            (true, None) => ("ok     ", Style::Added),
            (true, Some(_)) => ("written", Style::Place),
            (false, _) => ("FAILED ", Style::Removed),
        };
        let place =
            self.palette.paint(Style::Faint, format_args!("{}:{}", printable(&checked.file), checked.line));
        let (sign, name) = (self.palette.paint(style, sign), printable(&checked.name));
        lines.push(format!("  {sign}  {name}  {place}"));
        lines.extend(checked.updated.iter().map(|file| format!("           {}", printable(file))));
        for failure in &checked.failures {
            for (index, line) in failure.lines().map(printable).enumerate() {
                let line = match line.get(..1) {
                    Some("+") if index > 0 => self.palette.paint(Style::Added, &line),
                    Some("-") if index > 0 => self.palette.paint(Style::Removed, &line),
                    Some("@") if index > 0 => self.palette.paint(Style::Place, &line),
                    _ => line,
                };
                lines.push(format!("           {line}"));
            }
        }
        if !checked.explanation.is_empty() {
            lines.push(format!("         {}", self.palette.paint(Style::Heading, "what the rules did")));
            lines.extend(checked.explanation.iter().map(|line| format!("           {line}")));
        }
    }
}
