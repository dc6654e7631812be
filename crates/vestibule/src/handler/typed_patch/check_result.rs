//! The check in debug builds and tests that a patch leads to the object that the handler returned.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vestibule_admission::Fault;
use vestibule_patch::{Document, Encoded, Operation};

use super::{decode_to_change, encode, failed};
use crate::decode::{decode, is_same_json, sorted};

/// The number of encodings that show whether a type keeps the order of a list. Half of them are of reversed lists, which not all
/// types decode: a `HashSet` of two items has the same order in all others once in 2^31 cases.
const SAMPLES: usize = 64;

/// Checks that the patched object decodes to the object that the handler returned.
pub(super) fn check_result<T: DeserializeOwned + Serialize + 'static>(
    operations: &[Operation],
    mut document: Document<'_>,
    after: &str,
) -> Result<(), Fault> {
    document.apply_all(operations).map_err(failed)?;
    let reached = document.to_json();
    let Ok(reached) = encode_again::<T>(&reached) else {
        // The patched object has such a member under both names: the received one, and the one that the type writes.
        return Err(failed(
            "the patched object does not decode: does the type read a member under two names, by `#[serde(alias)]`?",
        ));
    };
    if is_same_json(reached.text(), after) || is_same_as_read::<T>(reached.text(), after) {
        Ok(())
    } else {
        Err(failed("the patch does not lead to the handler's object: please report it"))
    }
}

/// Whether `reached` is what the type reads of `after`, with any order of each list whose type does not keep the order, such as a
/// `HashSet`. A type need not read all that it writes.
fn is_same_as_read<T: DeserializeOwned + Serialize + 'static>(reached: &str, after: &str) -> bool {
    let (Ok(reached), Ok(after)) = (serde_json::from_str(reached), serde_json::from_str(after)) else {
        return false;
    };
    let samples: Vec<Value> = (0..SAMPLES).filter_map(|sample| read::<T>(&after, sample % 2 == 1)).collect();
    is_same(&reached, &samples.iter().collect::<Vec<_>>())
}

/// The object as the type reads it. With `is_reversed`, all lists are reversed before and after: a list that keeps the order is the
/// same. [`None`] if the object does not decode, as a reversed tuple may not.
fn read<T: DeserializeOwned + Serialize + 'static>(object: &Value, is_reversed: bool) -> Option<Value> {
    let mut object = object.clone();
    if is_reversed {
        reverse(&mut object);
    }
    let mut read = serde_json::from_str(encode_again::<T>(&object.to_string()).ok()?.text()).ok()?;
    if is_reversed {
        reverse(&mut read);
    }
    Some(read)
}

fn reverse(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.reverse();
            items.iter_mut().for_each(reverse);
        }
        Value::Object(members) => members.values_mut().for_each(reverse),
        _ => {}
    }
}

/// Whether `reached` is the first sample, with any order of each list that has another order in another sample.
fn is_same(reached: &Value, samples: &[&Value]) -> bool {
    match (reached, samples.first()) {
        (Value::Object(reached), Some(Value::Object(first))) => {
            let is_same_member = |(name, value): (&String, &Value)| {
                let samples: Vec<_> = samples.iter().filter_map(|sample| sample.get(name)).collect();
                first.contains_key(name) && is_same(value, &samples)
            };
            reached.len() == first.len() && reached.iter().all(is_same_member)
        }
        (Value::Array(items), Some(Value::Array(first))) if keep_order(samples) => {
            let is_same_item = |(index, item): (usize, &Value)| {
                is_same(item, &samples.iter().filter_map(|sample| sample.get(index)).collect::<Vec<_>>())
            };
            items.len() == first.len() && items.iter().enumerate().all(is_same_item)
        }
        (Value::Array(_), Some(first)) => sorted(reached.clone()) == sorted((*first).clone()),
        (reached, first) => Some(&reached) == first,
    }
}

