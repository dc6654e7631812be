//! Types that hold a list as a set or a map, and so write its items in another order than they read them.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule_admission::Converter;

use super::Rule;
use crate::conversion::versions::Versions;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Widget {
    api_version: String,
    #[serde(default)]
    hosts: HashSet<String>,
    #[serde(default)]
    rules: Rules,
    #[serde(default, skip_deserializing)]
    written: bool,
}

/// The rules by their names.
#[derive(Serialize, Deserialize, Clone, Default)]
#[serde(from = "Vec<Rule>", into = "Vec<Rule>")]
struct Rules(BTreeMap<String, Rule>);

impl From<Vec<Rule>> for Rules {
    fn from(rules: Vec<Rule>) -> Self {
        Self(rules.into_iter().map(|rule| (rule.name.clone(), rule)).collect())
    }
}

impl From<Rules> for Vec<Rule> {
    fn from(rules: Rules) -> Self {
        rules.0.into_values().collect()
    }
}

fn converted(object: &Value) -> Value {
    let mut versions = Versions::<Widget>::new();
    for version in ["example.com/v1", "example.com/v2"] {
        let from_hub = move |hub| Ok::<_, Infallible>(Widget { api_version: version.to_owned(), ..hub });
        assert!(versions.add(version.to_owned(), Ok::<Widget, Infallible>, from_hub));
    }
    let object = RawValue::from_string(object.to_string()).unwrap();
    let converted = versions.convert(&object, "example.com/v2").unwrap_or_else(|why| panic!("{why}"));
    serde_json::from_str(converted.get()).unwrap()
}

/// Regression: the unknown members of the item at the same index in the received list were taken.
#[test]
fn unknown_members_stay_with_their_items_in_a_list_that_the_type_sorts() {
    let rules = json!([{"name": "b", "weight": 2, "x": "b"}, {"name": "a", "weight": 1, "x": "a"}]);
    let whole = converted(&json!({"apiVersion": "example.com/v1", "rules": rules}));
    let sorted = json!([{"name": "a", "weight": 1, "x": "a"}, {"name": "b", "weight": 2, "x": "b"}]);
    assert_eq!(whole["rules"], sorted);
}

/// Regression: they were lost in a list that the type shortened.
#[test]
fn unknown_members_stay_where_the_type_leaves_an_equal_item_out() {
    let rules = json!([{"name": "a", "weight": 1, "x": 1}, {"name": "b", "weight": 2, "x": 2}]);
    let mut twice = rules.clone();
    twice.as_array_mut().unwrap().push(json!({"name": "c", "weight": 3}));
    twice.as_array_mut().unwrap().push(json!({"name": "c", "weight": 3}));
    let whole = converted(&json!({"apiVersion": "example.com/v1", "rules": twice}));
    assert_eq!(whole["rules"].as_array().unwrap()[..2], rules.as_array().unwrap()[..]);
    assert_eq!(whole["rules"].as_array().unwrap().len(), 3);
}

/// Regression: all unknown members of the object were lost, since each decoding orders the set anew.
#[test]
fn unknown_members_stay_beside_a_hashed_set() {
    let hosts = ["a", "b", "c", "d", "e", "f"];
    let whole = converted(&json!({"apiVersion": "example.com/v1", "hosts": hosts, "x": [1]}));
    assert_eq!(whole["x"], json!([1]));
    let mut kept: Vec<String> = serde_json::from_value(whole["hosts"].clone()).unwrap();
    kept.sort();
    assert_eq!(kept, hosts);
}
