//! The variable that tells the answering container what to ask the others. The form of its value is that of Istio's
//! `ISTIO_KUBE_APP_PROBERS`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vestibule_patch::{Kind, Operation, Pointer};

use super::super::contains::present;
use super::super::draft::Draft;
use super::super::json;
use super::found::FoundProbe;
use super::{check_length, set_text};
use crate::decision::Origin;
use crate::rule::ProbeRewrite;
use crate::subject::string_member;

pub(super) struct Variable<'r> {
    name: &'r str,
    /// The handlers by the path that the kubelet asks for.
    probes: BTreeMap<String, Value>,
    /// The list of variables, and its length.
    list: Pointer,
    length: Option<usize>,
    /// Its index and the text of its value, if the container has it.
    written: Option<(usize, String)>,
}

impl<'r> Variable<'r> {
    /// The variable as the container at `at`, a list and an index, has it.
    pub(super) fn of(
        draft: &Draft<'_>,
        at: (&str, usize),
        rewrite: &'r ProbeRewrite,
    ) -> Result<Self, String> {
        let env = draft.layout.list(at.0).item(at.1).child("env");
        Self::read(draft, env, &rewrite.variable).map_err(|why| {
            format!("variable `{}` of container `{}` {why}", rewrite.variable, rewrite.container)
        })
    }

    /// Its value, if the container has it.
    pub(super) fn value(&self) -> Option<&str> {
        self.written.as_ref().map(|(_, value)| &**value)
    }

    fn read(draft: &Draft<'_>, list: Pointer, name: &'r str) -> Result<Self, &'static str> {
        let mut variable = Self { name, probes: BTreeMap::new(), list, length: None, written: None };
        let Some(found) = draft.at(&variable.list) else { return Ok(variable) };
        if found.kind() != Kind::Array {
            return Err("cannot be written: `env` is not a list");
        }
        let items = found.items();
        variable.length = Some(items.len());
        // Of two variables with one name, the last one counts.
        let Some(index) = items.iter().rposition(|one| string_member(*one, "name").as_deref() == Some(name))
        else {
            return Ok(variable);
        };
        let item = items.get(index).copied();
        if item.is_some_and(|item| present(item, "valueFrom").is_some()) {
            return Err("has its value from elsewhere, so the probes cannot be added to it");
        }
        let value = string_member(item, "value").unwrap_or_default().into_owned();
        if !value.is_empty() {
            variable.probes =
                serde_json::from_str(&value).map_err(|_| "has a value that is no JSON object")?;
        }
        variable.written = Some((index, value));
        Ok(variable)
    }

    /// Adds the handler of `probe` for the path `url`. Its port is a number.
    pub(super) fn insert(&mut self, url: String, probe: &FoundProbe) -> Result<(), String> {
        let mut handler: Value = serde_json::from_str(&probe.value).map_err(|_| json::not_json())?;
        if let (Some(port), Some(number)) = (handler.get_mut("port"), probe.port) {
            *port = Value::from(number);
        }
        let mut described = Map::from_iter([(probe.handler.to_owned(), handler)]);
        described.extend(probe.timeout.map(|seconds| ("timeoutSeconds".to_owned(), Value::from(seconds))));
        self.probes.insert(url, Value::Object(described));
        Ok(())
    }

    /// Undoes the addition of the probes `urls` to the value `before`, or to no variable.
    pub(super) fn restore<'u>(
        mut self,
        urls: impl Iterator<Item = &'u String>,
        before: Option<&str>,
        draft: &mut Draft<'_>,
        origin: &Origin,
    ) -> Result<(), String> {
        let mut known: BTreeMap<String, Value> =
            before.and_then(|before| serde_json::from_str(before).ok()).unwrap_or_default();
        for url in urls {
            self.probes.remove(url);
            known.remove(url);
        }
        match (before, &self.written) {
            // No other program has changed it since.
            (Some(before), Some((index, _))) if self.probes == known => {
                set_text(draft, &self.list.item(*index).child("value"), before, origin)
            }
            _ => self.write(draft, origin),
        }
    }

    /// Writes the variable, or removes it if it has no probes left.
    pub(super) fn write(self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        if self.probes.is_empty() {
            return self.remove_from(draft, origin);
        }
        let value = serde_json::to_string(&self.probes).map_err(|error| error.to_string())?;
        let value = check_length(value, &format!("variable `{}`", self.name))?;
        if let Some((index, written)) = self.written {
            let place = self.list.item(index).child("value");
            return if written == value { Ok(()) } else { set_text(draft, &place, &value, origin) };
        }
        let item = serde_json::json!({"name": self.name, "value": value});
        match self.length {
            Some(length) => draft.append(&self.list, length, json::of(&item)?, origin.clone()),
            None => draft.set(self.list, json::of(&[item])?, origin.clone()),
        }
    }

    fn remove_from(self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        let Some((index, _)) = self.written else { return Ok(()) };
        let path = if self.length == Some(1) { self.list } else { self.list.item(index) };
        draft.apply(Operation::Remove { path }, origin.clone())
    }
}
