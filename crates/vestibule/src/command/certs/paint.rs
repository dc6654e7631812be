//! Colour, where somebody looks.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal;

/// Green for what is well, red for what is not, or nothing of the kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    coloured: bool,
}

impl Paint {
    /// For stdout: on a terminal, unless `NO_COLOR` (<https://no-color.org>) or a dumb terminal says otherwise.
    pub(super) fn for_stdout() -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == OsStr::new("dumb"));
        Self { coloured: std::io::stdout().is_terminal() && !no_color && !dumb }
    }

    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { coloured: false }
    }

    pub(super) fn good(self, text: impl fmt::Display) -> String {
        self.paint("32", text)
    }

    pub(super) fn bad(self, text: impl fmt::Display) -> String {
        self.paint("31", text)
    }

    pub(super) fn heading(self, text: impl fmt::Display) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: impl fmt::Display) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}
