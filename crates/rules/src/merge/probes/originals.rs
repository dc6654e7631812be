//! The annotation with the handlers of probes as they were before they were rewritten.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use vestibule_patch::{Operation, Pointer, View};

use super::super::draft::Draft;
use super::found::{FoundProbe, HANDLERS};
use super::{checked, set};
use crate::decision::Origin;
use crate::well_known::PROBES_ANNOTATION;

/// The handlers by container, probe and kind: `{"app":{"livenessProbe":{"httpGet":{"path":"/","port":"http"}}}}`.
#[derive(Default)]
pub(super) struct Originals(BTreeMap<String, BTreeMap<String, BTreeMap<String, Box<RawValue>>>>);

impl Originals {
    /// The annotation of `draft`. An annotation that is absent or has another form has no handlers.
    pub(super) fn read(draft: &Draft<'_>) -> Self {
        let written = draft.at(&place(draft)).and_then(View::as_str);
        let parsed = written.and_then(|written| serde_json::from_str(&written).ok());
        Self(parsed.unwrap_or_default())
    }

    /// The kind and value of the original handler of `probe`.
    pub(super) fn get(&self, probe: &FoundProbe) -> Option<(&str, &RawValue)> {
        let handler = self.0.get(&probe.container)?.get(probe.member)?;
        let mut members = handler.iter();
        match (members.next(), members.next()) {
            (Some((name, value)), None) if HANDLERS.contains(&&**name) && value.get().starts_with('{') => {
                Some((name, value))
            }
            _ => None,
        }
    }

    pub(super) fn insert(&mut self, probe: &FoundProbe, handler: Box<RawValue>) {
        let of_container = self.0.entry(probe.container.clone()).or_default();
        of_container.insert(probe.member.to_owned(), BTreeMap::from([(probe.handler.to_owned(), handler)]));
    }

    pub(super) fn write(&self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        let text = serde_json::to_string(&self.0).map_err(|error| error.to_string())?;
        let text = checked(text, "the annotation with the original probes")?;
        let place = place(draft);
        if draft.at(&place).and_then(View::as_str).is_some_and(|found| found == text) {
            return Ok(());
        }
        set(draft, &place, &text, origin)
    }
}

/// Removes the annotation, and the map of annotations if nothing else is in it.
pub(super) fn remove(draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
    let all = &draft.layout.annotations;
    let Some(found) = draft.at(all).filter(|found| found.get(PROBES_ANNOTATION).is_some()) else {
        return Ok(());
    };
    let path = if found.entries().len() == 1 { all.clone() } else { place(draft) };
    draft.apply(Operation::Remove { path }, origin.clone())
}

fn place(draft: &Draft<'_>) -> Pointer {
    draft.layout.annotations.child(PROBES_ANNOTATION)
}
