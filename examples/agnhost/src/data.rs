//! The paths for objects with `data`: config maps, and custom resources of the tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vestibule::{Change, Context, Reject, Validate, deny};

#[derive(Deserialize, Serialize)]
pub(crate) struct WithData {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    data: BTreeMap<String, String>,
}

/// The reasons of denied writes and of denied deletions; the denials have no message.
pub(crate) struct Unwanted(&'static str, &'static str);

pub(crate) const CONFIG_MAPS: Unwanted = Unwanted(
    "the configmap contains unwanted key and value",
    "the configmap cannot be deleted because it contains unwanted key and value",
);

pub(crate) const CUSTOM_RESOURCES: Unwanted = Unwanted(
    "the custom resource contains unwanted data",
    "the custom resource cannot be deleted because it contains unwanted key and value",
);

impl WithData {
    fn is(&self, key: &str, value: &str) -> bool {
        self.data.get(key).is_some_and(|found| found == value)
    }
}

impl Validate<WithData> for Unwanted {
    async fn validate(&self, change: Change<WithData>, _: Context) -> Result<(), Reject> {
        const KEY: &str = "webhook-e2e-test";
        match change {
            Change::Create { new } | Change::Update { new, .. } if new.is(KEY, "webhook-disallow") => {
                Err(deny("").reason(self.0))
            }
            Change::Delete { old } if old.is(KEY, "webhook-nondeletable") => Err(deny("").reason(self.1)),
            _ => Ok(()),
        }
    }
}

/// Sets one stage at a time: two hooks in a row set both.
pub(crate) async fn mutate(mut object: WithData, _: Context) -> Result<WithData, Reject> {
    let stage = match (object.is("mutation-start", "yes"), object.is("mutation-stage-1", "yes")) {
        (_, true) => "mutation-stage-2",
        (true, false) => "mutation-stage-1",
        _ => return Ok(object),
    };
    object.data.insert(stage.to_owned(), "yes".to_owned());
    Ok(object)
}
