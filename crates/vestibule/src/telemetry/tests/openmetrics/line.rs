//! One line of a page.

use std::collections::BTreeMap;

use super::Sample;

/// A parsed line.
pub(super) enum Line<'t> {
    /// `# TYPE`, `# HELP` or `# UNIT` of a family.
    About {
        what: &'t str,
        name: &'t str,
        text: &'t str,
    },
    Sample(Sample),
}

impl<'t> Line<'t> {
    pub(super) fn read(line: &'t str) -> Result<Self, String> {
        let Some(about) = line.strip_prefix("# ") else { return sample(line).map(Line::Sample) };
        let (what, rest) = about.split_once(' ').ok_or("it says nothing")?;
        let (name, text) = rest.split_once(' ').ok_or("it says nothing of the family")?;
        if !is_name(name, true) {
            return Err(format!("`{name}` is no name"));
        }
        if what == "HELP" {
            unescaped(text)?;
        }
        Ok(Line::About { what, name, text })
    }
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("a sample has a value")?;
    let (name, rest) = line.split_at(end);
    if !is_name(name, true) {
        return Err(format!("`{name}` is no name"));
    }
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = value.strip_prefix(' ').ok_or("before the value stands one space")?;
    Ok(Sample { name: name.to_owned(), labels, value: number(value)? })
}

/// The labels up to the closing brace, and the rest of the line.
fn labels(mut text: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    if let Some(rest) = text.strip_prefix('}') {
        return Ok((labels, rest));
    }
    loop {
        let (name, rest) = text.split_once("=\"").ok_or("a label is written name=\"value\"")?;
        if !is_name(name, false) || name.starts_with("__") {
            return Err(format!("`{name}` is no name of a label"));
        }
        let end = closing_quote(rest).ok_or("a label's value does not end")?;
        let (value, rest) = rest.split_at(end);
        if labels.insert(name.to_owned(), unescaped(value)?).is_some() {
            return Err(format!("the label `{name}` is there twice"));
        }
        match rest.as_bytes() {
            [b'"', b'}', ..] => return Ok((labels, rest.get(2..).unwrap_or_default())),
            [b'"', b',', ..] => text = rest.get(2..).unwrap_or_default(),
            _ => return Err("between labels stands a comma and nothing else".to_owned()),
        }
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let closes = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        closes.then_some(at)
    })
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        plain.push(match (letter, letter == '\\') {
            (letter, false) => letter,
            (_, true) => match letters.next() {
                Some('n') => '\n',
                Some(escaped @ ('\\' | '"')) => escaped,
                _ => return Err("a backslash stands before `n`, `\"` or another one".to_owned()),
            },
        });
    }
    Ok(plain)
}

fn number(text: &str) -> Result<f64, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match text {
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ if is_plain => text.parse().map_err(|_| format!("`{text}` is no number")),
        _ => Err(format!("`{text}` is no number")),
    }
}

fn is_name(text: &str, of_a_metric: bool) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (of_a_metric && byte == b':');
    text.bytes().all(fits) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
