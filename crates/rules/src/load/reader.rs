//! Typed access to the tree of a document. Errors are recorded, and reading continues.

use std::borrow::Cow;
use std::sync::Arc;

use crate::diagnostic::{
    Code, Diagnostic, MAX_FINDINGS, MISSING_FIELD, NAMESPACED_PART, NOT_SUPPORTED, NULL, Position, RENAMED,
    Source, UNKNOWN_FIELD, WRONG_TYPE, WRONG_VALUE,
};
use crate::did_you_mean::{did_you_mean, nearest};
use crate::expression::{SharedBudget, Type};
use crate::format::{self, Collection, Field, Kind, Table, example};
use crate::logic::Logic;
use crate::rule::OnConflict;
use crate::yaml::{Entry, Node, Value};

/// Collects the findings of one source.
pub(super) struct Reader {
    pub(super) source: Arc<Source>,
    pub(super) findings: Vec<Diagnostic>,
    /// The type of `each`, while an item with `forEach` is read.
    pub(super) each: Option<Type>,
    /// The parameters, variables and conditions read so far.
    pub(super) logic: Logic,
    /// Whether the document is a rule of a namespace.
    pub(super) namespaced: bool,
    /// `required` of the rule.
    pub(super) required: bool,
    /// `onConflict` of the rule, the default for all of its parts.
    pub(super) on_conflict: Option<OnConflict>,
    /// Whether `mode: auto` makes a native sidecar.
    pub(super) native_sidecars: bool,
    /// The budget for compiling the expressions and patterns of all documents.
    pub(super) total: SharedBudget,
}

impl Reader {
    pub(super) fn new(source: Arc<Source>, native_sidecars: bool, total: SharedBudget) -> Self {
        Self {
            source,
            findings: Vec::new(),
            each: None,
            logic: Logic::default(),
            namespaced: false,
            required: false,
            on_conflict: None,
            native_sidecars,
            total,
        }
    }

    /// Records an error; an empty `help` is left out.
    pub(super) fn error(
        &mut self,
        code: &'static Code,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(self.source.finding(code, at, message).with_help(help));
    }

    pub(super) fn warning(&mut self, code: &'static Code, at: Position, message: impl Into<String>) {
        self.findings.push(self.source.finding(code, at, message));
    }

