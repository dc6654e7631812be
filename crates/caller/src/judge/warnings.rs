//! Which warnings of an answer reach the user.

use crate::outcome::Warnings;

/// What one request may carry over all warnings, in characters.
const TOTAL: usize = 4096;
/// What is left of each warning once that is exceeded, in characters.
const CUT: usize = 256;

/// Sorts the warnings as if the answer were the only one of its request.
pub(super) fn sort(warnings: Vec<String>) -> Warnings {
    let mut sorted = Warnings::default();
    for warning in warnings {
        if warning.is_empty() || warning.contains(char::is_control) {
            sorted.dropped.push(warning);
        } else if !sorted.shown.contains(&warning) {
            sorted.shown.push(warning);
        }
    }
    if sorted.shown.iter().map(|warning| warning.chars().count()).sum::<usize>() > TOTAL {
        let mut written = 0;
        for warning in std::mem::take(&mut sorted.shown) {
            if written >= TOTAL {
                sorted.dropped.push(warning);
                continue;
            }
            let cut: String = warning.chars().take(CUT).collect();
            written += cut.chars().count();
            sorted.shown.push(cut);
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_what_no_header_can_carry_and_repetitions() {
        let sorted = sort(["a", "", "b\nc", "\td", "a", "é \"q\""].map(str::to_owned).to_vec());
        assert_eq!(sorted.shown, ["a", "é \"q\""]);
        assert_eq!(sorted.dropped, ["", "b\nc", "\td"]);
    }

    #[test]
    fn twenty_long_ones_become_sixteen_short_ones() {
        let sorted = sort((10..30).map(|number| format!("{number}{}", "x".repeat(298))).collect());
        assert_eq!(sorted.shown.len(), 16);
        assert!(sorted.shown.iter().all(|warning| warning.len() == 256));
        assert_eq!(sorted.dropped.len(), 4);
    }

    #[test]
    fn exactly_the_limit_is_left_alone() {
        let sorted = sort(vec!["x".repeat(4095), "y".to_owned()]);
        assert_eq!(sorted.shown.iter().map(String::len).sum::<usize>(), 4096);
    }
}
