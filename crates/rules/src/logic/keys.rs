//! Computes the keys of list items that are expressions (docs/adr/0063).
//!
//! Keys identify the items of rules and pods, so `evaluate` needs them before any rule is applied. Their expressions
//! therefore do not read the object.

use std::collections::HashSet;

use vestibule_patch::{Key, List, Schema};

use super::failure;
use crate::expression::Scope;
use crate::key::{self, COMPUTED};
use crate::load::{check, refusal};
use crate::merge::Failure;
use crate::overlay::Overlay;
use crate::pod::Shape;
use crate::rule::{Clause, Item, Part, Rule};

/// `rule` with the values of its keys.
pub(crate) fn with_keys(rule: &Rule, scope: &Scope<'_>, shape: &Shape) -> Result<Rule, Failure> {
    let mut rule = rule.clone();
    for_each(&mut rule, shape, |item, _, list| match list {
        List::Map(keys) if item.key.contains(COMPUTED) => set_key(item, keys, scope),
        _ => Ok(()),
    })?;
    Ok(rule)
}

/// Checks the computed keys of `rule`, within items too, as `load` checks written keys.
pub(crate) fn checked(rule: &mut Rule, shape: &Shape) -> Result<(), Failure> {
    if !rule.logic.computes_keys {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for_each(rule, shape, |item, place, list| {
        let Place { field, schema, above } = *place;
        let sentence = match list {
            List::Map(_) if !seen.insert((above.to_owned(), item.key.clone())) => {
                Some(twice(&item.key, field))
            }
            _ => None,
        };
        let sentence = sentence.or_else(|| valid(field, &item.overlay).err());
        let sentence = sentence.or_else(|| within(&item.overlay, schema.item()).err());
        match sentence.or_else(|| refusal(field, &item.overlay)) {
            Some(sentence) => Err(refused(&item.clause, sentence)),
            None => Ok(()),
        }
    })
}

/// The list of an item.
struct Place<'p> {
    field: &'p str,
    schema: Schema<'p>,
    /// The path of the list in the rule.
    above: &'p str,
}

/// Calls `visit` with every item of a list.
fn for_each(
    rule: &mut Rule,
    shape: &Shape,
    mut visit: impl FnMut(&mut Item, &Place<'_>, List) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut each = |item: &mut Item, field: &str, schema: Schema<'_>, above: &str| {
        visit(item, &Place { field, schema, above }, schema.list())
    };
    rule.volumes.iter_mut().try_for_each(|item| each(item, "volumes", shape.volumes, "volumes"))?;
    // Names are unique among all containers of a pod, so they count as one list.
    let injected = rule.injected.iter_mut();
    injected
        .map(|one| &mut one.item)
        .try_for_each(|item| each(item, "containers", shape.containers, "containers"))?;
    parts(&mut rule.spec, shape.spec, "", &mut each)?;
    for (number, block) in rule.blocks.iter_mut().enumerate() {
        let above = number.to_string();
        for list in &mut block.lists {
            let (field, schema) = (list.member, shape.container.field(list.member));
            let above = format!("{above}/{field}");
            list.items.iter_mut().try_for_each(|item| each(item, field, schema, &above))?;
        }
        parts(&mut block.parts, shape.container, &above, &mut each)?;
    }
    Ok(())
}

fn parts(
    parts: &mut [Part],
    schema: Schema<'_>,
    above: &str,
    each: &mut impl FnMut(&mut Item, &str, Schema<'_>, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    parts.iter_mut().filter(|part| part.listed).try_for_each(|Part { path, item, .. }| {
        let schema = path.iter().fold(schema, |schema, name| schema.field(name));
        each(item, path.last().map_or("", String::as_str), schema, &format!("{above}/{}", path.join("/")))
    })
}

fn set_key(item: &mut Item, keys: &[Key], scope: &Scope<'_>) -> Result<(), Failure> {
    let mut overlay = item.overlay.clone();
    if let Overlay::Map(members) = &mut overlay {
        for member in members.iter_mut().filter(|member| keys.iter().any(|key| key.name == member.name)) {
            let Overlay::Expression(expression) = &member.value else { continue };
            let value = expression.overlay(scope).map_err(|error| {
                failure(Clause { text: item.clause.text.clone(), at: expression.at }, &error)
            })?;
            // The check of the key reports an empty one.
            member.value = value.unwrap_or(Overlay::Text(String::new()));
        }
    }
    item.key = key::of_overlay(&overlay, keys);
    item.set(overlay);
    Ok(())
}

/// Checks the lists with keys within an item.
// Recursion is bounded by the depth of the rule's document.
fn within(overlay: &Overlay, schema: Schema<'_>) -> Result<(), String> {
    for member in overlay.members() {
        let schema = schema.field(&member.name);
        if let List::Map(keys) = schema.list() {
            let mut seen = HashSet::new();
            for item in member.value.items() {
                let key = key::of_overlay(item, keys);
                valid(&member.name, item)?;
                if seen.contains(&key) {
                    return Err(twice(&key, &member.name));
                }
                seen.insert(key);
            }
        }
        member.value.items().iter().try_for_each(|item| within(item, schema.item()))?;
        within(&member.value, schema)?;
    }
    Ok(())
}

/// Checks the key of an item of the list `field` as the API server does.
fn valid(field: &str, item: &Overlay) -> Result<(), String> {
    let name = item.text("name");
    let wants = |wanted: &str| format!("`name` of an item of `{field}` wants {wanted}");
    match (field, name, item.get("containerPort")) {
        ("env", Some(name), _) => check::variable(name).map_err(wants),
        ("volumes" | "containers" | "initContainers", Some(name), _) => check::name(name).map_err(wants),
        ("ports", _, Some(Overlay::Literal(number))) => {
            let fits = number.parse().is_ok_and(|number: i64| (1..=65_535).contains(&number));
            fits.then_some(()).ok_or_else(|| "`containerPort` wants a number from 1 to 65535".to_owned())
        }
        _ => Ok(()),
    }
}

fn twice(key: &str, field: &str) -> String {
    format!("`{key}` stands twice in `{field}`, where its expressions have values")
}

fn refused(clause: &Clause, sentence: String) -> Failure {
    Failure { clause: clause.clone(), sentence, conflict: None }
}
