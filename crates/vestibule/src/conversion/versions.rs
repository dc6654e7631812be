//! Conversion from one typed version to another, through the hub.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use vestibule_admission::{Converter, Unconvertible};
use vestibule_patch::{Document, View};

use super::preserve_unknown::preserve_unknown;
use crate::decode::decode;

/// The versions by their `apiVersion`.
pub(super) struct Versions<H>(BTreeMap<String, Box<dyn Convert<H>>>);

/// A version, converted to and from the hub `H`.
trait Convert<H>: Send + Sync {
    /// The object as `H`, and the members of the text that this version knows.
    fn read(&self, text: &str) -> Result<(H, String), Unconvertible>;

    fn write(&self, hub: H) -> Result<String, Unconvertible>;

    /// The members of the text that this version knows; [`None`] if the text does not fit its type.
    fn known(&self, text: &str) -> Option<String>;
}

pub(super) struct TypedVersion<S, H, U, D> {
    to_hub: U,
    from_hub: D,
    of: PhantomData<fn(S) -> H>,
}

impl<H> Versions<H> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Returns `false` if there is such a version already.
    pub(super) fn add<S, U, D, E, F>(&mut self, api_version: &str, version: TypedVersion<S, H, U, D>) -> bool
    where
        S: Serialize + DeserializeOwned + 'static,
        H: 'static,
        U: Fn(S) -> Result<H, E> + Send + Sync + 'static,
        D: Fn(H) -> Result<S, F> + Send + Sync + 'static,
        E: Display,
        F: Display,
    {
        let is_new = !self.0.contains_key(api_version);
        if is_new {
            self.0.insert(api_version.to_owned(), Box::new(version));
        }
        is_new
    }

    fn get(&self, api_version: &str) -> Result<&dyn Convert<H>, Unconvertible> {
        self.0.get(api_version).map(|version| &**version).ok_or_else(|| {
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
        let (hub, known) = from.read(received)?;
        let converted = to.write(hub)?;
        let whole = preserve_unknown(received, &known, &converted)
            // A member that the new version knows must come from the converter, not from the received object.
            .filter(|whole| to.known(whole).is_some_and(|known| is_same(&known, &converted)));
        RawValue::from_string(whole.unwrap_or(converted)).map_err(|_| unwritable())
    }
}

impl<S, H, U, D> TypedVersion<S, H, U, D> {
    pub(super) fn new(to_hub: U, from_hub: D) -> Self {
        Self { to_hub, from_hub, of: PhantomData }
    }
}

impl<S, H, U, D, E, F> Convert<H> for TypedVersion<S, H, U, D>
where
    S: Serialize + DeserializeOwned,
    U: Fn(S) -> Result<H, E> + Send + Sync,
    D: Fn(H) -> Result<S, F> + Send + Sync,
    E: Display,
    F: Display,
{
    fn read(&self, text: &str) -> Result<(H, String), Unconvertible> {
        let object: S = decode(text).map_err(|error| undecodable(&error))?;
        let known = serde_json::to_string(&object).map_err(|_| unwritable())?;
        // The alternate form: some errors, such as those of `anyhow`, write their causes only then.
        let hub = (self.to_hub)(object).map_err(|why| Unconvertible::new(format_args!("{why:#}")))?;
        Ok((hub, known))
    }

    fn write(&self, hub: H) -> Result<String, Unconvertible> {
        let object = (self.from_hub)(hub).map_err(|why| Unconvertible::new(format_args!("{why:#}")))?;
        serde_json::to_string(&object).map_err(|_| unwritable())
    }

    fn known(&self, text: &str) -> Option<String> {
        serde_json::to_string(&decode::<S>(text).ok()?).ok()
    }
}

/// Compares by value: a `HashMap` writes its members in a random order.
fn is_same(one: &str, other: &str) -> bool {
    match (Document::parse(one), Document::parse(other)) {
        (Ok(one), Ok(other)) => one.view().same_as(other.view()),
        _ => false,
    }
}

/// The error names the line and column only: serde's own text may quote a value.
fn undecodable(error: &serde_json::Error) -> Unconvertible {
    let (line, column) = (error.line(), error.column());
    Unconvertible::new(format_args!("line {line} column {column} of it does not fit its version's type"))
}

fn unwritable() -> Unconvertible {
    Unconvertible::new("it cannot be written as JSON")
}
