//! Values of operations. They are made from overlays, so they need not be parsed again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};

use crate::overlay::Overlay;
use crate::rule::Item;

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
    to_raw_value(&items.ok_or_else(not_json)?).map(Arc::from).map_err(|_| not_json())
}

pub(super) fn text(text: &str) -> Result<Arc<RawValue>, String> {
    to_raw_value(text).map(Arc::from).map_err(|_| not_json())
}

/// An object with the single member `name`.
pub(super) fn within(name: &str, value: &RawValue) -> Result<Arc<RawValue>, String> {
    to_raw_value(&BTreeMap::from([(name, value)])).map(Arc::from).map_err(|_| not_json())
}

pub(super) fn not_json() -> String {
    "a value of the rule is not JSON".to_owned()
}
