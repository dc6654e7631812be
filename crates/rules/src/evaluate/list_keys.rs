//! Computes the keys of list items that are expressions (docs/adr/0063).
//!
//! Keys identify the items of rules and pods, so `evaluate` needs them before any rule is applied. Their expressions
//! therefore do not read the object.

use std::collections::{HashMap, HashSet};

use vestibule_patch::{Document, Key, List, Schema};

use super::computed_checks::failure;
use super::iteration::repeat;
use crate::expression::{ObjectValue, RequestScope, Scope, SharedBudget};
use crate::key::{self, COMPUTED};
use crate::load::feedback::{Readers, reserved};
use crate::merge::{Failure, invalid};
use crate::overlay::Overlay;
use crate::parameter;
use crate::pod::{self, Shape};
use crate::pod_types::type_error;
use crate::rule::{Base, Copied, Item, Part, Rule};
use crate::subject::{Received, Subject};
use crate::syntax;

/// The word of messages for all members that tell items apart.
const KEY: &str = "key";

/// The rules that compute keys, with the values of their keys, by name. The keys are computed before any rule is applied,
/// because each rule depends on the names that the others inject. A rule whose keys have no value is not in the result: it fails
/// when it is applied, if its conditions hold.
pub(super) fn with_keys<'r>(
    rules: &[&'r Rule],
    subject: &Subject<'_>,
    received: &Received<'_>,
    document: &Document<'_>,
    shape: &Shape,
    total: &SharedBudget,
) -> HashMap<&'r str, Rule> {
    let request_scope = RequestScope::new(subject, document.view(), total);
    let keyed = |rule: &&'r Rule| {
        let metadata = received.metadata(rule.metadata_of);
        let parameters = parameter::values(&rule.logic.parameters, subject, metadata, total).ok()?;
        let object = ObjectValue::default();
        let scope = Scope::new(&request_scope, document.view(), &object, &parameters, &rule.logic.variables);
        Some((rule.name(), set_keys(rule, &scope, shape).ok()?))
    };
    rules.iter().filter(|rule| rule.logic.computes_keys).filter_map(keyed).collect()
}

/// Checks the computed keys of `rule`, within items too, as `load` checks written keys.
pub(super) fn check(rule: &Rule, shape: &Shape) -> Result<(), Failure> {
    if !rule.logic.computes_keys {
        return Ok(());
    }
    let (mut seen, mut distinct) = (HashSet::new(), HashSet::new());
    for (destination, item) in rule.parts().filter(|(destination, _)| destination.is_item) {
        let schema = destination.schema(shape);
        // All containers and init containers of a pod have different names.
        let field =
            if destination.list == Some("initContainers") { "containers" } else { destination.name() };
        let block = match destination.base {
            Base::Containers(number, _) => Some(number),
            Base::Metadata | Base::Spec => None,
        };
        let outside = destination.path().rev().skip(1).collect::<Vec<_>>();
        let shared = distinct_members(field, &item.overlay)
            .find(|(member, values)| !distinct.insert((block, field, *member, values.clone())));
        let sentence = match pod::item_keys(field, schema.list()) {
            Some(_) if !seen.insert((block, outside, field, item.key.as_str())) => {
                Some(duplicate_message(KEY, field))
            }
            _ => shared.map(|(member, _)| duplicate_message(member, field)),
        };
        let sentence = sentence.or_else(|| check_key(field, &item.overlay).err());
        let sentence = sentence.or_else(|| check_nested_lists(&item.overlay, schema.item()).err());
        if let Some(sentence) = sentence.or_else(|| type_error(field, &item.overlay, schema.item())) {
            return Err(invalid(&item.clause, sentence));
        }
    }
    Ok(())
}

/// Checks computed labels and annotations, as `load` checks written ones: no rule may read them.
pub(super) fn check_metadata(rule: &Rule, readers: &Readers) -> Result<(), Failure> {
    for Part { path, item, .. } in &rule.metadata {
        let map = path.concat();
        let refused = readers.refused(rule, &map, &item.key);
        if let Some(sentence) = refused.or_else(|| Some(reserved(&map, &item.key)?.1)) {
            return Err(invalid(&item.clause, sentence));
        }
    }
    Ok(())
}

