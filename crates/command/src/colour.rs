//! Colours of what is printed on stdout.

use std::fmt;

use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
use clap::ValueEnum;

/// When to colour: the flag decides, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether stdout is a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// By the variables and the terminal.
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

/// The role of a piece of text.
#[derive(Clone, Copy)]
pub enum Style {
    /// An added line, or a good state.
    Added,
    /// A removed line, or a bad state.
    Removed,
    /// A position in a file.
    Place,
    /// A heading.
    Heading,
    /// A detail.
    Faint,
}

impl When {
    /// The styles for stdout.
    pub fn palette(self) -> Palette {
        let coloured = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        };
        Palette { coloured }
    }
}

impl Palette {
    /// `text` in a style, the end of the style included.
    pub fn paint(self, style: Style, text: impl fmt::Display) -> String {
        let style = if self.coloured { style.ansi() } else { anstyle::Style::new() };
        format!("{style}{text}{style:#}")
    }
}

impl Style {
    fn ansi(self) -> anstyle::Style {
        match self {
            Self::Added => AnsiColor::Green.on_default(),
            Self::Removed => AnsiColor::Red.on_default(),
            Self::Place => AnsiColor::Cyan.on_default(),
            Self::Heading => anstyle::Style::new().bold(),
            Self::Faint => anstyle::Style::new().dimmed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_the_text_has_no_escapes() {
        assert_eq!(When::Never.palette().paint(Style::Added, "+ a"), "+ a");
        assert_eq!(When::Always.palette().paint(Style::Added, "+ a"), "\x1b[32m+ a\x1b[0m");
    }
}
