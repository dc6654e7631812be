//! Reads a rule document and the fields of its `spec`.

use std::sync::Arc;

use vestibule_patch::Schema;

use super::matching::{match_of, metadata_of, opt_in, rollout};
use super::probes::rewrite_probes;
use super::reader::Reader;
use crate::diagnostic::{
    EMPTY_RULE, NAMESPACED_PART, NAMESPACED_PLACE, NOT_SUPPORTED, Position, REQUIRED_SKIPS, Severity,
    WRONG_KIND,
};
use crate::did_you_mean::nearest;
use crate::format::{self, Collection, chosen};
use crate::label_selector::{LabelRequirement, NAMESPACE_NAME};
use crate::label_values::LabelOperator;
use crate::rule::{CompatAnnotation, OnConflict, OnError, Resource, Rule};
use crate::select::SYSTEM_NAMESPACES;
use crate::syntax;
use crate::well_known::{API_VERSION, CustomResource, RULE_KEY_PREFIX};
use crate::yaml::Node;

const KINDS_OF_THE_FORMAT: &[&str] = &["Defaulting", "Guard"];
/// The kinds of rules.
const RULE_KINDS: [&str; 2] = ["Injection", "NamespacedInjection"];

/// Whether a document holds settings instead of a rule.
pub(super) fn is_settings(root: &Node) -> bool {
    root.text("apiVersion") == Some(API_VERSION) && root.text("kind") == Some("InjectorSettings")
}

/// Reads a rule; `None` if its name or `spec` is missing. `reader` collects the findings.
pub(super) fn injection(reader: &mut Reader, root: &Node, pod: Schema<'_>) -> Option<Rule> {
    if !is_injection(reader, root) {
        return None;
    }
    reader.namespaced = root.text("kind") == Some(CustomResource::NamespacedInjection.kind());
    reader.fields(root, if reader.namespaced { &format::NAMESPACED } else { &format::INJECTION });
    let name = name(reader, root);
    let namespace = if reader.namespaced { Some(namespace(reader, root)?) } else { None };
    let spec = root.get("spec")?;
    reader.fields(spec, &format::SPEC);
    // A document without a name is refused, but its other errors are reported as well.
    let (known, at) = name.clone().unwrap_or(("?".to_owned(), root.at()));
    let mut rule = rule(reader, spec, &known, at, pod);
    if let Some((namespace, at)) = namespace {
        rule.restrict_to(namespace, at);
    }
    let is_empty = rule.clauses().is_empty() && rule.blocks.is_empty();
    if is_empty && reader.findings.is_empty() {
        reader.error(&EMPTY_RULE, spec.at(), format!("rule `{known}` adds nothing"), "");
    }
    name.map(|_| rule)
}

fn rule(reader: &mut Reader, spec: &Node, name: &str, at: Position, pod: Schema<'_>) -> Rule {
    let required = spec.flag("required").unwrap_or_default();
    reader.required = required;
    reader.on_conflict = reader.read_on_conflict(spec);
    let found = reader.findings.len();
    let matching = match_of(reader, spec);
    let is_known = reader.findings.iter().skip(found).all(|finding| finding.severity() != Severity::Error);
    let (opt_in, opt_in_at) = opt_in(reader, spec, &matching, is_known);
    let pod_spec = pod.field("spec");
    reader.security_profile(spec, &matching);
    reader.declarations(spec);
    let targets = targets(spec);
    let mut rule = Rule {
        name: name.into(),
        namespace: None,
        key: format!("{RULE_KEY_PREFIX}{name}"),
        source: Arc::clone(&reader.source.name),
        digest: Arc::default(),
        text: Arc::clone(&reader.source),
        at,
        metadata_of: metadata_of(reader, spec, &targets),
        targets,
        order: spec.integer("order").unwrap_or_default(),
        required,
        on_error: on_error(reader, spec, required),
        matching,
        opt_in,
        opt_in_at,
        compat: compat_annotations(reader, spec),
        rollout: rollout(reader, spec),
        metadata: reader.pod_metadata(spec),
        spec: reader.pod_spec(spec, pod_spec),
        volumes: reader.volumes(spec, pod_spec),
        injected: reader.injected(spec, pod_spec),
        blocks: reader.blocks(spec, pod_spec),
        removals: reader.removals(spec, pod_spec),
        rewrite_probes: rewrite_probes(reader, spec),
        logic: Arc::default(),
    };
    // The expressions of all fragments have been read only now.
    rule.logic = Arc::new(std::mem::take(&mut reader.logic));
    rule
}

