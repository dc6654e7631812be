//! Makes one line of text from outside.

/// The first `longest` characters, without control characters: these could end the line or forge the next one.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().take(longest).map(plain).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_length_are_removed_from_a_line() {
        for (text, line) in
            [("a\r\nb\u{1b}[0m", "a  b [0m"), ("\n größe \u{85}", "größe"), ("abcdefghi", "abcdefgh")]
        {
            assert_eq!(one_line(text, 8), line);
        }
    }
}
