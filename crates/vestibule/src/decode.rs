//! JSON to typed values, for objects that nest deeper than serde_json decodes.

use serde::de::DeserializeOwned;
use serde_json::Value;
use vestibule_patch::Document;

/// Decodes an object that was received, and is known to be JSON.
///
/// serde_json decodes 127 levels and skips unknown members of any depth. kube-apiserver repeats the names of an object's fields in
/// `metadata.managedFields`, which nests as deep as the object: a type that does not know the deep field, but has metadata, would
/// not decode. Such an object is decoded without its `managedFields`. They stay in the object received, like any other member
/// that the type does not know.
pub(crate) fn decode<T: DeserializeOwned>(object: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(object).or_else(|error| {
        // The grammar has been checked: the only syntax error left is the limit of levels.
        let shorter =
            error.is_syntax().then(|| without_managed_fields(&Document::parse(object).ok()?)).flatten();
        shorter.map_or(Err(error), |object| serde_json::from_str(&object))
    })
}

/// The received object without `metadata.managedFields`; [`None`] if it has none.
pub(crate) fn without_managed_fields(object: &Document<'_>) -> Option<String> {
    let fields = member(&member(object, "metadata")?, "managedFields")?;
    let start = fields.text().as_ptr().addr() - object.text().as_ptr().addr();
    let (before, rest) = object.text().split_at_checked(start)?;
    let rest = rest.strip_prefix(fields.text())?;
    // A handler of JSON that drops a member with `null` would drop the received fields.
    let before =
        before.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"managedFields\"")?.trim_end();
    Some(match before.strip_suffix(',') {
        Some(before) => [before, rest].concat(),
        None => [before, rest.trim_start().trim_start_matches(',')].concat(),
    })
}

/// Whether two texts are the same JSON value: a `HashMap` writes its members in a random order.
pub(crate) fn is_same_json(one: &str, other: &str) -> bool {
    match (Document::parse(one), Document::parse(other)) {
        (Ok(one), Ok(other)) => one.view().same_as(other.view()),
        _ => false,
    }
}

/// Whether two texts are the same JSON value with any order of list items.
pub(crate) fn is_same_in_any_order(one: &str, other: &str) -> bool {
    let read = |text| serde_json::from_str(text).map(sorted);
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

/// The value with all lists sorted.
pub(crate) fn sorted(mut value: Value) -> Value {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_cached_key(Value::to_string);
            }
            Value::Object(members) => {
                members.values_mut().for_each(sort);
                members.sort_keys();
            }
            _ => {}
        }
    }
    sort(&mut value);
    value
}

/// The member `wanted`; if it occurs more than once, the last one, as in Go.
fn member<'a>(object: &Document<'a>, wanted: &str) -> Option<Document<'a>> {
    object.members().filter(|(name, _)| name == wanted).last().map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn managed_fields_are_left_out_at_any_place_of_metadata() {
        for (metadata, rest) in [
            (r#"{ "managedFields" : [{}] }"#, json!({})),
            (r#"{"managedFields":[{}] , "name":"a"}"#, json!({"name": "a"})),
            (r#"{"name":"a" , "managedFields":[{}]}"#, json!({"name": "a"})),
            (r#"{"name":"a","managedFields":null,"uid":"b"}"#, json!({"name": "a", "uid": "b"})),
        ] {
            let object = format!(r#"{{"metadata":{metadata},"spec":{{}}}}"#);
            let shorter = without_managed_fields(&Document::parse(&object).unwrap()).unwrap();
            let shorter: Value = serde_json::from_str(&shorter).unwrap();
            assert_eq!(shorter, json!({"metadata": rest, "spec": {}}));
        }
    }
}
