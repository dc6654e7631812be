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
    let mut marked = before.clone();
    mark(&mut marked, "", None);
    let reached = match call(marked.clone()) {
        Ok(reached) => reached,
        Err(all) => {
            marked = mark_accepted_objects(before, &call).ok_or_else(|| format!("with one in it, {all}"))?;
            call(marked.clone())?
        }
    };
    let mut bare = reached.clone();
    unmark(&mut bare);
    if bare != *after {
        let differences = super::diff::lines(after, &bare);
        return Err(format!("with them the handler does something else:\n{differences}"));
    }
    compare("", &marked, after, &reached)
}

/// A map from strings to structures refuses a string: such an object gets no mark.
fn mark_accepted_objects(before: &Value, call: impl Fn(Value) -> Result<Value, String>) -> Option<Value> {
    let mut places = Vec::new();
    objects("", before, &mut places);
    let taken = |place: &&String| {
        let mut alone = before.clone();
        mark(&mut alone, "", Some(&[(*place).clone()]));
        call(alone).is_ok()
    };
    let taken: Vec<String> = places.iter().filter(taken).cloned().collect();
    // A type that refuses unknown members refuses them at its root too.
    taken.first().filter(|place| place.is_empty())?;
    let mut marked = before.clone();
    mark(&mut marked, "", Some(&taken));
    Some(marked)
}

/// JSON Pointers of all objects that may be marked, the outer first.
fn objects(path: &str, value: &Value, places: &mut Vec<String>) {
    if let Value::Object(_) = value {
        places.push(path.to_owned());
    }
    for (path, child) in children(path, value) {
        objects(&path, child, places);
    }
}

fn children<'v>(path: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Object(members) => {
            let open = members.iter().filter(|(name, _)| !MAPS.contains(&name.as_str()));
            open.map(|(name, child)| (format!("{path}/{name}"), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, child)| (format!("{path}/{index}"), child)).collect()
        }
        _ => Vec::new(),
    }
}

/// Every mark is different: it holds the place where it was put.
fn mark(value: &mut Value, path: &str, only: Option<&[String]>) {
    match value {
        Value::Object(members) => {
            for (name, child) in members.iter_mut().filter(|(name, _)| !MAPS.contains(&name.as_str())) {
                mark(child, &format!("{path}/{name}"), only);
            }
            if only.is_none_or(|only| only.iter().any(|place| place == path)) {
                members.insert(MEMBER.to_owned(), Value::from(format!("at {path}/")));
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter_mut().enumerate() {
                mark(child, &format!("{path}/{index}"), only);
            }
        }
        _ => {}
    }
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove(MEMBER);
            members.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// Compares each marked object with the object at its present place. An object that the handler removed, as `after`
/// shows, has lost its mark with it.
fn compare(path: &str, marked: &Value, after: &Value, reached: &Value) -> Result<(), String> {
    match (marked, after, reached) {
        (Value::Object(marked), Value::Object(after), Value::Object(reached)) => {
            if marked.get(MEMBER) != reached.get(MEMBER) {
                let now = reached.get(MEMBER).and_then(Value::as_str).unwrap_or("none");
                let place = if path.is_empty() { "the object itself" } else { path };
                return Err(format!("that of {place} is {now} afterwards"));
            }
            for (name, child) in marked {
                if let (Some(after), Some(reached)) = (after.get(name), reached.get(name)) {
                    compare(&format!("{path}/{name}"), child, after, reached)?;
                }
            }
        }
        (Value::Array(marked), Value::Array(after), Value::Array(reached)) => {
            for (index, item) in marked.iter().enumerate() {
                if let Some(now) = position(item, marked, after)
                    && let (Some(after), Some(reached)) = (after.get(now), reached.get(now))
                {
                    compare(&format!("{path}/{index}"), item, after, reached)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The position in `after` of an item of `marked`: by its key, else by its value.
fn position(item: &Value, marked: &[Value], after: &[Value]) -> Option<usize> {
    let key = KEYS.iter().find(|key| has_distinct(key, marked) && has_distinct(key, after));
    if let Some(key) = key {
        return after.iter().position(|other| other.get(key) == item.get(key));
    }
    let mut bare = item.clone();
    unmark(&mut bare);
    let mut same = after.iter().enumerate().filter(|(_, other)| **other == bare);
    let first = same.next()?;
    same.next().is_none().then_some(first.0)
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
        let mut marked = before();
        mark(&mut marked, "", None);
        marked
    }

    #[test]
    fn every_object_but_maps_of_strings_is_marked() {
        let marked = marked();
        assert_eq!(marked["spec"]["containers"][0]["env"][0][MEMBER], "at /spec/containers/0/env/0/");
        assert_eq!(marked[MEMBER], "at /");
        assert_eq!(marked["metadata"]["labels"], json!({ "a": "b" }));
        let mut bare = marked.clone();
        unmark(&mut bare);
        assert_eq!(bare, before());
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
