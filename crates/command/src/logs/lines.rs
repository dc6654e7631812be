//! The formats of log lines. Control characters in a value are escaped, so that one event is one line.

use std::fmt::{self, Write as _};
use tracing::field::Field;
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{self as formats, MakeWriter};

use super::BoxedLayer;
use super::json::{JsonLine, JsonMembers};
use crate::terminal_escape::is_control;

/// For people.
pub(super) fn human(colour: bool, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) -> BoxedLayer {
    let fields = debug_fn(|writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug| {
        if field.name() != "message" {
            let (dim, plain) = if writer.has_ansi_escapes() { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
            write!(writer, "{dim}{}={plain}", field.name())?;
        }
        write!(Plain(writer), "{value:?}")
    });
    let fields = tracing_subscriber::field::MakeExt::delimited(fields, " ");
    formats::layer().fmt_fields(fields).with_target(false).with_ansi(colour).with_writer(writer).boxed()
}

/// For machines.
pub(super) fn json(writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) -> BoxedLayer {
    formats::layer().event_format(JsonLine).fmt_fields(JsonMembers).with_writer(writer).boxed()
}

/// Text with its control characters written out.
struct Plain<W>(W);

impl<W: fmt::Write> fmt::Write for Plain<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| match character {
            _ if is_control(character) => write!(self.0, "{}", character.escape_default()),
            _ => self.0.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    use super::*;

    const NASTY: &str = "a\u{1b}[31mb\u{9b}2Jc\nd\u{7f}e\u{202e}f\rg";

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'w> MakeWriter<'w> for Captured {
        type Writer = Self;

        fn make_writer(&'w self) -> Self {
            self.clone()
        }
    }

    fn written(layer: BoxedLayer, captured: &Captured) -> String {
        let _guard = tracing_subscriber::registry().with(layer).set_default();
        let span = tracing::info_span!("handle", hook = NASTY);
        let _entered = span.enter();
        let (small, big) = (0.5, u128::MAX);
        tracing::info!(name = NASTY, shown = %NASTY, debugged = ?NASTY, none = None::<&str>, small, big, "{NASTY}");
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
    }

    fn assert_one_line(text: &str) {
        assert_eq!(text.matches('\n').count(), 1, "{text:?}");
        let line = text.strip_suffix('\n').unwrap();
        assert!(!line.chars().any(is_control), "{line:?}");
    }

    #[test]
    fn text_logs_escape_control_characters() {
        let captured = Captured::default();
        let text = written(human(false, captured.clone()), &captured);
        assert_one_line(&text);
        assert_eq!(text.matches("31mb").count(), 5, "{text}");
    }

    #[test]
    fn json_logs_keep_every_field_unchanged() {
        let captured = Captured::default();
        let text = written(json(captured.clone()), &captured);
        assert_one_line(&text);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        for value in [&line["name"], &line["shown"], &line["message"], &line["span"]["hook"]] {
            assert_eq!(value, NASTY);
        }
        assert_eq!((&line["small"], &line["level"]), (&0.5.into(), &"INFO".into()));
        assert_eq!(line["spans"], serde_json::json!([{"hook": NASTY, "name": "handle"}]));
        assert!(line["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        assert!(text.contains(r#""big":340282366920938463463374607431768211455"#), "{text}");
        assert!(line.get("none").is_none());
    }
}
