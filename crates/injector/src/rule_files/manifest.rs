//! Manifests of ConfigMaps with rules in `data`, as repositories hold them.

use std::ops::Range;

use vestibule_rules::yaml::{self, Node};
use vestibule_rules::{API_VERSION, CONFIG_LABEL};

/// The documents of `text` as `(name, text)`, where each rule in a ConfigMap has the line and column that it has in the
/// manifest. A value in quotes or in JSON is a text of its own, since its lines are not those of the manifest.
pub(super) fn in_place(name: &str, text: &str) -> Vec<(String, String)> {
    let Split { lines, entries } = split(name, text);
    let Some(mut lines) = lines else { return vec![(name.to_owned(), text.to_owned())] };
    let mut texts = Vec::new();
    for Entry { key, text, place } in entries {
        let Some(Place { first, rows }) = place else {
            texts.push((format!("{name}, key {key}"), text));
            continue;
        };
        // The line of the key becomes `---`. Rows keep their indent, except document marks, which must start the line.
        set(&mut lines, first.saturating_sub(1), "---");
        let marks = text.lines().map(|plain| plain.starts_with("---") || plain.starts_with("..."));
        for (index, (row, is_mark)) in rows.into_iter().zip(marks).enumerate() {
            set(&mut lines, first + index, if is_mark { row.trim_start() } else { row });
        }
    }
    let holds_any = lines.iter().any(|line| !line.trim().is_empty());
    let main = holds_any.then(|| (name.to_owned(), joined(&lines)));
    main.into_iter().chain(texts).collect()
}

/// The documents of `text` as `(key, text)` of a ConfigMap; `name` is the key of documents outside ConfigMaps.
pub(super) fn data(name: &str, text: &str) -> Vec<(String, String)> {
    let Split { lines, entries } = split(name, text);
    let Some(lines) = lines else { return vec![(name.to_owned(), text.to_owned())] };
    let outside = lines.iter().any(|line| !line.trim().is_empty() && line.trim_end() != "---");
    let outside = outside.then(|| (name.to_owned(), joined(&lines)));
    outside.into_iter().chain(entries.into_iter().map(|entry| (entry.key, entry.text))).collect()
}

/// A text, split into its ConfigMaps and the rest.
struct Split<'t> {
    /// The lines of the text, with those of the ConfigMaps empty; [`None`] without a ConfigMap with rules.
    lines: Option<Vec<&'t str>>,
    entries: Vec<Entry<'t>>,
}

/// A value of `data`.
struct Entry<'t> {
    key: String,
    text: String,
    place: Option<Place<'t>>,
}

/// The lines of the manifest that hold a value.
struct Place<'t> {
    /// The index of its first line.
    first: usize,
    rows: Vec<&'t str>,
}

fn split<'t>(name: &str, text: &'t str) -> Split<'t> {
    let mut split = Split { lines: None, entries: Vec::new() };
    if !text.contains("ConfigMap") {
        return split;
    }
    let all: Vec<&str> = text.lines().collect();
    let mut lines = all.clone();
    for part in yaml::split(name, text) {
        let Ok(documents) = yaml::read(name, part.text.text) else { continue };
        let found: Vec<&Node> = documents.iter().flat_map(|document| config_maps(document.root())).collect();
        if found.is_empty() {
            continue;
        }
        let before = part.text.lines_before;
        blank(&mut lines, before..before + part.text.text.lines().count());
        for entry in found.iter().filter_map(|node| node.get("data")?.as_map()).flatten() {
            let text = entry.value.as_text().unwrap_or_default().to_owned();
            // Lines count from 1, so this index is the line below the key.
            let first = before + entry.at.line;
            let place = rows(all.get(first..).unwrap_or_default(), &text).map(|rows| Place { first, rows });
            split.entries.push(Entry { key: entry.key.clone(), text, place });
        }
        split.lines = Some(Vec::new());
    }
    if split.lines.is_some() {
        split.lines = Some(lines);
    }
    split
}

/// The ConfigMaps with rules in a document: the document itself, or the items of a list of such ConfigMaps.
fn config_maps(root: &Node) -> Vec<&Node> {
    let text = |key: &str| root.get(key).and_then(Node::as_text);
    let nodes: Vec<&Node> = match (text("apiVersion"), text("kind")) {
        (Some("v1"), Some("ConfigMap")) => vec![root],
        (Some("v1"), Some("List" | "ConfigMapList")) => {
            root.get("items").and_then(Node::as_list).unwrap_or_default().iter().collect()
        }
        _ => Vec::new(),
    };
    if nodes.iter().all(|node| holds_rules(node)) { nodes } else { Vec::new() }
}

/// Whether it has the injector's label or a rule in it. The tool that applies the manifest may add the label.
fn holds_rules(node: &Node) -> bool {
    let kind = node.get("kind").and_then(Node::as_text);
    let label =
        node.get("metadata").and_then(|metadata| metadata.get("labels")?.get(CONFIG_LABEL)?.as_text());
    let entries = node.get("data").and_then(Node::as_map).unwrap_or_default();
    let has_rule =
        entries.iter().any(|entry| entry.value.as_text().is_some_and(|text| text.contains(API_VERSION)));
    matches!(kind, None | Some("ConfigMap")) && (label == Some("true") || has_rule)
}

/// The first of `lines`, if they are the lines of `text` with one indent.
fn rows<'t>(lines: &[&'t str], text: &str) -> Option<Vec<&'t str>> {
    let plain: Vec<&str> = text.lines().collect();
    let found = lines.get(..plain.len())?;
    let indent = plain.iter().zip(found).find(|(plain, _)| !plain.trim().is_empty());
    let indent = indent.and_then(|(plain, found)| found.strip_suffix(plain))?;
    let same = |(plain, found): (&&str, &&str)| {
        found.strip_prefix(indent) == Some(*plain) || plain.trim().is_empty() && found.trim().is_empty()
    };
    let in_block = !indent.is_empty() && indent.bytes().all(|byte| byte == b' ');
    (in_block && plain.iter().zip(found).all(same)).then(|| found.to_vec())
}

fn blank(lines: &mut [&str], range: Range<usize>) {
    let mut range = lines.iter_mut().skip(range.start).take(range.len());
    // The mark also ends the document before.
    if let Some(first) = range.next() {
        *first = if first.starts_with("---") { "---" } else { "" };
    }
    range.for_each(|line| *line = "");
}

fn set<'t>(lines: &mut [&'t str], index: usize, line: &'t str) {
    if let Some(place) = lines.get_mut(index) {
        *place = line;
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}
