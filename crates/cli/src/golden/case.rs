//! The format of cases.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use vestibule_rules::diagnostic::code;
use vestibule_rules::yaml::{Document, Entry, Node};
use vestibule_rules::{Code, Diagnostic, NamespaceFacts, Position, Verb};

use crate::objects::{self, Object};

/// One document of cases.
pub(super) struct Suite {
    /// The file of the cases.
    pub(super) file: PathBuf,
    /// The file or folder of its rules.
    pub(super) rules: PathBuf,
    pub(super) cases: Vec<Case>,
}

pub(super) struct Case {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) object: Object,
    pub(super) verb: Verb,
    pub(super) namespace: String,
    pub(super) facts: NamespaceFacts,
    /// `userInfo`, JSON.
    pub(super) user: Option<String>,
    pub(super) expect: Expect,
}

pub(super) struct Expect {
    /// The expected word for each rule.
    pub(super) rules: BTreeMap<String, String>,
    pub(super) contains: Option<Value>,
    pub(super) result: Option<Expected>,
    pub(super) warnings: Option<Vec<String>>,
    pub(super) denied: Option<String>,
}

/// The whole result.
pub(super) enum Expected {
    Inline(Value),
    File(PathBuf),
}

const SUITE: &[&str] = &["rules", "cases"];
const CASE: &[&str] = &["name", "namespace", "object", "file", "operation", "user", "expect"];
const NAMESPACE: &[&str] = &["name", "labels", "annotations"];
const EXPECT: &[&str] = &["rules", "contains", "result", "warnings", "denied"];
const VERBS: [(&str, Verb); 4] = [
    ("CREATE", Verb::Create),
    ("UPDATE", Verb::Update),
    ("DELETE", Verb::Delete),
    ("CONNECT", Verb::Connect),
];

/// Reads the cases of `document`, a part of `file`. The error lists all findings.
pub(super) fn read(document: &Document, file: &Path) -> Result<Suite, Vec<Diagnostic>> {
    if let Some(node) = document.root().get("apiVersion") {
        let message = "this is an object or a rule, and no file of cases: those have `rules` and `cases`";
        return Err(vec![document.diagnostic(&code::UNKNOWN_FIELD, node.at(), message.to_owned())]);
    }
    let mut reader =
        Reader { document, folder: file.parent().unwrap_or(Path::new("")), findings: Vec::new() };
    let suite = reader.suite(file);
    if reader.findings.is_empty() { Ok(suite) } else { Err(reader.findings) }
}

