//! Reads `managedFields`: which fields of an object are ours alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

use super::api_client::FIELD_MANAGERS;

/// Whether this is one of our field managers.
pub(super) fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref().is_some_and(|manager| FIELD_MANAGERS.contains(&manager))
}

pub(super) fn owns_field(entry: &ManagedFieldsEntry, field: &[String]) -> bool {
    let all = entry.fields_v1.as_ref().map(|fields| &fields.0);
    all.and_then(|all| field.iter().try_fold(all, |fields, key| fields.get(key))).is_some()
}
