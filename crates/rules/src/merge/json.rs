//! Values as operations carry them, made of what is known to be JSON: nobody reads them again to see whether they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};

use super::ShapeError;
use crate::overlay::Overlay;
use crate::rule::Item;

/// A value of a rule.
pub(super) fn of_overlay(overlay: &Overlay) -> Result<Arc<RawValue>, ShapeError> {
    RawValue::from_string(overlay.to_json()).map(Arc::from).map_err(|_| none())
}

/// What an item of a rule says, which is written once for all objects.
pub(super) fn of_item(item: &Item) -> Result<Arc<RawValue>, ShapeError> {
    item.json().cloned().ok_or_else(none)
}

/// The list of `items`.
pub(super) fn list(items: &[&Item]) -> Result<Arc<RawValue>, ShapeError> {
    let items: Option<Vec<&RawValue>> = items.iter().map(|item| item.json().map(|json| &**json)).collect();
    to_raw_value(&items.ok_or_else(none)?).map(Arc::from).map_err(|_| none())
}

pub(super) fn text(text: &str) -> Result<Arc<RawValue>, ShapeError> {
    to_raw_value(text).map(Arc::from).map_err(|_| none())
}

/// An object with `value` as its one member `name`.
pub(super) fn within(name: &str, value: &RawValue) -> Result<Arc<RawValue>, ShapeError> {
    to_raw_value(&BTreeMap::from([(name, value)])).map(Arc::from).map_err(|_| none())
}

pub(super) fn none() -> ShapeError {
    ShapeError("a value of the rule is no JSON".to_owned())
}
