//! Words in a row, and the annotation they make.

use std::collections::HashSet;

use crate::yaml::write_quoted;

/// So long the annotation may be, in bytes. All annotations of an object together may have 256 KiB.
const MAX_LENGTH: usize = 2048;

/// Words in one text.
pub(super) struct Words {
    text: String,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Words {
    pub(super) fn new() -> Self {
        // As much as most pods have.
        Self { text: String::with_capacity(256), ends: Vec::with_capacity(16) }
    }

    /// Adds the word that `parts` make.
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

    /// Each of them once.
    fn distinct(&self) -> Vec<&str> {
        /// Nothing is hashed for the few words that most pods have.
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

/// The annotation: names as long as there is room, and how many are missing.
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

/// Writes words up to the first for which there is no room, with commas between them; how many.
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
    use super::{MAX_LENGTH, Words, annotation};

    fn read(json: &str) -> serde_json::Value {
        assert!(json.len() <= MAX_LENGTH, "{}", json.len());
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn any_word_comes_out_as_it_is_and_once() {
        let (mut rules, mut added) = (Words::new(), Words::new());
        rules.push(["r", "@1234"]);
        let odd = ["plain", "qu\"ote", "back\\slash", "line\nbreak", "\u{1f}", "ümlaut", "plain"];
        odd.iter().for_each(|word| added.push([*word]));
        let read = read(&annotation("a\"b", &rules, &added));
        assert_eq!(read, serde_json::json!({"v": 1, "cfg": "a\"b", "rules": ["r@1234"], "add": odd[..6]}));
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut added = Words::new();
        (0..5000).for_each(|number| added.push(["\"\\", &number.to_string()]));
        let read = read(&annotation("", &Words::new(), &added));
        let listed = read["add"].as_array().unwrap().len();
        assert!(listed > 100 && read["more"] == 5000 - listed, "{read}");
    }
}
