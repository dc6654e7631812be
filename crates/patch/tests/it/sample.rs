//! Random documents with lists of every kind, changes to them, and unknown fields in them.

use std::fmt::Write as _;

use proptest::prelude::*;
use vestibule_patch::{Field, Key, List, Schema, Table, Type, View};

/// A document whose numbers and order of members can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// A scalar, as it is written.
    Scalar(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

static TYPES: &[Type] = &[Type {
    name: "Node",
    fields: &[
        Field { name: "atomic", list: List::Atomic, of: Some(0) },
        Field { name: "child", list: List::Unknown, of: Some(0) },
        Field { name: "named", list: List::Map(&[Key { name: "name", default: None }]), of: Some(0) },
        Field { name: "plain", list: List::Unknown, of: None },
        Field {
            name: "ports",
            list: List::Map(&[
                Key { name: "port", default: None },
                Key { name: "protocol", default: Some("\"TCP\"") },
            ]),
            of: Some(0),
        },
        Field { name: "set", list: List::Set, of: None },
    ],
}];
static TABLE: Table = Table { types: TYPES };

/// The schema of [`document`]s.
pub(crate) fn schema() -> Schema<'static> {
    Schema::new(&TABLE, 0)
}

const STRINGS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"b\"",
    "\"TCP\"",
    "\"UDP\"",
    "\"/~\\\"\\\\\"",
    "\"\u{e9}\u{1f600}\"",
    "\"[{,\"",
    "\"}]:\"",
];
const NUMBERS: &[&str] = &["0", "-0", "1", "1.0", "1e0", "80", "443", "-7", "9223372036854775808", "1e300"];

/// An object with lists of every kind, keyed ones with doubled and missing keys among them.
pub(crate) fn document() -> impl Strategy<Value = Json> {
    tape().prop_map(|mut tape| Json::Object(members(&mut tape, 3)))
}

fn members(tape: &mut Tape, levels: usize) -> Vec<(String, Json)> {
    let count = tape.below(7);
    distinct((0..count).map(|_| member(tape, levels)).collect())
}

fn member(tape: &mut Tape, levels: usize) -> (String, Json) {
    let shape = if levels == 0 { 0 } else { tape.below(8) };
    let (names, value): (&[&str], Json) = match shape {
        0..3 => (&["name", "port", "protocol", "x", "a/b", "~"], scalar(tape)),
        3..6 => {
            let items = (0..tape.below(6)).map(|_| Json::Object(members(tape, levels - 1))).collect();
            (&["named", "ports", "atomic", "plain"], Json::Array(items))
        }
        6 => (&["plain", "set", "atomic"], Json::Array((0..tape.below(7)).map(|_| scalar(tape)).collect())),
        _ => (&["child", "named"], Json::Object(members(tape, levels - 1))),
    };
    (names[tape.below(names.len())].to_owned(), value)
}

fn scalar(tape: &mut Tape) -> Json {
    let kinds = [NUMBERS, STRINGS, NUMBERS, STRINGS, &["null", "true", "false"]];
    let written = kinds[tape.below(kinds.len())];
    Json::Scalar(written[tape.below(written.len())].to_owned())
}

fn distinct(members: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut kept: Vec<(String, Json)> = Vec::new();
    for (name, value) in members {
        if kept.iter().all(|(known, _)| *known != name) {
            kept.push((name, value));
        }
    }
    kept
}

/// Random numbers that end after a while: the shorter a tape, the smaller what is made from it, so that cases shrink.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tape {
    state: u64,
    left: u32,
}

pub(crate) fn tape() -> impl Strategy<Value = Tape> {
    (any::<u64>(), 0..120_u32).prop_map(|(state, left)| Tape { state, left })
}

impl Tape {
    /// A number below `bound`; 0 when the tape has run out.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if self.left == 0 {
            return 0;
        }
        self.left -= 1;
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 33) as usize % bound.max(1)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }
}