fn is_injection(reader: &mut Reader, root: &Node) -> bool {
    if root.as_map().is_none() {
        reader.wrong_collection(
            root,
            "the document",
            Collection::Map,
            Some(format::INJECTION.example.to_owned()),
        );
        return false;
    }
    let kind = root.get("kind").and_then(Node::as_text);
    let version = root.get("apiVersion").and_then(Node::as_text);
    let at = |field: &str| root.get(field).map_or(root.at(), Node::at);
    let help = format!("a rule starts with `apiVersion: {API_VERSION}` and `kind: Injection`");
    match (version, kind) {
        (Some(API_VERSION), Some(kind)) if RULE_KINDS.contains(&kind) => return true,
        (Some(API_VERSION), Some(kind)) if KINDS_OF_THE_FORMAT.contains(&kind) => {
            let message = format!("kind `{kind}` is not supported yet");
            reader.error(&NOT_SUPPORTED, at("kind"), message, "");
        }
        (Some(API_VERSION), Some(kind)) => {
            let message = format!("`{kind}` is not a kind of {API_VERSION}");
            let meant = nearest(kind, RULE_KINDS);
            let help = meant.map_or(help, |meant| format!("did you mean `{meant}`?"));
            reader.error(&WRONG_KIND, at("kind"), message, help);
            // A misspelt kind does not hide the errors in `spec`.
            return meant.is_some();
        }
        (Some(version), Some(kind)) => {
            let message = format!("apiVersion `{version}` is not {API_VERSION}");
            reader.error(&WRONG_KIND, at("apiVersion"), message, help);
            return RULE_KINDS.contains(&kind);
        }
        (version, _) => {
            let missing = if version.is_none() { "apiVersion" } else { "kind" };
            let message = format!("`{missing}` is missing");
            reader.error(&WRONG_KIND, root.at(), message, help);
        }
    }
    false
}

pub(super) fn name(reader: &mut Reader, root: &Node) -> Option<(String, Position)> {
    let metadata = root.get("metadata")?;
    let table = if reader.namespaced { &format::NAMESPACED_METADATA } else { &format::METADATA };
    reader.fields(metadata, table);
    let (node, name) = (metadata.get("name")?, metadata.text("name")?);
    let message =
        "keys of labels and annotations cannot end with this `metadata.name`, as the keys of a rule do";
    reader.check_format(syntax::name(name), message, node.at()).then(|| (name.to_owned(), node.at()))
}

/// The namespace of a rule of a namespace; [`None`] if it cannot have rules, which is reported.
fn namespace(reader: &mut Reader, root: &Node) -> Option<(String, Position)> {
    let node = root.find(&["metadata", "namespace"])?;
    let name = node.as_text()?;
    if !reader.check_format(syntax::name(name), "no namespace can have this name", node.at()) {
        return None;
    }
    if SYSTEM_NAMESPACES.contains(&name) {
        let message = format!("rules do not apply in {name}, which belongs to the cluster itself");
        reader.error(&NAMESPACED_PLACE, node.at(), message, "");
        return None;
    }
    Some((name.to_owned(), node.at()))
}

impl Rule {
    /// Makes it a rule of `namespace`. Its selector names the namespace, so that no code that evaluates or proves rules applies it
    /// anywhere else.
    fn restrict_to(&mut self, namespace: String, at: Position) {
        self.name = format!("{namespace}/{}", self.name).into();
        self.namespace = Some(namespace.as_str().into());
        let own = LabelRequirement::new(NAMESPACE_NAME.to_owned(), LabelOperator::In, vec![namespace], at);
        self.matching.namespaces.requirements = vec![own];
    }
}

fn targets(spec: &Node) -> Vec<Resource> {
    if spec.get("targets").is_none() {
        return vec![Resource::Pods];
    }
    let words = spec.texts("targets");
    let named = |resource: &&Resource| words.iter().any(|word| word == resource.as_str());
    Resource::ALL.iter().filter(named).copied().collect()
}

fn on_error(reader: &mut Reader, spec: &Node, required: bool) -> OnError {
    let default = if required { OnError::Deny } else { OnError::Skip };
    let Some(node) = spec.get("onError") else { return default };
    let on_error = chosen(spec, "onError", &format::ON_ERROR).unwrap_or(default);
    if required && on_error == OnError::Skip {
        let message = "`required: true` and `onError: skip` contradict each other";
        reader.error(&REQUIRED_SKIPS, node.at(), message, "");
    }
    on_error
}

fn compat_annotations(reader: &mut Reader, spec: &Node) -> Vec<CompatAnnotation> {
    let Some(node) = spec.get("compatAnnotations") else { return Vec::new() };
    let entries = reader.map(node, "compatAnnotations");
    let mut compat = Vec::new();
    for entry in entries {
        reader.check_format(
            syntax::annotation_key(&entry.key),
            "no object can have an annotation with this key",
            entry.at,
        );
        let values = reader.list(&entry.value, &entry.key).iter();
        let accepted = values.filter_map(|value| reader.text(value, &entry.key)).map(str::to_owned).collect();
        compat.push(CompatAnnotation { key: entry.key.clone(), accepted });
    }
    compat
}

impl Reader {
    /// `onConflict` of a spec, a block or an item.
    pub(super) fn read_on_conflict(&mut self, node: &Node) -> Option<OnConflict> {
        let on_conflict = chosen(node, "onConflict", &format::ON_CONFLICT_WORDS)?;
        if let Some(node) =
            node.get("onConflict").filter(|_| self.required && on_conflict == OnConflict::SkipRule)
        {
            let message = "`required: true` and `onConflict: skipRule` contradict each other";
            self.error(&REQUIRED_SKIPS, node.at(), message, "");
        }
        if let Some(node) = node.get("onConflict").filter(|_| self.namespaced)
            && matches!(on_conflict, OnConflict::Override | OnConflict::Deny)
        {
            let message = "a rule of a namespace neither overrides what is there nor denies pods";
            self.error(&NAMESPACED_PART, node.at(), message, "`keep` or `skipRule`");
        }
        Some(on_conflict)
    }
}
