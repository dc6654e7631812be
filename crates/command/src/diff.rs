//! What changed between two texts, line by line, as `diff -u` shows it.

use std::fmt::Write as _;

use super::colour::{Palette, Style};
use crate::terminal_escape::plain;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Above this many pairs of lines the middle is shown as removed and added as a whole, to bound memory.
const MAX_PAIRS: usize = 16_000_000;

/// The hunks between two texts as `diff -u` writes them, without its two lines about files; empty where they are equal. What
/// would move a terminal's cursor is shown as U+FFFD.
///
/// ```
/// use vestibule_command::{colour, diff};
///
/// let plain = colour::When::Never.palette();
/// assert_eq!(diff::unified("a: 1\n", "a: 2\n", plain), "@@ -1,1 +1,1 @@\n-a: 1\n+a: 2\n");
/// ```
pub fn unified(before: &str, after: &str, palette: Palette) -> String {
    let mut text = String::new();
    for Hunk { before, after, lines } in hunks(before, after) {
        let place = format!("@@ -{},{} +{},{} @@", before.0, before.1, after.0, after.1);
        let lines = lines.into_iter().map(|line| match line {
            Line::Same(line) => format!(" {}", plain(line)),
            Line::Removed(line) => palette.paint(Style::Removed, format_args!("-{}", plain(line))),
            Line::Added(line) => palette.paint(Style::Added, format_args!("+{}", plain(line))),
        });
        for line in std::iter::once(palette.paint(Style::Place, place)).chain(lines) {
            // Writing to a string cannot fail.
            let _written = writeln!(text, "{line}");
        }
    }
    text
}

/// A line and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
}

/// A stretch of lines around one or more changes.
#[derive(Debug, PartialEq, Eq)]
struct Hunk<'t> {
    /// The first line before, from 1, and how many.
    before: (usize, usize),
    /// The same after.
    after: (usize, usize),
    lines: Vec<Line<'t>>,
}

/// The hunks between two texts; none where they are equal.
fn hunks<'t>(before: &'t str, after: &'t str) -> Vec<Hunk<'t>> {
    let lines = lines(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let changed = |line: &Line<'_>| !matches!(line, Line::Same(_));
    let mut hunks = Vec::new();
    let (mut at, mut place) = (0, (1, 1));
    while let Some(distance) = lines.get(at..).and_then(|rest| rest.iter().position(changed)) {
        let first = at + distance;
        let start = first.saturating_sub(CONTEXT).max(at);
        let end = end_of_hunk(&lines, first);
        let skipped = lines.get(at..start).unwrap_or_default();
        let shown = lines.get(start..end).unwrap_or_default();
        place = advance(place, skipped);
        let next = advance(place, shown);
        hunks.push(Hunk {
            before: (place.0, next.0 - place.0),
            after: (place.1, next.1 - place.1),
            lines: shown.to_vec(),
        });
        (at, place) = (end, next);
    }
    hunks
}

/// Past the context of the last change that is near enough to the one before it.
fn end_of_hunk(lines: &[Line<'_>], first: usize) -> usize {
    let mut last = first;
    for (index, line) in lines.iter().enumerate().skip(first) {
        match line {
            Line::Same(_) if index - last > 2 * CONTEXT => break,
            Line::Same(_) => {}
            Line::Removed(_) | Line::Added(_) => last = index,
        }
    }
    lines.len().min(last + 1 + CONTEXT)
}

fn advance(place: (usize, usize), lines: &[Line<'_>]) -> (usize, usize) {
    let before = lines.iter().filter(|line| !matches!(line, Line::Added(_))).count();
    let after = lines.iter().filter(|line| !matches!(line, Line::Removed(_))).count();
    (place.0 + before, place.1 + after)
}

/// By the longest common subsequence of what lies between the common head and the common tail.
fn lines<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Line<'t>> {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (same, before) = before.split_at(head);
    let after = after.split_at(head).1;
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, end) = before.split_at(before.len() - tail);
    let after = after.split_at(after.len() - tail).0;
    let mut lines: Vec<_> = same.iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(before, after));
    lines.extend(end.iter().map(|line| Line::Same(line)));
    lines
}

fn middle<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Line<'t>> {
    let width = after.len() + 1;
    // How long the common subsequence of what follows is, for each pair of positions.
    let compared = if before.len().saturating_mul(after.len()) > MAX_PAIRS { &[] } else { before };
    let mut lengths = vec![0_u32; if compared.is_empty() { 0 } else { (compared.len() + 1) * width }];
    let length =
        |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or_default();
    for (i, one) in compared.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            let best = if one == other {
                length(&lengths, i + 1, j + 1) + 1
            } else {
                length(&lengths, i + 1, j).max(length(&lengths, i, j + 1))
            };
            if let Some(slot) = lengths.get_mut(i * width + j) {
                *slot = best;
            }
        }
    }
    let mut lines = Vec::with_capacity(before.len() + after.len());
    let (mut i, mut j) = (0, 0);
    loop {
        match (before.get(i), after.get(j)) {
            (Some(one), Some(other)) if one == other => {
                lines.push(Line::Same(one));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), other)
                if other.is_none() || length(&lengths, i + 1, j) >= length(&lengths, i, j + 1) =>
            {
                lines.push(Line::Removed(one));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push(Line::Added(other));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        unified(before, after, super::super::colour::When::Never.palette()).trim_end().to_owned()
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert!(hunks("a\nb\n", "a\nb\n").is_empty());
        assert!(hunks("", "").is_empty());
    }

    #[test]
    fn huge_texts_are_compared_roughly_and_soon() {
        let numbered = |word: &str| (0..200_000).map(|line| format!("{word} {line}\n")).collect::<String>();
        let (one, two) = (numbered("one"), numbered("two"));
        let found = hunks(&one, &two);
        let [Hunk { before, after, lines }] = found.as_slice() else { panic!("{}", found.len()) };
        assert_eq!((before.1, after.1, lines.len()), (200_000, 200_000, 400_000));
    }

    #[test]
    fn an_insertion_is_one_line() {
        assert_eq!(shown("1\n2\n3\n4\n5\n", "1\n2\nx\n3\n4\n5\n"), "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5");
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let before: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let after = before.replace("2\n3\n", "2\n").replace("18\n", "18!\n");
        let shown = shown(&before, &after);
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(shown.contains("@@ -15,6 +14,6 @@"), "{shown}");
    }

    #[test]
    fn what_the_diff_says_leads_from_one_to_the_other() {
        let texts = ["", "a", "b\na", "a\nb\nc\nd", "d\nc\nb\na", "a\na\nb", "x\ny\nz\na\nb"];
        for (before, after) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
            let (one, other): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
            let lines = lines(&one, &other);
            let side = |skip: fn(&Line<'_>) -> bool| {
                lines.iter().filter(move |line| !skip(line)).map(|line| match line {
                    Line::Same(text) | Line::Removed(text) | Line::Added(text) => *text,
                })
            };
            assert!(side(|line| matches!(line, Line::Added(_))).eq(one));
            assert!(side(|line| matches!(line, Line::Removed(_))).eq(other));
        }
    }
}
