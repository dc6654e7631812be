//! Reads `remove`, and finds removals of parts that rules add.

use vestibule_patch::{List, Schema};

use super::reader::Reader;
use crate::diagnostic::{Diagnostic, REMOVES_WRITTEN, WRONG_VALUE};
use crate::format::{self, Kind, chosen};
use crate::key::{self, COMPUTED};
use crate::merge::DEFAULT_CONTAINER;
use crate::overlay::{Member, Overlay};
use crate::rule::{Base, Clause, Item, Removal, Rule, Select, SelectBy};
use crate::yaml::{Entry, Node};

impl Reader {
    pub(super) fn removals(&mut self, spec: &Node, pod_spec: Schema<'_>) -> Vec<Removal> {
        let mut removals = Vec::new();
        for (index, node) in spec.items("remove").iter().enumerate() {
            let kinds = self.fields(node, &format::REMOVAL);
            let [Entry { key, value, .. }] = kinds else {
                let message = "an item of `remove` has exactly one member";
                self.error(&WRONG_VALUE, node.at(), message, "");
                continue;
            };
            let Some(field) = format::REMOVAL.field(key) else { continue };
            let Kind::Map(table) = field.kind else { continue };
            let before = self.findings.len();
            let entries = self.fields(value, table);
            let in_containers = table.field("containers").is_some();
            let schema = if in_containers { pod_spec.field("containers").item() } else { pod_spec };
            let schema = schema.field(field.name);
            let select = if in_containers { selected(value) } else { None };
            let wanted = wanted(entries);
            if wanted.members().is_empty() && self.findings.len() == before {
                self.error(&WRONG_VALUE, value.at(), "this names no entry to remove", "");
            }
            if in_containers && select.is_none() || wanted.members().is_empty() {
                continue;
            }
            let key = match (wanted.text("key"), schema.list()) {
                (_, List::Map(keys)) => key::of_overlay(&wanted, keys),
                (Some(key), _) => key.to_owned(),
                (None, _) => String::new(),
            };
            let clause = Clause::new(format!("remove[{index}]"), node.at());
            removals.push(Removal { clause, list: field.name, select, key, wanted });
        }
        removals
    }
}

/// The members that an entry must have to be removed.
fn wanted(entries: &[Entry]) -> Overlay {
    let mut members = Vec::new();
    for Entry { key, value, .. } in entries {
        let Some(text) = value.as_text().filter(|_| !value.is_null()).map(str::to_owned) else { continue };
        let name = |text: String| Overlay::map([("name".to_owned(), Overlay::Text(text))]);
        members.extend(match key.as_str() {
            "containers" | "init" => None,
            "configMap" => Some(("configMapRef".to_owned(), name(text))),
            "secret" => Some(("secretRef".to_owned(), name(text))),
            "containerPort" => {
                value.parsed().map(|port: u16| (key.clone(), Overlay::Literal(port.to_string())))
            }
            _ => Some((key.clone(), Overlay::Text(text))),
        });
    }
    Overlay::map(members)
}

fn selected(node: &Node) -> Option<Select> {
    let which = match node.get("containers")?.as_list() {
        Some(_) => SelectBy::Names(node.texts("containers")),
        None => chosen(node, "containers", &format::EVERY).map(|()| SelectBy::All)?,
    };
    Some(Select { which, exclude: Vec::new(), init: node.flag("init").unwrap_or_default() })
}

/// Reports removals of parts that a rule adds: the two would undo each other in every evaluation.
pub(super) fn findings(rules: &[Rule]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for rule in rules {
        for removal in &rule.removals {
            let shares = |other: &&Rule| other.targets.iter().any(|one| rule.targets.contains(one));
            if let Some(writer) = rules.iter().filter(shares).find(|other| adds_removed_entry(other, removal))
            {
                let message = format!(
                    "what is removed from `{}` here is written by rule `{}`",
                    removal.list, writer.name
                );
                findings.push(rule.text.finding(&REMOVES_WRITTEN, removal.clause.at, message));
            }
        }
    }
    findings
}

fn adds_removed_entry(rule: &Rule, removal: &Removal) -> bool {
    let same = |item: &Item| {
        if removal.key.is_empty() || removal.list == "tolerations" {
            may_contain(&item.overlay, &removal.wanted)
        } else {
            // An expression may compute any key.
            item.key == removal.key || item.key.contains(COMPUTED)
        }
    };
    // A rule that injects a container into the first position writes this annotation.
    let leads = (removal.list, &*removal.key) == ("annotations", DEFAULT_CONTAINER)
        && rule.injected.iter().any(|one| one.list == "containers");
    leads
        || rule.parts().any(|(destination, item)| {
            let may_meet = match (&removal.select, destination.base) {
                (None, Base::Metadata | Base::Spec) => true,
                (Some(select), Base::Containers(_, other)) => overlaps(select, other),
                _ => false,
            };
            may_meet && destination.path().eq([removal.list]) && same(item)
        })
}

fn overlaps(one: &Select, other: &Select) -> bool {
    match (&one.which, &other.which) {
        (SelectBy::Names(one), SelectBy::Names(other)) => one.iter().any(|name| other.contains(name)),
        _ => true,
    }
}

/// Whether `whole` may contain `part`. An expression may compute any value.
fn may_contain(whole: &Overlay, part: &Overlay) -> bool {
    match (whole, part) {
        (Overlay::Expression(_), _) => true,
        (Overlay::Map(_) | Overlay::Loop(_), Overlay::Map(members)) => {
            members.iter().all(|Member { name, value, .. }| match whole.get(name) {
                Some(found) => may_contain(found, value),
                None => value.is_default(name),
            })
        }
        (Overlay::Text(one) | Overlay::Literal(one), Overlay::Text(other) | Overlay::Literal(other)) => {
            one == other
        }
        _ => false,
    }
}
