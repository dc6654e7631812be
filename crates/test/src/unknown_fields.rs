//! Checks that members that a handler's type does not know are kept.

use serde_json::{Map, Value};

/// No type of Kubernetes has a member of this name.
const MEMBER: &str = "vestibuleUnknown";

/// Members whose value is a map of strings: every member of it is known.
const MAPS: [&str; 11] = [
    "annotations",
    "binaryData",
    "data",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "overhead",
    "parameters",
    "requests",
    "stringData",
];

/// The keys of list items, in the order in which they are tried.
const KEYS: [&str; 10] =
    ["name", "mountPath", "devicePath", "containerPort", "port", "key", "ip", "uid", "type", "topologyKey"];

/// Puts an unknown member into every object of `before` and calls the hook with it; `after` is the result of the same
/// call without them. The error names the member that is lost or at another place.
pub(super) fn check(
    before: &Value,
    after: &Value,
    call: impl Fn(Value) -> Result<Value, String>,
) -> Result<(), String> {
    let mut places = Vec::new();
    objects("", before, &mut places);
    let mut marked = mark(before, &places);
    let reached = match call(marked.clone()) {
        Ok(reached) => reached,
        Err(all) => {
            // A map from strings to structures refuses a string: such an object gets no mark.
            places.retain(|place| call(mark(before, std::slice::from_ref(place))).is_ok());
            // A type that refuses unknown members refuses them at its root too.
            if places.first().is_none_or(|place| !place.is_empty()) {
                return Err(format!("with one in it, {all}"));
            }
            marked = mark(before, &places);
            call(marked.clone())?
        }
    };
    let differences = super::diff::lines(after, &unmarked(&reached));
    if !differences.is_empty() {
        return Err(format!("with them the handler does something else:\n{differences}"));
    }
    compare("", &marked, &reached)
}

/// JSON Pointers of all objects that may be marked, the outer first.
fn objects(path: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            places.push(path.to_owned());
            for (name, child) in members.iter().filter(|(name, _)| !MAPS.contains(&name.as_str())) {
                let name = name.replace('~', "~0").replace('/', "~1");
                objects(&format!("{path}/{name}"), child, places);
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                objects(&format!("{path}/{index}"), child, places);
            }
        }
        _ => {}
    }
}

/// A copy of `before` with a mark in the object at each of `places`. Every mark is different: it holds its place.
fn mark(before: &Value, places: &[String]) -> Value {
    let mut marked = before.clone();
    for place in places {
        if let Some(Value::Object(members)) = marked.pointer_mut(place) {
            members.insert(MEMBER.to_owned(), Value::from(format!("at {place}/")));
        }
    }
    marked
}

fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| *name != MEMBER);
            known.map(|(name, child)| (name.clone(), unmarked(child))).collect()
        }
        Value::Array(items) => items.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

/// Compares each marked object with the object at its present place. An object that the handler removed has lost its mark
/// with it.
fn compare(path: &str, marked: &Value, reached: &Value) -> Result<(), String> {
    match (marked, reached) {
        (Value::Object(marked), Value::Object(reached)) => {
            if marked.get(MEMBER) != reached.get(MEMBER) {
                let now = reached.get(MEMBER).and_then(Value::as_str).unwrap_or("none");
                let place = if path.is_empty() { "the object itself" } else { path };
                return Err(format!("that of {place} is {now} afterwards"));
            }
            for (name, child) in marked {
                if let Some(reached) = reached.get(name) {
                    compare(&format!("{path}/{name}"), child, reached)?;
                }
            }
        }
        (Value::Array(marked), Value::Array(reached)) => {
            for (index, item) in marked.iter().enumerate() {
                if let Some(now) = counterpart(item, marked, reached) {
                    compare(&format!("{path}/{index}"), item, now)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The item of `reached` that `item` of `marked` has become: by its key, else by its value.
fn counterpart<'r>(item: &Value, marked: &[Value], reached: &'r [Value]) -> Option<&'r Value> {
    let key = KEYS.iter().find(|key| has_distinct(key, marked) && has_distinct(key, reached));
    if let Some(key) = key {
        return reached.iter().find(|other| other.get(key) == item.get(key));
    }
    let item = unmarked(item);
    let mut same = reached.iter().filter(|other| unmarked(other) == item);
    same.next().filter(|_| same.next().is_none())
}

fn has_distinct(key: &str, items: &[Value]) -> bool {
    let values: Vec<_> =
        items.iter().filter_map(|item| item.as_object().and_then(|item: &Map<_, _>| item.get(key))).collect();
    values.len() == items.len() && (1..values.len()).all(|index| !values[..index].contains(&values[index]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn before() -> Value {
        json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a", "env": [{ "name": "X" }] }, { "name": "b" }] } })
    }

    fn marked() -> Value {
        let mut places = Vec::new();
        objects("", &before(), &mut places);
        mark(&before(), &places)
    }

    #[test]
    fn every_object_but_maps_of_strings_is_marked() {
        let marked = marked();
        assert_eq!(marked["spec"]["containers"][0]["env"][0][MEMBER], "at /spec/containers/0/env/0/");
        assert_eq!(marked[MEMBER], "at /");
        assert_eq!(marked["metadata"]["labels"], json!({ "a": "b" }));
        assert_eq!(unmarked(&marked), before());
    }

    #[test]
    fn a_mark_that_moves_with_its_item_is_kept() {
        let swap = |mut object: Value| {
            object["spec"]["containers"].as_array_mut().unwrap().reverse();
            object
        };
        check(&before(), &swap(before()), |object| Ok(swap(object))).unwrap();
        let remove = |mut object: Value| {
            object["spec"]["containers"].as_array_mut().unwrap().remove(0);
            object
        };
        check(&before(), &remove(before()), |object| Ok(remove(object))).unwrap();
    }

    #[test]
    fn a_lost_mark_and_a_mark_in_another_item_are_errors() {
        let lost = check(&before(), &before(), |mut object| {
            object["metadata"].as_object_mut().unwrap().remove(MEMBER);
            Ok(object)
        });
        assert_eq!(lost.unwrap_err(), "that of /metadata is none afterwards");
        // A diff by index gives the container in front the members of its neighbour.
        let prepend = |mut object: Value| {
            object["spec"]["containers"].as_array_mut().unwrap().insert(0, json!({ "name": "new" }));
            object
        };
        let mixed = check(&before(), &prepend(before()), |object| {
            let mut mixed = prepend(object.clone());
            let marks = [
                object["spec"]["containers"][0][MEMBER].clone(),
                object["spec"]["containers"][1][MEMBER].clone(),
            ];
            mixed["spec"]["containers"][0][MEMBER] = marks[0].clone();
            mixed["spec"]["containers"][1][MEMBER] = marks[1].clone();
            mixed["spec"]["containers"][2].as_object_mut().unwrap().remove(MEMBER);
            Ok(mixed)
        });
        assert_eq!(mixed.unwrap_err(), "that of /spec/containers/0 is at /spec/containers/1/ afterwards");
    }

    #[test]
    fn a_type_that_refuses_unknown_members_is_an_error() {
        let refused = check(&before(), &before(), |object| {
            if object.get(MEMBER).is_some() { Err("unknown field".to_owned()) } else { Ok(object) }
        });
        assert_eq!(refused.unwrap_err(), "with one in it, unknown field");
        // A map of structures refuses a string, and gets no mark.
        check(&before(), &before(), |object| {
            if object["metadata"].get(MEMBER).is_some() { Err("no structure".to_owned()) } else { Ok(object) }
        })
        .unwrap();
    }
}
