//! Suggestions for misspelled words ("did you mean").

/// The candidate that `word` is probably a misspelling of.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The Damerau-Levenshtein distance: the number of insertions, removals, substitutions and swaps of neighbouring letters.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    let mut previous = None;
    for (line, letter) in from.chars().enumerate() {
        let mut next = vec![line + 1];
        for (column, other) in to.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let substituted = cell(&row, column) + usize::from(letter != *other);
            let mut least = substituted.min(cell(&row, column + 1) + 1).min(cell(&next, column) + 1);
            if let Some(left) = column.checked_sub(1)
                && previous == Some(*other)
                && to.get(left) == Some(&letter)
            {
                least = least.min(cell(&before, left) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
        previous = Some(letter);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("volumeMount", "volumeMounts"), 1);
        assert_eq!(distance("iamge", "image"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn suggests_only_similar_words() {
        let fields = ["volumeMounts", "volumeDevices", "name", "env"];
        assert_eq!(nearest("volumeMount", fields), Some("volumeMounts"));
        assert_eq!(nearest("VOLUMEMOUNTS", fields), Some("volumeMounts"));
        assert_eq!(nearest("nmae", fields), Some("name"));
        assert_eq!(nearest("affinity", fields), None);
        assert_eq!(nearest("xyz", fields), None);
    }
}
