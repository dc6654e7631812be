//! Warnings, within the limits of kube-apiserver.

/// The most characters of a warning once all warnings together are too long (docs/apiserver.md, Answers).
const CROWDED: usize = 256;
/// The most characters of all warnings of one response.
const TOTAL: usize = 4096;

/// Warnings for the user. kube-apiserver silently drops a warning with a control character, and cuts or drops warnings beyond its
/// limits, so every warning is brought into its limits when it is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(Vec<String>);

impl Warnings {
    /// Adds a warning for each line of the text. Empty lines and duplicates are left out.
    pub fn push(&mut self, warning: &str) {
        for line in warning.lines() {
            let line = line.replace(char::is_control, " ");
            let line = line.trim();
            if !line.is_empty() && !self.0.iter().any(|known| known == line) {
                self.0.push(line.to_owned());
            }
        }
    }

    /// The warnings to send: all while they fit, else each cut to 256 characters, with the number of those left out.
    pub(crate) fn to_lines(&self) -> Vec<String> {
        let total: usize = self.0.iter().map(|line| line.chars().count()).sum();
        if total <= TOTAL {
            return self.0.clone();
        }
        let fits = TOTAL / CROWDED;
        let sent = if self.0.len() <= fits { fits } else { fits - 1 };
        let mut lines: Vec<String> = self.0.iter().take(sent).map(|line| shorten(line)).collect();
        if self.0.len() > sent {
            lines.push(format!("and {} more warnings", self.0.len() - sent));
        }
        lines
    }

    /// Whether there is no warning.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The warnings as they were added.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= CROWDED {
        return line.to_owned();
    }
    line.chars().take(CROWDED - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(lines: &[&str]) -> Warnings {
        let mut warnings = Warnings::default();
        lines.iter().for_each(|line| warnings.push(line));
        warnings
    }

    #[test]
    fn a_control_character_would_drop_the_warning() {
        assert_eq!(warnings(&["a\tb", "c\nd", "", " "]).to_lines(), ["a b", "c", "d"]);
    }

    #[test]
    fn repeated_warnings_are_sent_once() {
        assert_eq!(warnings(&["a", "b", "a"]).to_lines(), ["a", "b"]);
    }

    #[test]
    fn warnings_keep_their_order_and_empty_lines_are_dropped() {
        let (none, some) = (warnings(&["", " "]), warnings(&["b", "a"]));
        assert!(none.is_empty() && none.iter().next().is_none() && !some.is_empty());
        assert_eq!(some.iter().collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn many_long_warnings_stay_within_the_limits() {
        let long: Vec<String> = (0..20).map(|n| format!("{n:02}{}", "x".repeat(300))).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        for (given, last) in [(16, "15xx"), (17, "and 2 more warnings"), (20, "and 5 more warnings")] {
            let lines = warnings(&long[..given]).to_lines();
            assert_eq!(lines.len(), 16);
            assert!(lines[15].starts_with(last), "{}", lines[15]);
            assert!(lines.iter().all(|line| line.chars().count() <= CROWDED));
            assert!(lines.iter().map(|line| line.chars().count()).sum::<usize>() <= TOTAL);
        }
    }
}
