//! Adds members: labels and annotations, fields of the pod's specification and of its containers.

use std::borrow::Cow;

use vestibule_patch::{Pointer, Schema};

use super::contains::{contains, means_absence, present};
use super::overlay_onto::overlay_onto;
use super::overrides::scope;
use super::{Failure, Merge, conflict, insertions, json, list_index};
use crate::overlay::{Member, Overlay};
use crate::pod;
use crate::rule::{Item, OnConflict, Part};
use crate::subject::string_member;

/// Names of classes, and the fields that the API server derives from each class.
const CLASSES: [(&str, &[&str]); 2] =
    [("priorityClassName", &["priority", "preemptionPolicy"]), ("runtimeClassName", &["overhead"])];

/// Parts that belong into a map or list that is absent. All of them are added in one operation.
struct Missing<'r> {
    /// The outermost map or list that is absent.
    place: Pointer,
    /// The number of steps from the base to `place`.
    depth: usize,
    parts: Vec<&'r Part>,
}

impl<'r> Merge<'_, 'r, '_, '_> {
    /// Adds `parts` to the object at `base`. `name` is the scope of its overrides.
    pub(super) fn parts(
        &mut self,
        base: &Pointer,
        name: &str,
        block: usize,
        schema: Schema<'_>,
        parts: &'r [Part],
    ) -> Result<(), Failure> {
        let are_many = parts.len() >= list_index::FEW;
        if self.uses_indexes || are_many {
            self.open_maps(base, parts);
        }
        let mut missing: Vec<Missing<'r>> = Vec::new();
        let mut lists: Vec<(&'r [String], Vec<&'r Part>)> = Vec::new();
        for part in parts {
            let Part { path, item, listed } = part;
            if self.is_overridden_later(|| scope(name, path), &item.key, block) {
                continue;
            }
            match lists.iter_mut().find(|(list, _)| list == path) {
                Some((_, parts)) => parts.push(part),
                None if *listed => lists.push((path, vec![part])),
                None => self.entry(base, schema, part, &mut missing)?,
            }
        }
        let large: Vec<_> =
            lists.iter().filter(|(_, parts)| parts.len() >= list_index::FEW).cloned().collect();
        for (path, parts) in lists {
            self.list(base, schema, path, parts, &mut missing)?;
        }
        for Missing { place, depth, parts } in missing {
            let Some(first) = parts.first() else { continue };
            let clause = match parts.len() {
                1 => first.item.clause.clone(),
                _ => first.item.clause.above(first.path.len() + 1 - depth),
            };
            let value = combined(&parts, depth);
            self.change(&clause, |draft, origin| draft.set(place, json::of_overlay(&value)?, origin))?;
        }
        // The status looks up each part again.
        if are_many {
            self.open_maps(base, parts);
        }
        for (path, parts) in large {
            let (schema, name) = below_schema(schema, path);
            self.index(&below(base, path), name, schema, parts.iter().map(|part| &part.item.overlay));
        }
        Ok(())
    }

    /// Opens the maps that `parts` belong into for frequent lookups.
    fn open_maps(&mut self, base: &Pointer, parts: &[Part]) {
        let mut last = None;
        for part in parts.iter().filter(|part| !part.listed) {
            if last.replace(&part.path) != Some(&part.path) {
                self.draft.open_at(&below(base, &part.path));
            }
        }
    }

    /// The names of the pod's classes, of those that the rule has.
    pub(super) fn classes(&self) -> [Option<String>; 2] {
        CLASSES.map(|(class, _)| self.class(class))
    }

    fn class(&self, class: &str) -> Option<String> {
        self.spec_part(class)?;
        string_member(self.draft.at(&self.draft.layout.spec), class).map(Cow::into_owned)
    }

    /// The rule's part for the member `name` of the specification.
    fn spec_part(&self, name: &str) -> Option<&'r Part> {
        self.rule.spec.iter().find(|part| part.path.is_empty() && part.item.key == name)
    }

    /// Removes the fields that the API server derived from the `previous` classes of the pod. It derives absent fields again, and
    /// refuses a pod whose fields do not fit its classes.
    pub(super) fn remove_derived(&mut self, previous: &[Option<String>]) -> Result<(), Failure> {
        for ((class, derived), previous) in CLASSES.into_iter().zip(previous) {
            let Some(part) = self.spec_part(class) else { continue };
            if self.class(class) == *previous {
                continue;
            }
            for name in derived {
                let place = self.draft.layout.spec.child(name);
                // A map of the rule has a part for each of its members.
                let is_written =
                    self.rule.spec.iter().any(|part| part.path.first().unwrap_or(&part.item.key) == name);
                if !is_written && self.draft.at(&place).is_some() {
                    self.remove(&part.item.clause, place)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a member of a map.
    fn entry(
        &mut self,
        base: &Pointer,
        schema: Schema<'_>,
        part: &'r Part,
        missing: &mut Vec<Missing<'r>>,
    ) -> Result<(), Failure> {
        let Part { path, item, .. } = part;
        let place = below(base, path).child(&item.key);
        let Some(found) = self.draft.at(&place) else {
            let (object, map) =
                (|| self.draft.at(&below(base, path)), path.last().map_or("", String::as_str));
            // Each further call would add a value that the API server omits.
            return match means_absence(object, map, &item.key, &item.overlay) {
                true => Ok(()),
                false => self.missing(base, part, missing),
            };
        };
        // All entries of maps such as `requests` have the type that the name of the map determines.
        let name = path.last().filter(|map| pod::is_text_map(map)).unwrap_or(&item.key);
        let schema = path.iter().chain([&item.key]).fold(schema, |schema, name| schema.field(name));
        if contains(found, &item.overlay, name, schema) {
            return Ok(());
        }
        match item.on_conflict {
            OnConflict::Keep | OnConflict::KeepOwn => Ok(()),
            OnConflict::Override => self.change(&item.clause, |draft, origin| {
                overlay_onto(draft, &place, &item.overlay, schema, &origin)
            }),
            on_conflict => {
                let map = path.last().map_or("the pod", String::as_str);
                Err(conflict(
                    item,
                    on_conflict,
                    format!("`{}` in `{map}` has another value already", item.key),
                ))
            }
        }
    }

    /// Adds items to the list at `path`.
    fn list(
        &mut self,
        base: &Pointer,
        schema: Schema<'_>,
        path: &'r [String],
        parts: Vec<&'r Part>,
        missing: &mut Vec<Missing<'r>>,
    ) -> Result<(), Failure> {
        let list = below(base, path);
        if self.draft.at(&list).is_none() {
            return parts.into_iter().try_for_each(|part| self.missing(base, part, missing));
        }
        let (schema, name) = below_schema(schema, path);
        let items: Vec<&Item> = parts.into_iter().map(|part| &part.item).collect();
        let sorted = self.sort(&list, name, schema, items)?;
        self.insert(&list, sorted.length, insertions::at(sorted.length, sorted.new))
    }

    /// Adds a part whose key is absent. If its map or list is absent too, the part is deferred, so that all parts of that are added
    /// in one operation.
    fn missing(
        &mut self,
        base: &Pointer,
        part: &'r Part,
        missing: &mut Vec<Missing<'r>>,
    ) -> Result<(), Failure> {
        let mut place = base.clone();
        let mut depth = 0;
        let mut found = self.draft.at(base);
        for name in &part.path {
            let Some(there) = found else { break };
            found = present(there, name);
            place = place.child(name);
            depth += 1;
        }
        if !part.listed && found.is_some() {
            let (item, place) = (&part.item, place.child(&part.item.key));
            return self.change(&item.clause, |draft, origin| draft.set(place, json::of_item(item)?, origin));
        }
        match missing.iter_mut().find(|one| one.place == place) {
            Some(one) => one.parts.push(part),
            None => missing.push(Missing { place, depth, parts: vec![part] }),
        }
        Ok(())
    }
}

fn below(base: &Pointer, path: &[String]) -> Pointer {
    path.iter().fold(base.clone(), |place, name| place.child(name))
}

/// The schema and the name of the list at `path`.
fn below_schema<'s, 'p>(schema: Schema<'s>, path: &'p [String]) -> (Schema<'s>, &'p str) {
    let schema = path.iter().fold(schema, |schema, name| schema.field(name));
    (schema, path.last().map_or("", String::as_str))
}

/// The value of all `parts` together, for the place that is `depth` steps down their paths.
fn combined(parts: &[&Part], depth: usize) -> Overlay {
    let is_list = |part: &&Part| part.listed && part.path.len() == depth;
    let mut value = match parts.first() {
        Some(part) if is_list(part) => Overlay::List(Vec::new()),
        _ => Overlay::Map(Vec::new()),
    };
    for part in parts {
        add_part(&mut value, part.path.get(depth..).unwrap_or_default(), part);
    }
    value
}

// Recursion is bounded by the depth of the rule's own document.
fn add_part(value: &mut Overlay, path: &[String], part: &Part) {
    match (value, path.split_first()) {
        (Overlay::List(items), None) => items.push(part.item.overlay.clone()),
        (Overlay::Map(members), None) => {
            members.push(Member::known(&part.item.key, part.item.overlay.clone()));
        }
        (Overlay::Map(members), Some((name, rest))) => {
            if !members.iter().any(|member| member.name == *name) {
                let listed = part.listed && rest.is_empty();
                let empty = if listed { Overlay::List(Vec::new()) } else { Overlay::Map(Vec::new()) };
                members.push(Member::known(name, empty));
            }
            let below = members.iter_mut().find(|member| member.name == *name);
            below.into_iter().for_each(|member| add_part(&mut member.value, rest, part));
        }
        // The reader refuses rules in which one part is a scalar and another one a member of it.
        _ => {}
    }
}
