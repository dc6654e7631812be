//! The annotation with the handlers of probes as they were before they were rewritten.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vestibule_patch::{Operation, Pointer, View};

use super::super::draft::Draft;
use super::found::{FoundProbe, HANDLERS};
use super::{check_length, set_text};
use crate::decision::Origin;
use crate::well_known::PROBES_ANNOTATION;

/// The rewritten probes of all rules, by the names of the rules.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Originals(BTreeMap<String, RuleOriginals>);

/// The probes that one rule has rewritten.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct RuleOriginals {
    /// The value that the variable had before; absent if the container did not have the variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) variable: Option<String>,
    /// The rewritten probes, by path.
    pub(super) probes: BTreeMap<String, Original>,
}

/// A handler before and after it was rewritten.
#[derive(Serialize, Deserialize)]
pub(super) struct Original {
    /// The port that the rewritten handler asks for.
    port: i64,
    /// The original handler: `{"httpGet": {"path": "/", "port": "http"}}`.
    handler: BTreeMap<String, Box<RawValue>>,
}

impl Originals {
    /// The annotation of `draft`. An annotation that is absent or has another form has no handlers.
    pub(super) fn read(draft: &Draft<'_>) -> Self {
        let written = draft.at(&place(draft)).and_then(View::as_str);
        written.and_then(|written| serde_json::from_str(&written).ok()).unwrap_or_default()
    }

    /// Removes and returns the entry of `rule`.
    pub(super) fn take(&mut self, rule: &str) -> Option<RuleOriginals> {
        self.0.remove(rule)
    }

    pub(super) fn insert(&mut self, rule: &str, written: RuleOriginals) {
        self.0.insert(rule.to_owned(), written);
    }

    /// Whether a rule has rewritten `probe`.
    pub(super) fn contains(&self, probe: &FoundProbe) -> bool {
        self.0.values().any(|of_rule| of_rule.get(probe).is_some())
    }

    /// Writes the annotation. Without an entry it is removed, and the map of annotations if nothing else is in it.
    pub(super) fn write(&self, draft: &mut Draft<'_>, origin: &Origin) -> Result<(), String> {
        let place = place(draft);
        if self.0.is_empty() {
            let all = &draft.layout.annotations;
            let Some(found) = draft.at(all).filter(|found| found.get(PROBES_ANNOTATION).is_some()) else {
                return Ok(());
            };
            let path = if found.entries().len() == 1 { all.clone() } else { place };
            return draft.apply(Operation::Remove { path }, origin.clone());
        }
        let text = serde_json::to_string(&self.0).map_err(|error| error.to_string())?;
        set_text(draft, &place, &check_length(text, "the annotation with the original probes")?, origin)
    }
}

impl RuleOriginals {
    pub(super) fn insert(&mut self, url: String, port: i64, handler: &'static str, value: Box<RawValue>) {
        let handler = BTreeMap::from([(handler.to_owned(), value)]);
        self.probes.insert(url, Original { port, handler });
    }

    /// The kind and value of the original handler of `probe`, if the probe is as it was rewritten.
    pub(super) fn get(&self, probe: &FoundProbe) -> Option<(&str, &RawValue)> {
        // The path of another container's probe may have been copied.
        let is_own = |path: &&str| path.ends_with(&format!("/{}/{}", probe.container, probe.word));
        let path = probe.path.as_deref().filter(is_own)?;
        let original = self.probes.get(path).filter(|one| probe.asks_for(one.port))?;
        let mut members = original.handler.iter();
        match (members.next(), members.next()) {
            (Some((name, value)), None) if HANDLERS.contains(&&**name) && value.get().starts_with('{') => {
                Some((name, value))
            }
            _ => None,
        }
    }
}

fn place(draft: &Draft<'_>) -> Pointer {
    draft.layout.annotations.child(PROBES_ANNOTATION)
}
