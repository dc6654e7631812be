//! The JSON format of log lines. It writes each field straight into the line: a call logs one line, so its cost counts.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::terminal_escape::is_control;

/// One JSON object for each event: time, level, fields, target, and the spans around it.
pub(super) struct JsonLine;

/// The fields of a span as members of a JSON object, without its braces.
pub(super) struct JsonMembers;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        write!(line, r#"{{"timestamp":"{:.6}","level":"{}""#, Timestamp::now(), metadata.level())?;
        let mut members = Members { line: &mut line, is_first: false, result: Ok(()) };
        event.record(&mut members);
        members.result?;
        line.write_str(r#","target":"#)?;
        string(&mut line, metadata.target())?;
        if let Some(scope) = context.event_scope() {
            let mut separator = r#","spans":["#;
            if let Some(innermost) = context.lookup_current() {
                line.write_str(r#","span":"#)?;
                span::<S, N>(&mut line, &innermost)?;
            }
            for outer in scope.from_root() {
                line.write_str(std::mem::replace(&mut separator, ","))?;
                span::<S, N>(&mut line, &outer)?;
            }
            line.write_char(']')?;
        }
        line.write_str("}\n")
    }
}

impl<'w> FormatFields<'w> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut members = Members { line: &mut writer, is_first: true, result: Ok(()) };
        fields.record(&mut members);
        members.result
    }

    fn add_fields(
        &self,
        current: &'w mut FormattedFields<Self>,
        fields: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        let is_first = current.fields.is_empty();
        let mut writer = current.as_writer();
        let mut members = Members { line: &mut writer, is_first, result: Ok(()) };
        fields.record(&mut members);
        members.result
    }
}

fn span<S, N>(line: &mut Writer<'_>, span: &SpanRef<'_, S>) -> fmt::Result
where
    S: for<'s> LookupSpan<'s>,
    N: 'static,
{
    line.write_char('{')?;
    if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
        line.write_str(fields)?;
        line.write_char(',')?;
    }
    line.write_str(r#""name":"#)?;
    string(line, span.name())?;
    line.write_char('}')
}

/// Writes fields as members of an object.
struct Members<'w, W> {
    line: &'w mut W,
    /// Whether no comma goes before the next member.
    is_first: bool,
    result: fmt::Result,
}

impl<W: fmt::Write> Members<'_, W> {
    fn member(&mut self, field: &Field, value: impl FnOnce(&mut W) -> fmt::Result) {
        let write = || {
            if !std::mem::take(&mut self.is_first) {
                self.line.write_char(',')?;
            }
            // `r#type` is the field `type`.
            string(self.line, field.name().trim_start_matches("r#"))?;
            self.line.write_char(':')?;
            value(self.line)
        };
        if self.result.is_ok() {
            self.result = write();
        }
    }
}

impl<W: fmt::Write> Visit for Members<'_, W> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.member(field, |line| {
            line.write_char('"')?;
            write!(Escaped(line), "{value:?}")?;
            line.write_char('"')
        });
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.member(field, |line| string(line, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no infinity and no NaN.
        self.member(field, |line| {
            if value.is_finite() { write!(line, "{value:?}") } else { line.write_str("null") }
        });
    }
}

/// A JSON string, with its quotes.
fn string(line: &mut impl fmt::Write, text: &str) -> fmt::Result {
    line.write_char('"')?;
    Escaped(line).write_str(text)?;
    line.write_char('"')
}

/// The inside of a JSON string. Beside the characters that JSON escapes, it escapes all other control characters.
struct Escaped<'w, W>(&'w mut W);

impl<W: fmt::Write> fmt::Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Most texts need no escape.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|character| match character {
            '"' | '\\' => write!(self.0, "\\{character}"),
            '\n' => self.0.write_str("\\n"),
            '\r' => self.0.write_str("\\r"),
            '\t' => self.0.write_str("\\t"),
            // All of them are in the first plane: one escape is enough.
            _ if is_control(character) => write!(self.0, "\\u{:04x}", u32::from(character)),
            _ => self.0.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_the_same_after_it_was_parsed_and_moves_no_cursor() {
        for text in ["", "plain", "a \"b\" \\c", "é\u{2028}\u{202e}\u{9b}\u{7f}\u{1b}[2J", "\0\n\r\t\u{1f}𝄞"]
        {
            let mut line = String::new();
            string(&mut line, text).unwrap();
            assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text, "{line}");
            assert!(!line.chars().any(is_control), "{line:?}");
        }
    }
}