/// `rule` with the values of its keys.
fn set_keys(rule: &Rule, scope: &Scope<'_>, shape: &Shape) -> Result<Rule, Failure> {
    let mut rule = rule.clone();
    repeat(&mut rule, scope, shape)?;
    rule.replace_parts(|destination, item| {
        if destination.is_item
            && item.key.contains(COMPUTED)
            && let list = destination.schema(shape).list()
            && let Some(keys) = pod::item_keys(destination.name(), list)
        {
            return Ok(Some(vec![Copied::in_place(with_key(item, keys, list, scope)?)]));
        }
        Ok(None)
    })?;
    Ok(rule)
}

/// `item` with the value of its key.
fn with_key(item: &Item, keys: &[Key], list: List, scope: &Scope<'_>) -> Result<Item, Failure> {
    let mut overlay = item.overlay.clone();
    if let Overlay::Map(members) = &mut overlay {
        for member in members.iter_mut().filter(|member| keys.iter().any(|key| key.name == member.name)) {
            let Overlay::Expression(expression) = &member.value else { continue };
            // Only merge keys may not read the object.
            if expression.reads.object {
                continue;
            }
            let value = expression.overlay(scope);
            let value = value.map_err(|error| failure(&item.clause.text, expression.at, &error))?;
            // The check of the key reports an empty one.
            member.value = value.unwrap_or(Overlay::Text(String::new()));
        }
    }
    let key = key::of_overlay(&overlay, keys);
    // A member of a toleration may have no value.
    let overlay = if matches!(list, List::Map(_)) { overlay } else { item.overlay.clone() };
    Ok(Item::new(item.clause.clone(), key, overlay, item.on_conflict))
}

/// Checks the lists with keys within an item.
// Recursion is bounded by the depth of the rule's document.
fn check_nested_lists(overlay: &Overlay, schema: Schema<'_>) -> Result<(), String> {
    for member in overlay.members() {
        let schema = schema.field(&member.name);
        if let List::Map(keys) = schema.list() {
            let mut seen = HashSet::new();
            for item in member.value.items() {
                check_key(&member.name, item)?;
                let key = (KEY, key::of_overlay(item, keys));
                let mut all = std::iter::once(key).chain(distinct_members(&member.name, item));
                if let Some((what, _)) = all.find(|one| !seen.insert(one.clone())) {
                    return Err(duplicate_message(what, &member.name));
                }
            }
        }
        member.value.items().iter().try_for_each(|item| check_nested_lists(item, schema.item()))?;
        check_nested_lists(&member.value, schema)?;
    }
    Ok(())
}

/// Checks the key of an item of the list `field` as the API server does.
fn check_key(field: &str, item: &Overlay) -> Result<(), String> {
    let name = item.text("name");
    let wants = |wanted: &str| format!("`name` of an item of `{field}` wants {wanted}");
    match (field, name, item.get("containerPort")) {
        ("env", Some(name), _) => syntax::variable(name).map_err(wants),
        ("volumes" | "containers" | "initContainers", Some(name), _) => syntax::name(name).map_err(wants),
        ("ports", _, Some(Overlay::Literal(number))) => {
            let fits = number.parse().is_ok_and(|number: i64| (1..=65_535).contains(&number));
            fits.then_some(()).ok_or_else(|| "`containerPort` wants a number from 1 to 65535".to_owned())
        }
        _ => Ok(()),
    }
}

/// The members of an item of the list `field` besides its key that no other item has, with the values that are compared.
fn distinct_members(field: &str, item: &Overlay) -> impl Iterator<Item = (&'static str, String)> {
    let written = |name: &str| item.get(name).filter(|value| !value.is_default(name)).map(Overlay::to_json);
    pod::distinct(field).filter_map(move |(member, beside)| {
        let all = beside.iter().map(|name| written(name).unwrap_or_default());
        Some((member, std::iter::once(written(member)?).chain(all).collect::<Vec<_>>().join(" ")))
    })
}

/// The computed key itself may be a value of the object.
fn duplicate_message(what: &str, field: &str) -> String {
    let what = if what == KEY { what.to_owned() } else { format!("`{what}`") };
    format!("two items of `{field}` have the same {what}, where its expressions have values")
}
