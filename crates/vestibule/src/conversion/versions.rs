//! Conversion from one typed version to another, through the hub.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use vestibule_admission::{Converter, Unconvertible};
use vestibule_patch::View;

use super::preserve_unknown::preserve_unknown;
use crate::decode::{decode, is_same_in_any_order, is_same_json};

/// The versions by their `apiVersion`.
pub(super) struct Versions<H>(BTreeMap<String, TypedVersion<H>>);

/// A version, converted to and from the hub `H`.
struct TypedVersion<H> {
    read: Box<Read<H>>,
    write: Box<Write<H>>,
    /// The members of the text that this version knows; [`None`] if the text does not fit its type.
    known: fn(&str) -> Option<String>,
    /// See [`Versions::add`].
    beside_spec: Option<Value>,
}

/// Returns the object as `H`, and the members of the text that this version knows.
type Read<H> = dyn Fn(&str) -> Result<(H, String), Unconvertible> + Send + Sync;
type Write<H> = dyn Fn(H) -> Result<String, Unconvertible> + Send + Sync;

impl<H> Versions<H> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Returns `false` if there is such a version already. `beside_spec` has the schemas of the other members of an object whose spec
    /// is required, and is [`None`] if it is not.
    pub(super) fn add<S, E, F>(
        &mut self,
        api_version: String,
        beside_spec: Option<Value>,
        to_hub: impl Fn(S) -> Result<H, E> + Send + Sync + 'static,
        from_hub: impl Fn(H) -> Result<S, F> + Send + Sync + 'static,
    ) -> bool
    where
        S: Serialize + DeserializeOwned + 'static,
        E: Display,
        F: Display,
    {
        let Entry::Vacant(place) = self.0.entry(api_version) else { return false };
        place.insert(TypedVersion {
            read: Box::new(move |text| {
                let object: S = decode(text).map_err(|error| undecodable(&error))?;
                let known = encode(&object)?;
                Ok((to_hub(object).map_err(refused)?, known))
            }),
            write: Box::new(move |hub| encode(&from_hub(hub).map_err(refused)?)),
            known: |text| encode(&decode::<S>(text).ok()?).ok(),
            beside_spec,
        });
        true
    }

    fn get(&self, api_version: &str) -> Result<&TypedVersion<H>, Unconvertible> {
        self.0.get(api_version).ok_or_else(|| {
            let known = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            Unconvertible::new(format_args!("only {known} are known here"))
        })
    }
}

impl<H: 'static> Converter for Versions<H> {
    fn convert(&self, object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
        let received = object.get();
        let api_version = View::of(object).get("apiVersion").and_then(View::as_str);
        let api_version = api_version.ok_or_else(|| Unconvertible::new("it has no apiVersion"))?;
        let (from, to) = (self.get(&api_version)?, self.get(desired)?);
        let (hub, known) = match (from.read)(received) {
            Ok(read) => read,
            // Server-side apply asks for the fields that remain without those of a manager which applies another version than
            // before, and stores none of their values (`addBackOwnedItems` in structured-merge-diff). A failure would
            // refuse the apply.
            Err(_) if from.has_same_remainder(to, View::of(object)) => {
                return with_version(View::of(object), desired);
            }
            Err(why) => return Err(why),
        };
        let converted = (to.write)(hub)?;
        let whole = preserve_unknown(received, &known, &converted)
            .filter(|whole| to.sets_no_known_member(whole, &converted));
        RawValue::from_string(whole.unwrap_or(converted)).map_err(|_| unwritable())
    }
}

impl<H> TypedVersion<H> {
    /// Whether `object` lacks the spec that this version requires, and its other members are the same in the other version.
    fn has_same_remainder(&self, other: &Self, object: View<'_>) -> bool {
        let only_metadata =
            || object.entries().iter().all(|(name, _)| ["apiVersion", "kind", "metadata"].contains(&&**name));
        self.beside_spec.is_some()
            && object.get("spec").is_none()
            && (self.beside_spec == other.beside_spec || only_metadata())
    }

    /// A member that this version knows must come from the converter, not from the received object.
    fn sets_no_known_member(&self, whole: &str, converted: &str) -> bool {
        let Some(known) = (self.known)(whole) else { return false };
        // A type need not read all that it writes, and a `HashSet` writes its items in a random order.
        is_same_json(&known, converted)
            || (self.known)(converted).is_some_and(|converted| is_same_in_any_order(&known, &converted))
    }
}

/// The object in another version, with the same members.
fn with_version(object: View<'_>, version: &str) -> Result<Box<RawValue>, Unconvertible> {
    let version = Value::from(version).to_string();
    let members = object.entries().into_iter().map(|(name, value)| match &*name {
        "apiVersion" => format!("\"apiVersion\":{version}"),
        name => format!("{}:{}", Value::from(name), value.to_json()),
    });
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    RawValue::from_string(text).map_err(|_| unwritable())
}

/// The error names the line and column only: serde's own text may quote a value.
fn undecodable(error: &serde_json::Error) -> Unconvertible {
    let (line, column) = (error.line(), error.column());
    Unconvertible::new(format_args!("line {line} column {column} of it does not fit its version's type"))
}

/// The alternate form: some errors, such as those of `anyhow`, write their causes only then.
fn refused(why: impl Display) -> Unconvertible {
    Unconvertible::new(format_args!("{why:#}"))
}

fn encode<T: Serialize>(object: &T) -> Result<String, Unconvertible> {
    serde_json::to_string(object).map_err(|_| unwritable())
}

fn unwritable() -> Unconvertible {
    Unconvertible::new("it cannot be written as JSON")
}
