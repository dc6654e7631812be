//! Values of operations. They are made from overlays, so they need not be parsed again.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::overlay::Overlay;
use crate::rule::Item;

/// The JSON of `value`.
pub(super) fn of(value: &(impl Serialize + ?Sized)) -> Result<Arc<RawValue>, String> {
    to_raw_value(value).map(Arc::from).map_err(|_| not_json())
}

/// The value of an overlay.
pub(super) fn of_overlay(overlay: &Overlay) -> Result<Arc<RawValue>, String> {
    RawValue::from_string(overlay.to_json()).map(Arc::from).map_err(|_| not_json())
}

/// The value of an item, whose text is made once for all objects.
pub(super) fn of_item(item: &Item) -> Result<Arc<RawValue>, String> {
    item.json().cloned().ok_or_else(not_json)
}

/// The list of `items`.
pub(super) fn list(items: &[&Item]) -> Result<Arc<RawValue>, String> {
    let items: Option<Vec<&RawValue>> = items.iter().map(|item| item.json().map(|json| &**json)).collect();
    of(&items.ok_or_else(not_json)?)
}

pub(super) fn not_json() -> String {
    "a value of the rule is not JSON".to_owned()
}
