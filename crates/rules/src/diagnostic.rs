//! Findings about a document: errors, warnings and hints, each with its location.

pub mod code;
mod export;
mod field;

use std::fmt;
use std::sync::Arc;

use strum::IntoStaticStr;

use crate::well_known::CustomResource;
pub(crate) use code::*;
pub use code::{CODES, Code};
pub use export::{json, sarif};

/// A location in a source text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, IntoStaticStr, PartialEq, Eq)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// The documents cannot be used.
    Error,
    /// The documents can be used, but probably do not do what their author meant.
    Warning,
    /// The documents do what their author meant, and can be improved.
    Hint,
}

impl Severity {
    /// The word in messages: `error`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One finding in one source text.
///
/// `Display` prints it as a compiler would, with the source line. [`Diagnostic::headline`] is the form for logs,
/// which must not contain the author's values. `Debug` prints the headline only.
#[derive(Clone)]
pub struct Diagnostic {
    severity: Severity,
    code: &'static Code,
    message: String,
    source: Arc<Source>,
    position: Position,
    help: Option<String>,
}

impl Diagnostic {
    /// The severity: only an error keeps the documents from being used.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The kind of finding.
    pub fn code(&self) -> &'static Code {
        self.code
    }

    /// The description of the problem.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The name of the source: a path, or the ConfigMap and its key.
    pub fn source(&self) -> &str {
        &self.source.name
    }

    /// The location in the source. The text of an object is JSON on one line; see [`field`](Self::field).
    pub fn position(&self) -> Position {
        self.position
    }

    /// A proposed solution.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The line of the source that it is about.
    pub(crate) fn line(&self) -> &str {
        self.source.line(self.position.line)
    }

    /// `rules.yaml:14:9: error[VST0121]: ...`, without the source line; for an object
    /// `Injection nginx, spec.volumes[0]: error[VST0121]: ...`.
    pub fn headline(&self) -> String {
        format!("{}: {}[{}]: {}", self.place(), self.severity.as_str(), self.code.id, self.message)
    }

    /// The path of the field of an object that it is about, and the field's text: `spec.volumes[0].name`, `data`. Both are empty for
    /// other sources.
    pub fn field(&self) -> (String, Option<String>) {
        field::field_at(self.line(), self.position.column)
    }

    fn place(&self) -> String {
        let source = printable(self.source());
        match CustomResource::is_source(&source) {
            true => format!("{source}, {}", printable(&self.field().0)),
            false => format!("{source}:{}", self.position),
        }
    }

    /// The finding with a proposed solution; an empty text is none.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into())).filter(|help| !help.is_empty());
        self
    }

    pub(crate) fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// A finding at the same location that says that further findings are not shown.
    pub(crate) fn and_more_hidden(&self) -> Diagnostic {
        let message = "findings from here on are not shown: there are too many";
        self.source.finding(&TOO_MANY_FINDINGS, self.position, message).with_severity(self.severity)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}[{}]: {}", self.severity.as_str(), self.code.id, self.message)?;
        if CustomResource::is_source(self.source()) {
            write!(formatter, "  --> {}", self.place())?;
            if let Some(text) = self.field().1 {
                write!(formatter, ": {}", printable_short(&text))?;
            }
            return match &self.help {
                Some(help) => write!(formatter, "\n      help: {help}"),
                None => Ok(()),
            };
        }
        let Position { line, column } = self.position;
        let (snippet, indent) = snippet_around(self.line(), column);
        let gutter = line.to_string().len();
        writeln!(formatter, "{:gutter$} --> {}", "", self.place())?;
        writeln!(formatter, " {line} | {snippet}")?;
        write!(formatter, " {:gutter$} | {:indent$}^", "", "")?;
        match &self.help {
            Some(help) => write!(formatter, " help: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.headline())
    }
}

/// At most this many findings are reported: a hostile text can have a hundred thousand, and each needs its line
/// looked up.
pub(crate) const MAX_FINDINGS: usize = 200;

/// A named source text, kept for the lines that diagnostics show.
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) text: String,
    /// The number of lines of the source before this text.
    pub(crate) lines_before: usize,
}

impl Source {
    pub(crate) fn finding(
        self: &Arc<Self>,
        code: &'static Code,
        position: Position,
        message: impl Into<String>,
    ) -> Diagnostic {
        let (severity, message, source) = (code.severity, printable(&message.into()), Arc::clone(self));
        Diagnostic { severity, code, message, source, position, help: None }
    }

    /// The location of the first word of a line.
    pub(crate) fn start_of(&self, line: usize) -> Position {
        let text = self.line(line);
        let indent = text.chars().take_while(|character| character.is_whitespace()).count();
        Position { line, column: indent + 1 }
    }

    /// Called only for findings that are printed, because it walks through the text.
    pub(crate) fn line(&self, number: usize) -> &str {
        let index = number.saturating_sub(self.lines_before + 1);
        self.text.lines().nth(index).unwrap_or_default()
    }
}

/// `text` from a document or an object, made safe for one line of output: control characters, which could move a
/// terminal's cursor or forge a log line, become spaces.
///
/// ```
/// assert_eq!(vestibule_rules::diagnostic::printable("we\u{1b}[31mb\n"), "we [31mb ");
/// ```
pub fn printable(text: &str) -> String {
    text.chars().map(printable_character).collect()
}

/// A place in a source, for messages: `rules.yaml:14`. An object has no lines, so it is named alone: `Injection nginx`.
pub fn place(source: &str, line: usize) -> String {
    let name = printable(source);
    if CustomResource::is_source(source) { name } else { format!("{name}:{line}") }
}

/// [`place`] with the column.
pub(crate) fn position_in(source: &str, at: Position) -> String {
    if CustomResource::is_source(source) {
        place(source, at.line)
    } else {
        format!("{}:{at}", printable(source))
    }
}

/// Like [`printable`], cut to 63 characters.
pub(crate) fn printable_short(text: &str) -> String {
    text.chars().map(printable_character).take(63).collect()
}

fn printable_character(character: char) -> char {
    let turns_text_around = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
    if character.is_control() || turns_text_around || ends_line { ' ' } else { character }
}

/// The part of a line around the column, and the column within it. A line of JSON may be a megabyte long.
fn snippet_around(line: &str, column: usize) -> (String, usize) {
    const WIDTH: usize = 100;
    let at = column.saturating_sub(1);
    let from = if at < WIDTH { 0 } else { at - WIDTH / 2 };
    let shown = line.chars().skip(from).take(WIDTH).map(printable_character).collect();
    (shown, at - from)
}
