//! The samples and labels in a PromQL query, for the part of the language that alerts and dashboards use.

use std::collections::BTreeSet;

/// The samples and grouping labels of a query.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) selectors: Vec<Selector>,
    /// The labels in `by`, `on`, `without` and `ignoring`.
    pub(super) grouped_by: BTreeSet<String>,
}

/// The name of a sample, and for each label the plain values that it is compared with.
pub(super) struct Selector {
    pub(super) name: String,
    pub(super) matchers: Vec<(String, Vec<String>)>,
}

pub(super) fn asked(query: &str) -> Asked {
    let mut asked = Asked::default();
    let mut rest = query;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_alphabetic()) {
        rest = &rest[begin..];
        let (word, behind) = rest.split_at(rest.find(|letter| !is_of_a_name(letter)).unwrap_or(rest.len()));
        rest = behind;
        if ["by", "on", "without", "ignoring"].contains(&word) {
            let (labels, behind) = rest.trim_start().strip_prefix('(').unwrap().split_once(')').unwrap();
            asked.grouped_by.extend(labels.split(',').map(|label| label.trim().to_owned()));
            rest = behind;
        } else if let Some((matchers, behind)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        {
            let matchers = matchers.split(',').map(matcher).collect();
            asked.selectors.push(Selector { name: word.to_owned(), matchers });
            rest = behind;
        } else if word.contains('_') && !rest.starts_with('(') && !rest.trim_start().starts_with("by (") {
            asked.selectors.push(Selector { name: word.to_owned(), matchers: Vec::new() });
        }
        // A range contains no names.
        rest =
            rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, behind)| behind);
    }
    asked
}

fn matcher(text: &str) -> (String, Vec<String>) {
    let (label, value) = text.split_once('=').unwrap();
    let is_pattern = value.starts_with('~');
    let value = value.trim_start_matches('~').trim_matches('"');
    let values = if is_pattern { value.split('|').collect() } else { vec![value] };
    let is_plain = |value: &&str| value.chars().all(is_of_a_name);
    let values = values.into_iter().filter(is_plain).map(str::to_owned).collect();
    (label.trim_end_matches('!').trim().to_owned(), values)
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
