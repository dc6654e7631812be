//! A report for people, line by line.

use std::fmt;

use crate::colour::{Palette, Style};
use crate::terminal_escape::escape;

/// Names in certificates and in objects of a cluster may hold any character: control characters are escaped.
pub(super) struct ReportText {
    text: String,
    palette: Palette,
}

impl ReportText {
    pub(super) fn new(palette: Palette) -> Self {
        Self { text: String::new(), palette }
    }

    pub(super) fn line(&mut self, words: fmt::Arguments<'_>) {
        self.text.push_str(&escape(&words.to_string()));
        self.text.push('\n');
    }

    /// A line that begins with words in their styles.
    pub(super) fn marked(&mut self, marks: &[(Style, &dyn fmt::Display)], words: fmt::Arguments<'_>) {
        let marks = marks.iter().map(|(style, mark)| self.palette.paint(*style, escape(&mark.to_string())));
        let marks = marks.collect::<Vec<_>>().join("  ");
        self.text.push_str(&marks);
        self.line(words);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
