//! The CEL value of the object with the changes of earlier rules.
//!
//! `evaluate` reports each operation by [`ObjectValue::follow`], so the value is not made anew for every rule that reads it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;
use vestibule_patch::{Operation, View};

use super::values::value;
use crate::well_known::STATUS_ANNOTATION;

/// It is made when an expression names `object` for the first time.
#[derive(Default)]
pub(crate) struct ObjectValue(pub(super) OnceCell<Value>);

impl ObjectValue {
    /// The value of `view`, the object at this moment.
    pub(super) fn value(&self, view: View<'_>) -> Value {
        self.0.get_or_init(|| object(view)).clone()
    }

    /// Carries out `operations`, which have changed the object. After any but additions the value is made anew.
    pub(crate) fn follow(&mut self, operations: &[Operation]) {
        if let Some(mut value) = self.0.take()
            && operations.iter().all(|operation| apply(&mut value, operation).is_some())
        {
            self.0 = OnceCell::from(value);
        }
    }
}

/// Adds a member or an item to `object`; `None` where the operation is another one.
fn apply(object: &mut Value, operation: &Operation) -> Option<()> {
    let Operation::Add { path, value: added } = operation else { return None };
    let added = View::of(added);
    let (above, name) = path.split_last()?;
    let is_whole = ["", "/metadata", "/metadata/annotations"].contains(&path.as_str());
    if is_whole || name == STATUS_ANNOTATION || added.is_null() {
        return None;
    }
    let place = above.tokens().try_fold(object, |place, token| match place {
        Value::Map(map) => Arc::make_mut(&mut map.map).get_mut(&Key::from(token.into_owned())),
        Value::List(items) => Arc::make_mut(items).get_mut(token.parse::<usize>().ok()?),
        _ => None,
    })?;
    match place {
        Value::Map(map) => {
            Arc::make_mut(&mut map.map).insert(Key::from(name.into_owned()), value(added));
        }
        Value::List(items) => {
            let index = if name == "-" { items.len() } else { name.parse().ok()? };
            (index <= items.len()).then(|| Arc::make_mut(items).insert(index, value(added)))?;
        }
        _ => return None,
    }
    Some(())
}

/// The value of an object without the status annotation, which no rule may depend on.
pub(super) fn object(view: View<'_>) -> Value {
    let mut object = value(view);
    let annotations = Key::from("annotations");
    if let Some(metadata) = members(&mut object).and_then(|members| members.get_mut(&Key::from("metadata")))
        && let Some(metadata) = members(metadata)
        && let Some(others) = metadata.get_mut(&annotations).and_then(members)
    {
        others.remove(&Key::from(STATUS_ANNOTATION));
        if others.is_empty() {
            metadata.remove(&annotations);
        }
    }
    object
}

/// The members of a map.
fn members(value: &mut Value) -> Option<&mut HashMap<Key, Value>> {
    match value {
        Value::Map(map) => Some(Arc::make_mut(&mut map.map)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use vestibule_patch::Document;

    use super::*;

    #[test]
    fn after_every_operation_the_value_is_that_of_the_object() {
        let text = r#"{"metadata":{"labels":{"a":"b"},"annotations":{}},"spec":{"gone":null,"c":[{"env":[{"name":"A"}]}]}}"#;
        for (path, added, followed) in [
            ("/metadata/labels/l~1m", r#""n""#, true),
            ("/metadata/labels/a", r#""other""#, true),
            ("/metadata/name", r#""web""#, true),
            ("/spec/gone", r#"{"here":[1,null]}"#, true),
            ("/spec/c/0/env/0", r#"{"name":"B","value":null}"#, true),
            ("/spec/c/0/env/-", r#"{"name":"B"}"#, true),
            ("/spec/c/0/env/1", r#"{"name":"B"}"#, true),
            ("/spec/c/0/env", "[]", true),
            ("/spec/c/0/image", "null", false),
            ("/metadata/annotations/a", r#""b""#, false),
            ("/metadata/annotations", r#"{"a":"b","vestibule.dev/injected":"x"}"#, false),
            ("/metadata", r#"{"annotations":{"vestibule.dev/injected":"x"}}"#, false),
            ("", "{}", false),
        ] {
            let mut document = Document::parse(text).unwrap();
            let mut current = ObjectValue::default();
            let before = current.value(document.view());
            let value = serde_json::value::RawValue::from_string(added.to_owned()).map(Arc::from).unwrap();
            let operation = Operation::Add { path: path.parse().unwrap(), value };
            document.apply(&operation).unwrap();
            current.follow(&[operation]);
            assert_eq!(current.0.get().is_some(), followed, "{path}");
            assert!(current.value(document.view()) == object(document.view()), "{path}");
            assert!(before == object(Document::parse(text).unwrap().view()), "{path}");
        }
        let mut current = ObjectValue::default();
        let mut document = Document::parse(text).unwrap();
        current.value(document.view());
        let removal = Operation::Remove { path: "/spec/c/0".parse().unwrap() };
        document.apply(&removal).unwrap();
        current.follow(&[removal]);
        assert!(current.value(document.view()) == object(document.view()));
    }
}