    /// The members of a map. Unknown and missing fields are reported, and values that their fields cannot hold, except
    /// maps and fragments of a pod, which have their own readers.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, table: &Table) -> &'n [Entry] {
        let Some(entries) = node.as_map() else {
            self.wrong_collection(node, table.what, Collection::Map, Some(table.example.to_owned()));
            return &[];
        };
        for entry in entries {
            match table.field(&entry.key) {
                Some(Field { renamed: true, about, .. }) => {
                    let new = about.split_once(':').map_or(*about, |(new, _)| new);
                    let message = format!("`{}` in {} is `{new}` now", entry.key, table.what);
                    let help = format!("write it as `{about}`; `vestibule lint --fix` rewrites the file");
                    self.error(&RENAMED, entry.at, message, help);
                }
                Some(Field { refused: true, about, .. }) => {
                    let message = format!("`{}` in {} is not supported yet", entry.key, table.what);
                    self.error(&NOT_SUPPORTED, entry.at, message, *about);
                }
                Some(Field { cluster_only: true, .. }) if self.namespaced => {
                    let message = format!(
                        "`{}` in {} is for an Injection, not for a rule of a namespace",
                        entry.key, table.what
                    );
                    self.error(&NAMESPACED_PART, entry.at, message, "");
                }
                Some(_) => {}
                None if format::is_set_by_the_api_server(table, &entry.key) => {}
                None => self.unknown_field(entry, table),
            }
        }
        let has_former_name =
            entries.iter().any(|entry| table.field(&entry.key).is_some_and(|field| field.renamed));
        for Field { name, about, .. } in table.fields.iter().filter(|field| field.required) {
            if node.get(name).is_none() && !has_former_name {
                let message = format!("`{name}` is missing in {}", table.what);
                self.error(&MISSING_FIELD, node.at(), message, *about);
            }
        }
        self.check_values(node, table);
        entries
    }

    /// Checks the values of the fields of `table` in a map that may have other members.
    pub(super) fn check_values(&mut self, node: &Node, table: &Table) {
        for field in table.supported() {
            if let Some(value) = node.get(field.name) {
                self.check_value(value, field.name_in_messages(), field.kind);
                if field.not_empty && value.as_list().is_some_and(<[Node]>::is_empty) {
                    self.error(&WRONG_VALUE, value.at(), format!("`{}` is empty", field.name), "");
                }
            }
        }
    }

    fn check_value(&mut self, node: &Node, what: &str, kind: Kind) {
        match kind {
            Kind::Text => drop(self.text(node, what)),
            Kind::Boolean if node.parsed::<bool>().is_none() => {
                self.wrong_type(node, what, "`true` or `false`", None);
            }
            Kind::Integer(least, most) => match node.parsed::<i64>() {
                None => self.wrong_type(node, what, "a whole number", None),
                Some(number) if !(least..=most).contains(&number) => {
                    let possible = match most {
                        i64::MAX => format!("{least} or more"),
                        most => format!("{least} to {most}"),
                    };
                    self.error(&WRONG_VALUE, node.at(), format!("`{what}` cannot be {number}"), possible);
                }
                Some(_) => {}
            },
            Kind::Word(words) => self.word(node, what, &words.keywords()),
            Kind::List(item) => {
                self.list(node, what).iter().for_each(|node| self.check_value(node, what, *item));
            }
            Kind::Either(kinds) => {
                let fits = |kind: &&Kind| match kind {
                    Kind::List(_) => node.as_list().is_some(),
                    Kind::Map(_) => node.as_map().is_some(),
                    _ => node.as_text().is_some(),
                };
                if let Some(kind) = kinds.iter().find(fits).or(kinds.first()) {
                    self.check_value(node, what, *kind);
                }
            }
            _ => {}
        }
    }

    fn unknown_field(&mut self, entry: &Entry, table: &Table) {
        let message = format!("unknown field `{}` in {}", entry.key, table.what);
        if self.findings.len() > MAX_FINDINGS {
            return self.error(&UNKNOWN_FIELD, entry.at, message, "");
        }
        let known = table.fields.iter().filter(|field| !field.renamed);
        let near = nearest(&entry.key, known.map(|field| field.name));
        let help = match near.and_then(|near| table.field(near)) {
            Some(Field { name, refused: true, .. }) => {
                format!("did you mean `{name}`? It is not supported yet")
            }
            Some(Field { name, .. }) => format!("did you mean `{name}`?"),
            None => format!("known here: {}", words(&table.names())),
        };
        self.error(&UNKNOWN_FIELD, entry.at, message, help);
    }

    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        node.as_map().unwrap_or_else(|| {
            self.wrong_collection(node, what, Collection::Map, example(what, Collection::Map));
            &[]
        })
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        node.as_list().unwrap_or_else(|| {
            self.wrong_collection(node, what, Collection::List, example(what, Collection::List));
            &[]
        })
    }

    /// The text of a scalar as written: `1.10` stays `1.10`.
    pub(super) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = node.as_text().filter(|_| !node.is_null());
        if text.is_none() {
            self.wrong_type(node, what, "text", None);
        }
        text
    }

    /// Checks one of a few words.
    fn word(&mut self, node: &Node, what: &str, possible: &[&str]) {
        let Some(text) = self.text(node, what) else { return };
        if !possible.contains(&text) {
            let help = did_you_mean(text, possible.iter().copied());
            let help = help.unwrap_or_else(|| format!("possible: {}", words(possible)));
            self.error(&WRONG_VALUE, node.at(), format!("`{what}` cannot be `{text}`"), help);
        }
    }

    pub(super) fn null(&mut self, node: &Node, what: &str) {
        let help = "leave the field out, or write \"\" for an empty text";
        self.error(&NULL, node.at(), format!("{} is null", quoted(what)), help);
    }

    /// Reports a value that is not a map or list, with an example of one.
    pub(super) fn wrong_collection(
        &mut self,
        node: &Node,
        what: &str,
        wanted: Collection,
        example: Option<String>,
    ) {
        self.wrong_type(node, what, wanted.as_str(), example);
    }

    fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str, example: Option<String>) {
        if node.is_null() {
            return self.null(node, what);
        }
        let found = match node.value() {
            Value::Scalar(_) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        };
        let message = format!("{} wants {wanted}, and this is {found}", quoted(what));
        let help = example.map(|example| format!("for example `{example}`")).unwrap_or_default();
        self.error(&WRONG_TYPE, node.at(), message, help);
    }
}

/// The name of a field in backticks; a phrase such as "an item of `remove`" stays unchanged.
fn quoted(what: &str) -> Cow<'_, str> {
    let is_phrase = what.contains('`') || ["a ", "an ", "the "].iter().any(|start| what.starts_with(start));
    if is_phrase { Cow::Borrowed(what) } else { Cow::Owned(format!("`{what}`")) }
}

/// "`a`, `b`".
fn words(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
