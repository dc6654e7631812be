//! The warnings of an answer that reach the user.

use crate::outcome::Warnings;

/// The most characters of all warnings of one request.
const TOTAL: usize = 4096;
/// The characters that are left of each warning once that is exceeded.
const CUT: usize = 256;

/// Classifies the warnings as if no other webhook answered the request.
pub(super) fn classify(warnings: Vec<String>) -> Warnings {
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
    fn warnings_that_no_header_can_carry_and_duplicates_are_dropped() {
        let sorted = classify(["a", "", "b\nc", "\td", "a", "é \"q\""].map(str::to_owned).to_vec());
        assert_eq!(sorted.shown, ["a", "é \"q\""]);
        assert_eq!(sorted.dropped, ["", "b\nc", "\td"]);
    }

    #[test]
    fn twenty_long_warnings_become_sixteen_short_ones() {
        let sorted = classify((10..30).map(|number| format!("{number}{}", "x".repeat(298))).collect());
        assert_eq!(sorted.shown.len(), 16);
        assert!(sorted.shown.iter().all(|warning| warning.len() == 256));
        assert_eq!(sorted.dropped.len(), 4);
    }

    #[test]
    fn warnings_of_exactly_the_limit_are_kept() {
        let sorted = classify(vec!["x".repeat(4095), "y".to_owned()]);
        assert_eq!(sorted.shown.iter().map(String::len).sum::<usize>(), 4096);
    }
}
