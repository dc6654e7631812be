//! The names of our field managers, and which fields of an object are theirs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;

/// The field managers of our writes. `bundles` is separate from the other two, because its last write time proves since when a
/// bundle and its mark are unchanged.
#[derive(Clone)]
pub(super) struct FieldManagers {
    pub(super) bundles: String,
    pub(super) entries: String,
    pub(super) claims: String,
}

impl FieldManagers {
    pub(super) fn new(manager: &str) -> Self {
        Self {
            bundles: manager.to_owned(),
            entries: format!("{manager}-entries"),
            claims: format!("{manager}-claim"),
        }
    }

    /// Whether this is one of our field managers.
    pub(super) fn include(&self, entry: &ManagedFieldsEntry) -> bool {
        let ours = [&self.bundles, &self.entries, &self.claims];
        entry.manager.as_ref().is_some_and(|manager| ours.contains(&manager))
    }
}

pub(super) fn owns_field(entry: &ManagedFieldsEntry, field: &[String]) -> bool {
    owned_fields(entry, field).is_some()
}

/// The fields at and below this path that the field manager owns.
pub(super) fn owned_fields<'a>(entry: &'a ManagedFieldsEntry, path: &[String]) -> Option<&'a Value> {
    let all = &entry.fields_v1.as_ref()?.0;
    path.iter().try_fold(all, |fields, key| fields.get(key))
}
