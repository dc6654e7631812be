//! Colour, where somebody looks.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal;

use clap::ValueEnum;

/// When to colour: the flag decides, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether stdout is a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// As the variables and the terminal have it.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Styles that are either ANSI escapes or nothing.
#[derive(Clone, Copy)]
pub struct Palette {
    coloured: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy)]
pub enum Style {
    /// Is there now, or is well.
    Added,
    /// Is gone, or is not well.
    Removed,
    /// Says where.
    Place,
    /// Stands over other text.
    Heading,
    /// Stands back behind other text.
    Faint,
}

impl When {
    /// The styles for stdout.
    pub fn palette(self) -> Palette {
        let coloured = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => wanted(
                std::env::var_os("NO_COLOR").as_deref(),
                std::env::var_os("CLICOLOR_FORCE").as_deref(),
                std::env::var_os("TERM").as_deref(),
                std::io::stdout().is_terminal(),
            ),
        };
        Palette { coloured }
    }
}

impl Palette {
    /// `text` in a style, the ends of its style included.
    pub fn paint(self, style: Style, text: impl fmt::Display) -> String {
        if self.coloured { format!("\x1b[{}m{text}\x1b[0m", style.code()) } else { text.to_string() }
    }
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Added => "32",
            Self::Removed => "31",
            Self::Place => "36",
            Self::Heading => "1",
            Self::Faint => "2",
        }
    }
}

/// <https://no-color.org> and <https://bixense.com/clicolors>: an empty variable is none.
fn wanted(no_color: Option<&OsStr>, force: Option<&OsStr>, term: Option<&OsStr>, terminal: bool) -> bool {
    if no_color.is_some_and(|value| !value.is_empty()) {
        return false;
    }
    let forced = force.is_some_and(|value| !value.is_empty() && value != "0");
    forced || terminal && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_no_colour_gets_none() {
        let set = |value: &'static str| Some(OsStr::new(value));
        for (no_color, force, term, terminal, expected) in [
            (None, None, None, true, true),
            (None, None, None, false, false),
            (None, None, set("dumb"), true, false),
            (None, set("1"), None, false, true),
            (None, set("0"), None, false, false),
            (None, set(""), None, false, false),
            (set("1"), set("1"), None, true, false),
            (set(""), None, None, true, true),
        ] {
            assert_eq!(wanted(no_color, force, term, terminal), expected);
        }
    }

    #[test]
    fn without_colour_the_text_is_the_text() {
        assert_eq!(Palette { coloured: false }.paint(Style::Added, "+ a"), "+ a");
        assert_eq!(Palette { coloured: true }.paint(Style::Added, "+ a"), "\x1b[32m+ a\x1b[0m");
    }
}