/// Whether each item is the same in all samples, but for the order of lists in it.
fn keep_order(samples: &[&Value]) -> bool {
    let items = |sample: &Value| -> Option<Vec<Value>> {
        Some(sample.as_array()?.iter().cloned().map(sorted).collect())
    };
    let mut samples = samples.iter().map(|sample| items(sample));
    let first = samples.next();
    samples.all(|sample| Some(sample) == first)
}

fn encode_again<T: DeserializeOwned + Serialize + 'static>(object: &str) -> Result<Encoded, Fault> {
    let document = Document::parse(object).map_err(failed)?;
    encode(&decode_to_change::<T>(&document, &decode(object).map_err(failed)?)?, object.len())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};
    use vestibule_patch::Document;

    use super::check_result;

    #[derive(Serialize, Deserialize)]
    struct Command {
        args: Vec<String>,
        #[serde(default)]
        hosts: HashSet<String>,
        #[serde(default)]
        groups: HashSet<Vec<String>>,
        #[serde(default)]
        zones: BTreeSet<String>,
        #[serde(default)]
        hashed_alike: HashSet<String, BuildHasherDefault<DefaultHasher>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pair: Option<(String, u8)>,
    }

    /// Whether the check accepts that the object is `reached` if the handler returned `after`.
    fn is_accepted(reached: &Value, after: &Value) -> bool {
        let after: Command = serde_json::from_value(after.clone()).unwrap();
        let (reached, after) = (reached.to_string(), serde_json::to_string(&after).unwrap());
        check_result::<Command>(&[], Document::parse(&reached).unwrap(), &after).is_ok()
    }

    #[test]
    fn a_wrong_order_of_a_list_is_found() {
        assert!(!is_accepted(&json!({"args": ["a", "b"]}), &json!({"args": ["b", "a"]})));
        assert!(is_accepted(&json!({"args": ["a", "b"]}), &json!({"args": ["a", "b"]})));
    }

    #[test]
    fn a_wrong_order_of_a_list_is_found_beside_a_hashed_set() {
        let object = |args: [&str; 2], hosts: &[&str]| json!({"args": args, "hosts": hosts});
        for hosts in [&["a", "b"][..], &["a", "b", "c", "d", "e", "f"]] {
            for _ in 0..20 {
                assert!(is_accepted(&object(["a", "b"], hosts), &object(["a", "b"], hosts)));
                assert!(!is_accepted(&object(["a", "b"], hosts), &object(["b", "a"], hosts)));
            }
        }
        assert!(!is_accepted(&object(["a", "b"], &["a", "b"]), &object(["a", "b"], &["a", "c"])));
    }

    #[test]
    fn the_order_of_a_sorted_set_does_not_count() {
        let object = |zones: [&str; 2]| json!({"args": [], "zones": zones});
        assert!(is_accepted(&object(["a", "b"]), &object(["b", "a"])));
        assert!(!is_accepted(&object(["a", "b"]), &object(["b", "c"])));
    }

    /// The order of equal hashes is that of the insertion, the same in each encoding.
    #[test]
    fn the_order_of_a_set_without_random_hashes_does_not_count() {
        let hosts: Vec<String> = (0..50).map(|host| host.to_string()).collect();
        let reversed: Vec<&String> = hosts.iter().rev().collect();
        let object = |hosts: Value| json!({"args": [], "hashed_alike": hosts});
        assert!(is_accepted(&object(json!(hosts)), &object(json!(reversed))));
    }

    #[test]
    fn lists_in_a_set_keep_their_order() {
        let object = |groups: Value| json!({"args": [], "groups": groups, "pair": ["a", 1]});
        let groups = json!([["a", "b"], ["c", "d"], ["b", "a"]]);
        assert!(is_accepted(&object(groups.clone()), &object(groups)));
        assert!(!is_accepted(&object(json!([["a", "b"]])), &object(json!([["b", "a"]]))));
    }
}
