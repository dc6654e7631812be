//! The variable that tells the answering container what to ask the others. The form of its value is that of Istio's
//! `ISTIO_KUBE_APP_PROBERS`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use vestibule_patch::{Kind, Operation, Pointer, View};

use super::super::draft::Draft;
use super::super::json;
use super::found::FoundProbe;
use super::{checked, set};
use crate::decision::Origin;
use crate::rule::ProbeRewrite;
use crate::subject::text;

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
    /// The variable as the container has it. `None` if there is no such container.
    pub(super) fn find(draft: &Draft<'_>, rewrite: &'r ProbeRewrite) -> Result<Option<Self>, String> {
        let (container, name) = (&*rewrite.container, &*rewrite.variable);
        for list in ["containers", "initContainers"] {
            let place = draft.layout.list(list);
            let containers = draft.at(&place).map(View::items).unwrap_or_default();
            let found =
                containers.iter().position(|one| text(Some(*one), "name").as_deref() == Some(container));
            if let Some(index) = found {
                let env = place.item(index).child("env");
                return Self::read(draft, env, name)
                    .map(Some)
                    .map_err(|why| format!("variable `{name}` of container `{container}` {why}"));
            }
        }
        Ok(None)
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
        let Some(index) = items.iter().rposition(|one| text(Some(*one), "name").as_deref() == Some(name))
        else {
            return Ok(variable);
        };
        let item = items.get(index).copied();
        if item.and_then(|item| item.get("valueFrom")).is_some_and(|from| !from.is_null()) {
            return Err("has its value from elsewhere, so the probes cannot be added to it");
        }
        let value = text(item, "value").unwrap_or_default();
        if !value.is_empty() {
            variable.probes =
                serde_json::from_str(&value).map_err(|_| "has a value that is no JSON object")?;
        }
        variable.written = Some((index, value));
        Ok(variable)
    }

    /// Adds the handler of `probe` for the path `url`. Its port is a number.
    pub(super) fn insert(
        &mut self,
        url: String,
        probe: &FoundProbe,
        handler: &RawValue,
    ) -> Result<(), String> {
        let mut handler: Value = serde_json::from_str(handler.get()).map_err(|_| json::not_json())?;
        if let (Some(port), super::Port::Number(number)) = (handler.get_mut("port"), &probe.port) {
            *port = Value::from(*number);
        }
        let mut described = Map::from_iter([(probe.handler.to_owned(), handler)]);
        described.extend(probe.timeout.map(|seconds| ("timeoutSeconds".to_owned(), Value::from(seconds))));
        self.probes.insert(url, Value::Object(described));
        Ok(())
    }

    pub(super) fn remove(&mut self, url: &str) {
        self.probes.remove(url);
    }

    /// Writes the variable, or removes it if it has no probes left.
    pub(super) fn write(self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        if self.probes.is_empty() {
            return self.remove_from(draft, origin);
        }
        let value = serde_json::to_string(&self.probes).map_err(|error| error.to_string())?;
        let value = checked(value, &format!("variable `{}`", self.name))?;
        if let Some((index, written)) = self.written {
            let place = self.list.item(index).child("value");
            return if written == value { Ok(()) } else { set(draft, &place, &value, origin) };
        }
        let item = serde_json::json!({"name": self.name, "value": value});
        let raw = |value: &Value| RawValue::from_string(value.to_string()).map_err(|_| json::not_json());
        match self.length {
            Some(length) => draft.append(&self.list, length, raw(&item)?.into(), origin.clone()),
            None => draft.set(self.list, raw(&Value::from(vec![item]))?.into(), origin.clone()),
        }
    }

    fn remove_from(self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        let Some((index, _)) = self.written else { return Ok(()) };
        let path = if self.length == Some(1) { self.list } else { self.list.item(index) };
        draft.apply(Operation::Remove { path }, origin.clone())
    }
}
