//! The differences between two texts, line by line, in the form of `diff -u`.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use crate::colour::{Palette, Style};
use crate::terminal_escape::escape;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// After this time the lines that are not compared yet are shown as removed and added.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The hunks between two texts as `diff -u` writes them, without its two lines about files; empty where they are equal.
/// Control characters, which could move a terminal's cursor, are shown as U+FFFD.
///
/// ```
/// use vestibule_command::{colour, diff};
///
/// let plain = colour::When::Never.palette();
/// assert_eq!(diff::unified("a: 1\n", "a: 2\n", plain), "@@ -1,1 +1,1 @@\n-a: 1\n+a: 2\n");
/// ```
pub fn unified(before: &str, after: &str, palette: Palette) -> String {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let deadline = Instant::now() + TIMEOUT;
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(deadline));
    let mut text = String::new();
    for hunk in group_diff_ops(changes, CONTEXT) {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{}", palette.paint(Style::Place, place(&hunk)));
        for (tag, lines) in hunk.iter().flat_map(|change| change.iter_slices(&before, &after)) {
            for line in lines.iter().map(|line| escape(line)) {
                let _written = match tag {
                    ChangeTag::Equal => writeln!(text, " {line}"),
                    ChangeTag::Delete => {
                        writeln!(text, "{}", palette.paint(Style::Removed, format_args!("-{line}")))
                    }
                    ChangeTag::Insert => {
                        writeln!(text, "{}", palette.paint(Style::Added, format_args!("+{line}")))
                    }
                };
            }
        }
    }
    text
}

/// `@@ -FIRST,COUNT +FIRST,COUNT @@`: the lines before and after. Of no lines, FIRST is the line before them.
fn place(hunk: &[DiffOp]) -> String {
    let lines = |ranges: Vec<Range<usize>>| {
        let before = ranges.first().map_or(0, |range| range.start);
        let count = ranges.iter().map(ExactSizeIterator::len).sum::<usize>();
        format!("{},{count}", before + count.min(1))
    };
    let before = lines(hunk.iter().map(DiffOp::old_range).collect());
    let after = lines(hunk.iter().map(DiffOp::new_range).collect());
    format!("@@ -{before} +{after} @@")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::When;

    fn shown(before: &str, after: &str) -> String {
        unified(before, after, When::Never.palette()).trim_end().to_owned()
    }

    #[test]
    fn hunks_equal_diff_u() {
        let long: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let changed = long.replace("2\n3\n", "2\n").replace("18\n", "18!\n");
        for (before, after, expected) in [
            ("", "", ""),
            ("a\nb\n", "a\nb\n", ""),
            ("a\nb\n", "a\nb", ""),
            ("", "a\nb", "@@ -0,0 +1,2 @@\n+a\n+b"),
            ("a\nb", "b\nc", "@@ -1,2 +1,2 @@\n-a\n b\n+c"),
            ("1\n2\n3\n4\n5\n", "1\n2\nx\n3\n4\n5\n", "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5"),
            (
                &long,
                &changed,
                "@@ -1,6 +1,5 @@\n 1\n 2\n-3\n 4\n 5\n 6\n@@ -15,6 +14,6 @@\n 15\n 16\n 17\n-18\n+18!\n 19\n 20",
            ),
        ] {
            assert_eq!(shown(before, after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn huge_texts_are_compared_until_the_timeout() {
        let numbered = |word: &str| (0..200_000).map(|line| format!("{word} {line}\n")).collect::<String>();
        let shown = shown(&numbered("one"), &numbered("two"));
        assert_eq!(shown.lines().filter(|line| line.starts_with("-one")).count(), 200_000);
        assert_eq!(shown.lines().filter(|line| line.starts_with("+two")).count(), 200_000);
    }
}
