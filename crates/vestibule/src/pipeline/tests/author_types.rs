//! Types that authors write, whose encoding differs from the received object in order, length or spelling.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use vestibule_admission::{Decision, Hook, Operation};
use vestibule_patch::Document;

use crate::handler::context::Context;
use crate::pipeline::typed::Mutating;
use crate::registration::on::on_rules;
use crate::registration::rule::Rule;
use crate::tests::{call, patch_of, review, typed};

/// The object that kube-apiserver stores after `change`, or the text of the fault.
async fn stored<T>(object: &Value, change: fn(&mut T)) -> Result<Value, String>
where
    T: DeserializeOwned + Serialize + Send + 'static,
{
    let handler = move |mut object: T, _: Context| async move {
        change(&mut object);
        Ok(object)
    };
    let on = on_rules::<T>([Rule::new("v1", "pods", [Operation::Create])]);
    let body = review("CREATE", |request| request["object"] = object.clone());
    let answer = call(Hook::mutating("m", Mutating(typed(&on, handler))), &body).await;
    match answer.decision {
        Decision::Allowed => Ok(object.clone()),
        Decision::Mutated(_) => {
            let text = object.to_string();
            let mut document = Document::parse(&text).unwrap();
            document.apply_all(&serde_json::from_value::<Vec<_>>(patch_of(&answer)).unwrap()).unwrap();
            Ok(serde_json::from_str(&document.to_json()).unwrap())
        }
        _ => Err(String::from_utf8(answer.body).unwrap()),
    }
}

#[derive(Serialize, Deserialize)]
struct Sorted {
    hosts: BTreeSet<String>,
    #[serde(default)]
    seen: bool,
}

/// Regression: the item at the same index in the received list was removed.
#[tokio::test]
async fn the_item_that_a_handler_removes_from_a_sorted_set_is_removed() {
    let object = json!({"hosts": ["b", "a"]});
    let result = stored::<Sorted>(&object, |object| assert!(object.hosts.remove("a"))).await;
    assert_eq!(result, Ok(json!({"hosts": ["b"]})));
}

#[derive(Serialize, Deserialize)]
struct Hashed {
    hosts: HashSet<String>,
    #[serde(default)]
    seen: bool,
}

#[tokio::test]
async fn the_item_that_a_handler_removes_from_a_hashed_set_is_removed() {
    let object = json!({"hosts": ["a", "b", "c", "d", "e", "f"]});
    let result = stored::<Hashed>(&object, |object| assert!(object.hosts.remove("c"))).await;
    let mut hosts: Vec<String> = serde_json::from_value(result.unwrap()["hosts"].clone()).unwrap();
    hosts.sort();
    assert_eq!(hosts, ["a", "b", "d", "e", "f"]);
}

/// Regression: in debug builds and tests, the check of the result failed because each decoding orders the set anew.
#[tokio::test]
async fn a_hashed_set_beside_a_change_is_no_fault() {
    let object = json!({"hosts": ["a", "b", "c", "d", "e", "f"]});
    let result = stored::<Hashed>(&object, |object| object.seen = true).await;
    assert_eq!(result, Ok(json!({"hosts": ["a", "b", "c", "d", "e", "f"], "seen": true})));
}

#[derive(Serialize, Deserialize)]
struct Computed {
    size: u32,
    #[serde(skip_deserializing)]
    twice: u32,
}

/// Regression: a fault in debug builds and tests.
#[tokio::test]
async fn a_member_that_the_type_only_writes_is_no_fault() {
    let result = stored::<Computed>(&json!({"size": 1}), |object| {
        object.size = 2;
        object.twice = 4;
    })
    .await;
    assert_eq!(result, Ok(json!({"size": 2, "twice": 4})));
}

#[derive(Serialize, Deserialize)]
struct Aliased {
    #[serde(alias = "length")]
    size: u32,
}

#[tokio::test]
async fn a_member_with_two_names_is_named_as_the_reason() {
    let fault = stored::<Aliased>(&json!({"length": 1}), |object| object.size = 2).await.unwrap_err();
    assert!(fault.contains("does the type read a member under two names"), "{fault}");
    let result = stored::<Aliased>(&json!({"size": 1}), |object| object.size = 2).await;
    assert_eq!(result, Ok(json!({"size": 2})));
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct Port {
    name: String,
    port: u16,
}

#[derive(Serialize, Deserialize)]
struct Keyed {
    #[serde(with = "by_name")]
    ports: BTreeMap<String, Port>,
}

mod by_name {
    use super::*;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Port>, D::Error> {
        let ports = Vec::<Port>::deserialize(deserializer)?;
        Ok(ports.into_iter().map(|port| (port.name.clone(), port)).collect())
    }

    pub(super) fn serialize<S: Serializer>(
        ports: &BTreeMap<String, Port>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ports.values())
    }
}