struct Reader<'d> {
    document: &'d Document,
    folder: &'d Path,
    findings: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn suite(&mut self, file: &Path) -> Suite {
        let root = self.document.root();
        self.fields(root, SUITE);
        let rules = self.required_text(root, "rules");
        let cases = self.required(root, "cases").map(|node| self.list(node)).unwrap_or_default();
        let cases = cases.iter().filter_map(|node| self.case(node)).collect();
        Suite { file: file.to_owned(), rules: beside(self.folder, &rules), cases }
    }

    fn case(&mut self, node: &Node) -> Option<Case> {
        self.fields(node, CASE);
        let name = self.required_text(node, "name");
        let mut facts = NamespaceFacts::default();
        let mut namespace = "default".to_owned();
        if let Some(node) = node.get("namespace") {
            self.fields(node, NAMESPACE);
            namespace = self.text(node, "name").unwrap_or(namespace);
            facts.labels = self.texts_by_key(node, "labels");
            facts.annotations = self.texts_by_key(node, "annotations");
        }
        let verb = self.verb(node);
        let expect = self.required(node, "expect");
        let expect = expect.map(|expect| self.expect(expect));
        let user = node.get("user").map(Node::to_kubectl_json);
        let object = self.object(node)?;
        Some(Case { name, line: node.at().line, object, verb, namespace, facts, user, expect: expect? })
    }

    fn verb(&mut self, node: &Node) -> Verb {
        let Some(operation) = node.get("operation") else { return Verb::Create };
        let text = operation.as_text().unwrap_or_default();
        match VERBS.iter().find(|(word, _)| *word == text) {
            Some((_, verb)) => *verb,
            None => {
                let words = VERBS.map(|(word, _)| word).join(", ");
                let message = format!("`operation` is one of {words}");
                self.error(&code::WRONG_VALUE, operation.at(), message).unwrap_or(Verb::Create)
            }
        }
    }

    fn object(&mut self, node: &Node) -> Option<Object> {
        let (source, at, text) = match (node.get("object"), self.text(node, "file")) {
            (Some(object), None) => {
                (self.document.source().to_owned(), object.at(), object.to_kubectl_json())
            }
            (None, Some(file)) => {
                let path = beside(self.folder, &file);
                let at = node.get("file").map_or(node.at(), Node::at);
                match std::fs::read_to_string(&path) {
                    Ok(text) => (path.display().to_string(), at, text),
                    Err(error) => {
                        let message = format!("cannot read {}: {error}", path.display());
                        return self.error(&code::WRONG_VALUE, at, message);
                    }
                }
            }
            _ => {
                let message = "a case has either `object` or `file`".to_owned();
                return self.error(&code::MISSING_FIELD, node.at(), message);
            }
        };
        let mut objects = match objects::parse(&source, &text) {
            Ok(objects) => objects,
            Err(findings) => {
                let inline = node.get("object").is_some();
                let why = findings.first().map(|finding| match inline {
                    true => finding.message().to_owned(),
                    false => finding.headline(),
                });
                let why = why.unwrap_or_default();
                return self.error(&code::NO_OBJECT, at, why);
            }
        };
        match (objects.pop(), objects.is_empty()) {
            (Some(object), true) => Some(object),
            _ => self.error(&code::NO_OBJECT, at, "a case is about exactly one object".to_owned()),
        }
    }

    fn expect(&mut self, node: &Node) -> Expect {
        self.fields(node, EXPECT);
        let result = node.get("result").map(|result| match result.as_text() {
            Some(file) => Expected::File(beside(self.folder, file)),
            None => Expected::Inline(value(result)),
        });
        let warnings = node.get("warnings").map(|warnings| self.list(warnings));
        let warnings = warnings
            .map(|texts| texts.iter().filter_map(|text| self.scalar(text, "a warning")).collect::<Vec<_>>());
        Expect {
            rules: self.texts_by_key(node, "rules"),
            contains: node.get("contains").map(value),
            result,
            warnings,
            denied: self.text(node, "denied"),
        }
    }

    fn fields(&mut self, node: &Node, known: &[&str]) {
        let Some(entries) = node.as_map() else {
            let _ = self.error::<()>(&code::WRONG_TYPE, node.at(), "a map is wanted here".to_owned());
            return;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let message = format!("there is no field `{}` here; there are {}", entry.key, known.join(", "));
            let _ = self.error::<()>(&code::UNKNOWN_FIELD, entry.at, message);
        }
    }

    fn required<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n Node> {
        match node.get(key) {
            Some(value) => Some(value),
            None => self.error(&code::MISSING_FIELD, node.at(), format!("`{key}` is missing")),
        }
    }

    fn required_text(&mut self, node: &Node, key: &str) -> String {
        self.required(node, key).and_then(|value| self.scalar(value, key)).unwrap_or_default()
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        node.get(key).and_then(|value| self.scalar(value, key))
    }

    fn scalar(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.as_text() {
            Some(text) => Some(text.to_owned()),
            None => self.error(&code::WRONG_TYPE, node.at(), format!("`{what}` is a text")),
        }
    }

    fn list<'n>(&mut self, node: &'n Node) -> &'n [Node] {
        node.as_list()
            .or_else(|| self.error(&code::WRONG_TYPE, node.at(), "a list is wanted here".to_owned()))
            .unwrap_or_default()
    }

    fn texts_by_key(&mut self, node: &Node, key: &str) -> BTreeMap<String, String> {
        let Some(map) = node.get(key) else { return BTreeMap::new() };
        let entries = map
            .as_map()
            .or_else(|| self.error(&code::WRONG_TYPE, map.at(), format!("`{key}` is a map")))
            .unwrap_or_default();
        let text = |entry: &Entry| Some((entry.key.clone(), self.scalar(&entry.value, &entry.key)?));
        entries.iter().filter_map(text).collect()
    }

    /// Adds a finding. There is no value then.
    fn error<T>(&mut self, code: &'static Code, at: Position, message: String) -> Option<T> {
        self.findings.push(self.document.diagnostic(code, at, message));
        None
    }
}

/// `path`, relative to `folder`, without `..` where that can be resolved.
fn beside(folder: &Path, path: &str) -> PathBuf {
    let mut joined = folder.to_owned();
    for part in Path::new(path).components() {
        let leaves = matches!(part, Component::ParentDir)
            && matches!(joined.components().next_back(), Some(Component::Normal(_)));
        if !leaves {
            joined.push(part);
        } else {
            joined.pop();
        }
    }
    joined
}

fn value(node: &Node) -> Value {
    serde_json::from_str(&node.to_kubectl_json()).unwrap_or_default()
}
