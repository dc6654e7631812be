//! Rewrites a text of rules from the former names of fields to the names of today.
//!
//! `vestibule lint --fix` calls [`fixed`]. Only the renamed fields and what stands around their values change: the edits are
//! made in the text, and comments stay.

mod edits;

use edits::{Edits, Layer};

use crate::label_selector::NAMESPACE_NAME;
use crate::well_known::API_VERSION;
use crate::yaml::{self, Entry, Node, Value};

/// `text` with the names of today; a text without former names is returned unchanged. Rules in a ConfigMap are rewritten if their
/// text is in lines after `|`. Documents that cannot be read or that use anchors are left alone, and so is a field whose two lists
/// would have to become one while one of them holds comments.
///
/// ```
/// let text = "\
/// apiVersion: vestibule.dev/v1alpha1
/// kind: Injection
/// metadata: {name: team}
/// spec:
///   match: {namespaces: {names: [blue]}} # ours
///   when: [size(object.spec.containers) == 1]
///   pod: {labels: {team: blue}}
/// ";
/// let fixed = vestibule_rules::rename::fixed(text);
/// assert!(fixed.contains("operator: In, values: [blue]}]}} # ours\n"));
/// assert!(fixed.contains("  matchConditions: [{name: condition-1, expression: size(object.spec.containers) == 1}]\n"));
/// assert_eq!(vestibule_rules::rename::fixed(&fixed), fixed);
/// ```
pub fn fixed(text: &str) -> String {
    let mut fixed = String::new();
    let mut rest = text;
    for document in yaml::split("", text) {
        let part = document.text.text;
        let Some((before, behind)) = rest.split_once(part) else { continue };
        fixed.push_str(before);
        fixed.push_str(&document_fixed(part));
        rest = behind;
    }
    fixed + rest
}

fn document_fixed(text: &str) -> String {
    let Some((root, None)) = yaml::first_document(text) else { return text.to_owned() };
    let mut edits = Edits::new(text);
    if root.text("kind") == Some("ConfigMap") {
        let data = root.get("data").and_then(Node::as_map).unwrap_or_default();
        data.iter().for_each(|entry| edits.rewrite_lines(&entry.value, fixed));
    }
    if let (Some(API_VERSION), Some(kind), Some(spec)) =
        (root.text("apiVersion"), root.text("kind"), root.get("spec"))
    {
        match kind {
            "Injection" | "NamespacedInjection" => rule(&mut edits, spec),
            "InjectorSettings" => spec.items("exemptions").iter().for_each(|one| exemption(&mut edits, one)),
            _ => {}
        }
    }
    edits.applied()
}

fn rule(edits: &mut Edits<'_>, spec: &Node) {
    rename(edits, spec, "containers", "containerPatches");
    for variable in spec.items("variables") {
        rename(edits, variable, "expr", "expression");
    }
    if let Some(entry) = rename(edits, spec, "when", "matchConditions") {
        for (number, condition) in (1..).zip(entry.value.as_list().unwrap_or_default()) {
            edits.name_item(condition, &format!("condition-{number}"), entry.value.flow);
        }
    }
    let Some(matching) = spec.get("match") else { return };
    if let Some(entry) = rename(edits, matching, "objects", "objectSelector") {
        rename(edits, &entry.value, "labels", "matchLabels");
    }
    if let Some(entry) = former(matching, "namespaces", "namespaceSelector") {
        let lists = [("names", "In"), ("exclude", "NotIn")];
        let lists =
            lists.into_iter().filter_map(|(name, operator)| Some((member(&entry.value, name)?, operator)));
        let mut lists: Vec<_> = lists.collect();
        lists.sort_by_key(|(entry, _)| entry.range.start);
        match *lists {
            [] => {}
            [(list, operator)] => {
                edits.rename(list, "matchExpressions");
                edits.nest(list, &[named(operator)], None);
            }
            [(first, operator), (second, other), ..] => {
                let Some(values) = edits.in_brackets(&second.value) else { return };
                edits.rename(first, "matchExpressions");
                edits.nest(first, &[named(operator)], Some(requirement(edits, other, &values)));
                edits.remove(second, &entry.value);
            }
        }
        edits.rename(entry, "namespaceSelector");
    }
}

fn exemption(edits: &mut Edits<'_>, exemption: &Node) {
    if let Some(entry) = rename(edits, exemption, "objectLabels", "objectSelector") {
        edits.nest(entry, &[Layer::Key("matchLabels")], None);
    }
    let names = former(exemption, "namespaces", "namespaceSelector");
    let labels = former(exemption, "namespaceLabels", "namespaceSelector");
    let Some(names) = names else {
        if let Some(labels) = labels {
            edits.rename(labels, "namespaceSelector");
            edits.nest(labels, &[Layer::Key("matchLabels")], None);
        }
        return;
    };
    let more = match labels {
        Some(labels) => {
            let Some(map) = edits.in_brackets(&labels.value) else { return };
            Some(edits.pair("matchLabels", &map))
        }
        None => None,
    };
    edits.rename(names, "namespaceSelector");
    edits.nest(names, &[Layer::Key("matchExpressions"), named("In")], more);
    if let Some(labels) = labels {
        edits.remove(labels, exemption);
    }
}

/// Renames the member `name` of `map` to `today`, unless `map` has both. Returns the renamed entry.
fn rename<'n>(edits: &mut Edits<'_>, map: &'n Node, name: &str, today: &str) -> Option<&'n Entry> {
    former(map, name, today).inspect(|entry| edits.rename(entry, today))
}

/// The member with a former name, unless the member with the name of today is there too.
fn former<'n>(map: &'n Node, name: &str, today: &str) -> Option<&'n Entry> {
    member(map, name).filter(|_| map.get(today).is_none())
}

fn member<'n>(map: &'n Node, name: &str) -> Option<&'n Entry> {
    let entry = map.as_map()?.iter().find(|entry| entry.key == name)?;
    let has_content = !matches!(entry.value.value(), Value::Scalar(_));
    (has_content || name == "expr").then_some(entry)
}

fn named(operator: &'static str) -> Layer {
    Layer::Requirement { key: NAMESPACE_NAME, operator }
}

fn requirement(edits: &Edits<'_>, operator: &str, values: &str) -> String {
    let pairs = [
        ("key", edits.word(NAMESPACE_NAME)),
        ("operator", edits.word(operator)),
        ("values", values.to_owned()),
    ];
    format!("{{{}}}", pairs.map(|(key, value)| edits.pair(key, &value)).join(", "))
}