#[tokio::test]
async fn a_list_that_the_type_holds_as_a_map_is_changed_at_its_key() {
    let object = json!({"ports": [{"name": "b", "port": 1, "x": 1}, {"name": "a", "port": 2, "x": 2}]});
    let result = stored::<Keyed>(&object, |object| object.ports.get_mut("a").unwrap().port = 3).await;
    let expected = json!({"ports": [{"name": "b", "port": 1, "x": 1}, {"name": "a", "port": 3, "x": 2}]});
    assert_eq!(result, Ok(expected));
}

#[tokio::test]
async fn an_item_that_a_set_holds_once_is_removed_as_often_as_it_was_received() {
    let object = json!({"hosts": ["a", "b", "a"]});
    let result = stored::<Sorted>(&object, |object| assert!(object.hosts.remove("a"))).await;
    assert_eq!(result, Ok(json!({"hosts": ["b"]})));
}

#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
struct Quantity(#[serde(with = "milli")] u64);

mod milli {
    use super::*;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.strip_suffix('m') {
            Some(milli) => milli.parse().unwrap(),
            None => text.parse::<u64>().unwrap() * 1000,
        })
    }

    pub(super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let text = if value.is_multiple_of(1000) { (value / 1000).to_string() } else { format!("{value}m") };
        serializer.serialize_str(&text)
    }
}

#[derive(Serialize, Deserialize, Clone)]
struct Limits {
    list: Vec<Quantity>,
    items: Vec<Item>,
    #[serde(default, skip_serializing_if = "is_default")]
    max: Quantity,
}

#[derive(Serialize, Deserialize, Clone)]
struct Item {
    cpu: Quantity,
    #[serde(default)]
    on: bool,
}

fn is_default(quantity: &Quantity) -> bool {
    *quantity == Quantity::default()
}

#[tokio::test]
async fn the_spelling_of_quantities_stays_in_lists() {
    let object = json!({"list": ["1000m", "1", "2000m", "3"], "items": [{"cpu": "1000m", "x": 1}, {"cpu": "1", "x": 2}, {"cpu": "5", "x": 3}], "max": "0m"});
    let result = stored::<Limits>(&object, |object| {
        object.list.remove(1);
        object.items[1].on = true;
        object.items.swap(0, 2);
    })
    .await;
    assert_eq!(
        result,
        Ok(json!({"list": ["1000m", "2000m", "3"],
        "items": [{"cpu": "5", "x": 3}, {"cpu": "1", "x": 2, "on": true}, {"cpu": "1000m", "x": 1}], "max": "0m"}))
    );
}

#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Serialize, Deserialize, Clone)]
#[serde(tag = "type")]
enum Kind {
    A {
        a: u8,
    },
    B {
        b: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        x: Option<u8>,
    },
    #[serde(other)]
    Other,
}

#[derive(Serialize, Deserialize, Clone)]
struct Mixed {
    #[serde(default)]
    one: Option<OneOrMany>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<Kind>,
    #[serde(default, deserialize_with = "double", skip_serializing_if = "Option::is_none")]
    deep: Option<Option<u8>>,
    #[serde(default)]
    float: f64,
    #[serde(default)]
    map: BTreeMap<u8, Vec<u8>>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

fn double<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u8>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[tokio::test]
async fn unusual_types_change_what_the_handler_changed() {
    let object = json!({"one": "a", "kinds": [{"type": "A", "a": 1, "u": 1}, {"type": "C", "c": 1, "u": 2}, {"type": "B", "b": 1, "u": 3}],
        "deep": null, "float": 1, "map": {"2": [1], "10": [2]}, "other": 18446744073709551615u64, "zero": -0.0});
    let result = stored::<Mixed>(&object, |object| {
        object.kinds[0] = Kind::B { b: 2, x: None };
        object.map.get_mut(&10).unwrap().push(3);
        object.deep = Some(Some(1));
    })
    .await;
    assert_eq!(
        result,
        Ok(
            json!({"one": "a", "kinds": [{"type": "B", "b": 2}, {"type": "C", "c": 1, "u": 2}, {"type": "B", "b": 1, "u": 3}],
        "deep": 1, "float": 1, "map": {"2": [1], "10": [2, 3]}, "other": 18446744073709551615u64, "zero": -0.0})
        )
    );
    let result = stored::<Mixed>(&object, |object| {
        object.one = Some(OneOrMany::Many(vec!["a".to_owned(), "b".to_owned()]));
        object.deep = None;
        object.float = 2.0;
        object.kinds.clear();
        object.rest.remove("other");
        object.rest.insert("a/~b".to_owned(), Value::Null);
        object.rest.insert(String::new(), json!({"": {"/": 1}}));
    })
    .await;
    assert_eq!(
        result,
        Ok(
            json!({"one": ["a", "b"], "float": 2.0, "map": {"2": [1], "10": [2]}, "zero": -0.0, "a/~b": null, "": {"": {"/": 1}}})
        )
    );
}
