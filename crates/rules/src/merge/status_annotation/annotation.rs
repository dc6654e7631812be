//! The text of the status annotation, with a maximal length.

use std::collections::HashSet;

use crate::yaml::write_quoted;

/// The maximal length of the annotation in bytes. All annotations of an object together may have 256 KiB.
const MAX_LENGTH: usize = 2048;

/// A list of words, stored in one text.
pub(super) struct Words {
    text: String,
    /// The end of each word.
    ends: Vec<usize>,
}

impl Words {
    pub(super) fn new() -> Self {
        // Enough for most pods.
        Self { text: String::with_capacity(256), ends: Vec::with_capacity(16) }
    }

    /// Adds the word that consists of `parts`.
    pub(super) fn push<'p>(&mut self, parts: impl IntoIterator<Item = &'p str>) {
        self.text.extend(parts);
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.text.get(start..*end))
    }

    /// Each word once.
    fn distinct(&self) -> Vec<&str> {
        /// For up to this number of words, which most pods have, a scan is faster than hashing.
        const FEW: usize = 16;
        if self.len() > FEW {
            let mut seen = HashSet::with_capacity(self.len());
            return self.iter().filter(|word| seen.insert(*word)).collect();
        }
        let mut distinct = Vec::with_capacity(self.len());
        for word in self.iter() {
            if !distinct.contains(&word) {
                distinct.push(word);
            }
        }
        distinct
    }
}

/// The annotation: as many words as fit, and the number of words left out.
pub(super) fn annotation(hash: &str, rules: &Words, added: &Words) -> String {
    const MORE: usize = r#","more":1000000}"#.len();
    let frame = r#"{"v":1,"cfg":"","rules":[],"add":[]"#.len() + hash.len() + MORE;
    let mut room = MAX_LENGTH.saturating_sub(frame);
    let mut json = String::with_capacity(frame + rules.text.len() + added.text.len() + 4 * added.len());
    json.push_str(r#"{"v":1,"cfg":"#);
    write_quoted(&mut json, hash);
    let mut more = 0;
    for (list, words) in [(r#","rules":["#, rules), (r#","add":["#, added)] {
        json.push_str(list);
        let words = words.distinct();
        let written = write_fitting(&mut json, &words, &mut room);
        more += words.len() - written;
        json.push(']');
    }
    if more > 0 {
        json.push_str(&format!(r#","more":{more}"#));
    }
    json.push('}');
    json
}

/// Writes words, separated by commas, up to the first that does not fit. Returns the number of words written.
fn write_fitting(json: &mut String, words: &[&str], room: &mut usize) -> usize {
    for (index, word) in words.iter().enumerate() {
        let before = json.len();
        json.push_str(if index > 0 { "," } else { "" });
        let start = json.len();
        write_quoted(json, word);
        let length = json.len() - start + ",".len();
        if length > *room {
            json.truncate(before);
            return index;
        }
        *room -= length;
    }
    words.len()
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, Words, annotation, write_fitting};

    fn read(json: &str) -> serde_json::Value {
        assert!(json.len() <= MAX_LENGTH, "{}", json.len());
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn words_are_escaped_and_written_once() {
        let (mut rules, mut added) = (Words::new(), Words::new());
        rules.push(["r", "@1234"]);
        let odd = ["plain", "qu\"ote", "back\\slash", "line\nbreak", "\u{1f}", "ümlaut", "plain"];
        odd.iter().for_each(|word| added.push([*word]));
        let read = read(&annotation("a\"b", &rules, &added));
        assert_eq!(read, serde_json::json!({"v": 1, "cfg": "a\"b", "rules": ["r@1234"], "add": odd[..6]}));
    }

    #[test]
    fn a_word_that_fills_the_room_is_written() {
        // Four bytes with the quotes, and a comma.
        for (mut room, written) in [(4, 0), (5, 1), (9, 1), (10, 2)] {
            let mut json = String::new();
            assert_eq!(write_fitting(&mut json, &["ab", "cd"], &mut room), written, "{json}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_counted() {
        let mut added = Words::new();
        (0..5000).for_each(|number| added.push(["\"\\", &number.to_string()]));
        let read = read(&annotation("", &Words::new(), &added));
        let listed = read["add"].as_array().unwrap().len();
        assert!(listed > 100 && read["more"] == 5000 - listed, "{read}");
    }
}
