//! Words of a command that is printed for a person to type.

use std::ffi::OsStr;

use crate::terminal_escape::is_control;

/// A word in the quotes that a shell needs. Control characters are octal, as bash, zsh and POSIX 2024 read them.
pub fn shell_quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.contains(is_control) {
        let octal = |byte: u8| match byte {
            b'\'' | b'\\' | ..b' ' | 0x7f.. => format!("\\{byte:03o}"),
            _ => char::from(byte).to_string(),
        };
        return format!("$'{}'", word.bytes().map(octal).collect::<String>());
    }
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The program, as it was typed: these commands are those of `vestibule` and of every webhook's binary.
pub(crate) fn program() -> String {
    std::env::args_os().next().map_or_else(|| "vestibule".to_owned(), |typed| shell_quoted(&typed))
}

#[cfg(test)]
mod tests {
    use super::shell_quoted;

    #[test]
    fn a_shell_reads_the_quoted_word_back() {
        for (word, expected) in [
            ("rules/a.yaml", "rules/a.yaml"),
            ("a=b,example.com/c=", "a=b,example.com/c="),
            ("my rules", "'my rules'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
            ("it's\u{1b}[2J\n\u{200f}", r"$'it\047s\033[2J\012\342\200\217'"),
        ] {
            assert_eq!(shell_quoted(word.as_ref()), expected);
        }
    }
}
