//! Keys of list items: two items that the API server merges into one have the same key.

use std::borrow::Cow;

use vestibule_patch::{Key, List, View};

use crate::expression::Expression;
use crate::overlay::Overlay;
use crate::pod;
use crate::rule::Item;

/// The start of a placeholder for a key that an expression computes later. The location of the expression follows, so
/// that two placeholders of one document are different.
pub(crate) const COMPUTED: &str = "$cel at ";

/// The key of an item of the list `name` in messages.
pub(crate) fn in_messages<'i>(name: &str, item: &'i Item) -> &'i str {
    match name {
        "tolerations" => of_toleration(item.overlay.text("key")),
        _ => &item.key,
    }
}

/// The name of a toleration in messages: only the `key` of the members that identify it.
pub(crate) fn of_toleration(key: Option<&str>) -> &str {
    key.filter(|key| !key.is_empty()).unwrap_or("*")
}

/// The placeholder for the key, or the keys, that `expression` computes.
pub(crate) fn computed(expression: &Expression) -> String {
    format!("{COMPUTED}{}", expression.at)
}

/// The key of an item that a rule adds to the list `name`. In a list whose items have no key, it is the item itself.
pub(crate) fn of_item(item: &Overlay, name: &str, list: List) -> String {
    pod::item_keys(name, list).map_or_else(|| item.to_json(), |keys| of_overlay(item, keys))
}

/// The key of an item that a rule adds, from its `keys`.
pub(crate) fn of_overlay(item: &Overlay, keys: &[Key]) -> String {
    let written = |name: &str| match item.get(name) {
        Some(Overlay::Text(text) | Overlay::Literal(text)) => Some(Cow::Borrowed(text.as_str())),
        Some(Overlay::Expression(expression)) => Some(Cow::Owned(computed(expression))),
        Some(Overlay::List(_) | Overlay::Map(_) | Overlay::Loop(_)) | None => None,
    };
    joined(keys, written).into_owned()
}

/// The key of an item of the object.
pub(crate) fn of_view<'d>(item: View<'d>, keys: &[Key]) -> Cow<'d, str> {
    let written = |name: &str| {
        let value = item.get(name).filter(|value| !value.is_null())?;
        Some(value.as_str().unwrap_or_else(|| value.to_json()))
    };
    joined(keys, written)
}

/// A mount path without trailing slashes.
pub(crate) fn trimmed_path(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// The key of an item. `written` returns the text of the item's member of a given name.
pub(crate) fn joined<'t>(keys: &[Key], written: impl Fn(&str) -> Option<Cow<'t, str>>) -> Cow<'t, str> {
    let part = |key: &Key| match (key.name, written(key.name)) {
        ("mountPath", Some(path)) => Cow::Owned(trimmed_path(&path).to_owned()),
        // The API server stores the default for an empty text.
        (_, Some(text)) if !text.is_empty() || key.default.is_none() => text,
        (_, _) => Cow::Owned(key.default.unwrap_or_default().trim_matches('"').to_owned()),
    };
    match keys {
        [key] => part(key),
        _ => Cow::Owned(keys.iter().map(part).collect::<Vec<_>>().join("/")),
    }
}