/// Changes a document here and there, as a handler would.
pub(crate) fn edit(json: &mut Json, fresh: &Json, tape: &mut Tape) {
    match json {
        Json::Scalar(_) => {
            if tape.chance(20) {
                *json = fresh.clone();
            }
        }
        Json::Array(items) => {
            for _ in 0..tape.below(3) {
                let (from, to) = (tape.below(items.len()), tape.below(items.len()));
                match tape.below(4) {
                    0 => items.insert(to, pick(fresh, tape)),
                    1 if !items.is_empty() => drop(items.remove(from)),
                    2 if !items.is_empty() => {
                        let item = items.remove(from);
                        items.insert(to, item);
                    }
                    3 if !items.is_empty() => items.insert(to, items[from].clone()),
                    _ => {}
                }
            }
            items.iter_mut().filter(|_| tape.chance(25)).collect::<Vec<_>>().into_iter().for_each(|item| {
                edit(item, fresh, tape);
            });
        }
        Json::Object(members) => {
            if tape.chance(25) && !members.is_empty() {
                members.remove(tape.below(members.len()));
            }
            for (_, value) in members.iter_mut() {
                if tape.chance(50) {
                    edit(value, fresh, tape);
                }
            }
            if let Json::Object(others) = fresh
                && tape.chance(25)
            {
                members.extend(others.clone());
                *members = distinct(std::mem::take(members));
            }
        }
    }
}

fn pick(json: &Json, tape: &mut Tape) -> Json {
    match json {
        Json::Object(members) if !members.is_empty() && tape.chance(50) => {
            members[tape.below(members.len())].1.clone()
        }
        other => other.clone(),
    }
}

/// Writes a document; where the tape says so, with space, members in another order, escapes, and members doubled.
pub(crate) fn write(json: &Json, tape: &mut Tape) -> String {
    let mut text = String::new();
    write_into(json, tape, &mut text);
    text
}

/// Writes a document the plain way.
pub(crate) fn plain(json: &Json) -> String {
    write(json, &mut Tape { state: 0, left: 0 })
}

fn write_into(json: &Json, tape: &mut Tape, text: &mut String) {
    let space = if tape.chance(20) { "\n  " } else { "" };
    match json {
        Json::Scalar(written) if written.starts_with('"') => text.push_str(&respell(written, tape)),
        Json::Scalar(written) => text.push_str(written),
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(space);
                write_into(item, tape, text);
            }
            let _ = write!(text, "{space}]");
        }
        Json::Object(members) => {
            let turn = tape.below(members.len());
            let doubled = members.iter().take(usize::from(tape.chance(10)));
            let order = doubled.chain(members.iter().skip(turn)).chain(members.iter().take(turn));
            text.push('{');
            for (index, (name, value)) in order.enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                let name = respell(&serde_json::to_string(name).unwrap(), tape);
                let _ = write!(text, "{space}{name}{space}:{space}");
                write_into(value, tape, text);
            }
            let _ = write!(text, "{space}}}");
        }
    }
}

/// Escapes the first letter of a written string, if it has a plain one.
fn respell(written: &str, tape: &mut Tape) -> String {
    match written.chars().nth(1) {
        Some(first) if first.is_ascii_alphanumeric() && tape.chance(20) => {
            format!("\"\\u{:04x}{}", u32::from(first), &written[2..])
        }
        _ => written.to_owned(),
    }
}

/// The document a view stands on.
pub(crate) fn read(view: View<'_>) -> Json {
    match view.kind() {
        vestibule_patch::Kind::Array => Json::Array(view.items().into_iter().map(read).collect()),
        vestibule_patch::Kind::Object => Json::Object(
            view.entries().into_iter().map(|(name, value)| (name.into_owned(), read(value))).collect(),
        ),
        _ => Json::Scalar(view.to_json().into_owned()),
    }
}
