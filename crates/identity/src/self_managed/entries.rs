//! The entries that a registered object holds, and the patches that change them.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use super::managed_fields::{FieldManagers, owned_fields, owns_field};
use crate::desired::{ENTRIES, Owner, name_of};
use crate::{Desired, RegistrationKind};

/// The claim: the hash of a version that will write its entries if no replica of the owner objects.
const CLAIM: &str = "vestibule.dev/entries-claim";

/// The entries of an object at one resourceVersion.
#[derive(Default)]
pub(super) struct StoredEntries {
    /// The version of the program that wrote the entries; [`None`] if they never were, or the annotation is gone.
    pub(super) owner: Option<Owner>,
    /// The hash of the claiming version.
    pub(super) claim: Option<String>,
    /// The stored list, or the stored conversion.
    value: Option<Value>,
    /// The fields that only our field managers own: entry name and field name.
    fields: BTreeSet<(String, String)>,
}

impl StoredEntries {
    pub(super) fn read(kind: RegistrationKind, object: &DynamicObject, ours: &FieldManagers) -> Self {
        let annotation = |key| object.metadata.annotations.as_ref()?.get(key);
        let value = object.data.pointer(pointer(kind)).cloned();
        let names = value.iter().filter_map(Value::as_array).flatten().filter_map(name_of);
        let fields = names.flat_map(|name| fields_of(name, object, ours)).collect();
        Self {
            owner: Owner::of(object.metadata.annotations.as_ref()),
            claim: annotation(CLAIM).filter(|claim| !claim.is_empty()).cloned(),
            value,
            fields,
        }
    }

    /// Whether a desired entry is missing. Changes of other programs to an existing entry stay.
    pub(super) fn lacks(&self, desired: &Desired) -> bool {
        match desired.registration().kind {
            RegistrationKind::CustomResource => {
                let strategy = self.value.as_ref().and_then(|conversion| conversion.get("strategy"));
                strategy.and_then(Value::as_str) != Some("Webhook")
            }
            _ => desired.names().any(|name| self.find(name).is_none()),
        }
    }

    /// The operations that write the missing entries with their bundle; if another version owns the entries, also the ones that
    /// differ.
    pub(super) fn write(&self, desired: &Desired, bundle: &str) -> Vec<Value> {
        let is_owner = self.owner.as_ref().is_some_and(|owner| owner.hash == desired.hash);
        let mut operations = match desired.registration().kind {
            RegistrationKind::CustomResource => self.convert(desired, bundle),
            _ => self.list(desired, bundle, is_owner),
        };
        if !is_owner {
            let words: Vec<_> = std::iter::once(&*desired.hash).chain(desired.names()).collect();
            operations.push(annotate(ENTRIES, &words.join(" ")));
        }
        operations.extend(self.claim.is_some().then(|| withdraw(CLAIM)));
        operations
    }

    fn convert(&self, desired: &Desired, bundle: &str) -> Vec<Value> {
        let Some(conversion) = desired.entries().first() else { return Vec::new() };
        let trusting = with_bundle(conversion, "/webhook/clientConfig", bundle);
        let operation = json!({ "op": "add", "path": "/spec/conversion", "value": trusting });
        (self.value.as_ref() != Some(&trusting)).then_some(operation).into_iter().collect()
    }

    fn list(&self, desired: &Desired, bundle: &str, is_owner: bool) -> Vec<Value> {
        let entry = |entry: &Value| with_bundle(entry, "/clientConfig", bundle);
        if self.value.is_none() && !desired.entries().is_empty() {
            let entries: Vec<_> = desired.entries().iter().map(entry).collect();
            return vec![json!({ "op": "add", "path": "/webhooks", "value": entries })];
        }
        let mut operations = Vec::new();
        for entry in desired.entries().iter().map(entry).filter(|_| !is_owner) {
            if let Some((index, present)) = name_of(&entry).and_then(|name| self.find(name)) {
                operations.extend(self.change(index, present, &entry));
            }
        }
        let list = self.value.iter().filter_map(Value::as_array).flatten();
        let mut names: Vec<_> = list.map(name_of).collect();
        // From the last index on, so that the other indexes stay valid.
        for index in self.left_over(desired).into_iter().rev().filter(|_| !is_owner) {
            operations.push(json!({ "op": "remove", "path": format!("/webhooks/{index}") }));
            names.remove(index);
        }
        // The API server calls entries in their order, so each is inserted before the entries that follow it.
        for (position, missing) in desired.entries().iter().enumerate() {
            let name = name_of(missing);
            if names.contains(&name) {
                continue;
            }
            let mut after = desired.names().skip(position + 1);
            let place = after.find_map(|next| names.iter().position(|name| *name == Some(next)));
            let end = place.map_or("-".to_owned(), |index| index.to_string());
            let path = format!("/webhooks/{end}");
            operations.push(json!({ "op": "add", "path": path, "value": entry(missing) }));
            names.insert(place.unwrap_or(names.len()), name);
        }
        operations
    }

