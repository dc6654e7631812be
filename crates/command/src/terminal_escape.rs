//! Escapes control characters in texts from outside, so that they move no cursor and end no line.

/// Whether a character moves the cursor, ends the line or changes its direction: controls, separators, overrides and
/// marks. `vestibule-rules` has the same ones.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of a report for people.
pub(crate) fn escape(text: &str) -> String {
    text.chars().map(|character| if is_control(character) { '\u{fffd}' } else { character }).collect()
}

/// Several lines, such as the message of a compiler.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let odd = "a\u{1b}[2J\u{9b}b\tc\r\nd\u{7f}\u{2028}\u{202e}e\u{2066}\u{200f}ä";
        assert_eq!(
            escape(odd),
            "a\u{fffd}[2J\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d\u{fffd}\u{fffd}\u{fffd}e\u{fffd}\u{fffd}ä"
        );
        assert_eq!(escape_lines("a\r\nb\n"), "a\u{fffd}\nb\n");
    }
}
