//! The candidate that a "did you mean" proposes.

/// The candidate closest to `word`, if at most a third of the letters (1 to 3) differ.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let measured = candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate));
    let near = measured
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count());
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// The question for the candidate that is [`nearest`] to `word`.
pub(crate) fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_a_near_candidate_is_proposed() {
        let fields = ["volumeMounts", "volumeDevices", "name", "env", "image"];
        assert_eq!(nearest("volumeMount", fields), Some("volumeMounts"));
        assert_eq!(nearest("VOLUMEMOUNTS", fields), Some("volumeMounts"));
        assert_eq!(nearest("nmae", fields), Some("name"));
        assert_eq!(nearest("iamge", fields), Some("image"));
        assert_eq!(nearest("affinity", fields), None);
        assert_eq!(nearest("xyz", fields), None);
    }
}