    /// The operations that change an entry to the new version; fields that only an earlier version of ours wrote are removed.
    fn change(&self, index: usize, present: &Value, entry: &Value) -> Vec<Value> {
        let (Some(present), Some(entry)) = (present.as_object(), entry.as_object()) else {
            return Vec::new();
        };
        let path = |field: &str| format!("/webhooks/{index}/{}", escape(field));
        let differs = |(field, value): &(&String, &Value)| present.get(*field) != Some(*value);
        let written = entry
            .iter()
            .filter(differs)
            .map(|(field, value)| json!({ "op": "add", "path": path(field), "value": value }));
        let name = present.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_old = |field: &&String| {
            !entry.contains_key(*field) && self.fields.contains(&(name.to_owned(), (*field).clone()))
        };
        let old = present.keys().filter(is_old);
        written.chain(old.map(|field| json!({ "op": "remove", "path": path(field) }))).collect()
    }

    /// The indexes of entries that an earlier version wrote and this one does not want.
    fn left_over(&self, desired: &Desired) -> BTreeSet<usize> {
        let names = self.owner.iter().flat_map(|owner| &owner.names);
        let unwanted = names.filter(|name| !desired.names().any(|wanted| wanted == **name));
        unwanted.filter_map(|name| Some(self.find(name)?.0)).collect()
    }

    fn find(&self, name: &str) -> Option<(usize, &Value)> {
        let list = self.value.as_ref().and_then(Value::as_array)?;
        list.iter().enumerate().find(|(_, entry)| name_of(entry) == Some(name))
    }
}

/// The operations by which a version asks for the entries of another.
pub(super) fn claim(desired: &Desired) -> Vec<Value> {
    vec![annotate(CLAIM, &desired.hash)]
}

/// The operations by which the owner of the entries says that it is still there.
pub(super) fn object_to_claim() -> Vec<Value> {
    vec![withdraw(CLAIM)]
}

fn pointer(kind: RegistrationKind) -> &'static str {
    match kind {
        RegistrationKind::CustomResource => "/spec/conversion",
        _ => "/webhooks",
    }
}

fn fields_of(name: &str, object: &DynamicObject, ours: &FieldManagers) -> Vec<(String, String)> {
    let key = format!("k:{}", json!({ "name": name }));
    let entry = ["f:webhooks".to_owned(), key];
    let managers = || object.metadata.managed_fields.iter().flatten();
    let mine = managers().filter(|manager| ours.include(manager));
    let mine = mine.filter_map(|manager| owned_fields(manager, &entry)?.as_object());
    let fields = mine.flat_map(Map::keys).filter_map(|key| key.strip_prefix("f:"));
    let is_shared = |field: &&str| {
        let way = [entry[0].clone(), entry[1].clone(), format!("f:{field}")];
        managers().any(|manager| !ours.include(manager) && owns_field(manager, &way))
    };
    let alone = fields.filter(|field| !is_shared(field) && *field != "name");
    alone.map(|field| (name.to_owned(), field.to_owned())).collect()
}

fn with_bundle(entry: &Value, config: &str, bundle: &str) -> Value {
    let mut entry = entry.clone();
    if let Some(Value::Object(config)) = entry.pointer_mut(config) {
        config.insert("caBundle".to_owned(), json!(ByteString(bundle.as_bytes().to_vec())));
    }
    entry
}

pub(super) fn annotate(key: &str, value: &str) -> Value {
    json!({ "op": "add", "path": format!("/metadata/annotations/{}", escape(key)), "value": value })
}

fn withdraw(key: &str) -> Value {
    json!({ "op": "remove", "path": format!("/metadata/annotations/{}", escape(key)) })
}

/// RFC 6901, section 3.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
