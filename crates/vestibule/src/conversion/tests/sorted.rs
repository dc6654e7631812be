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
    #[serde(default)]
    routes: Routes,
    #[serde(default)]
    timeouts: Vec<Timeout>,
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

#[derive(Serialize, Deserialize, Clone)]
struct Route {
    host: String,
    #[serde(default)]
    weight: i64,
    #[serde(default, with = "seconds")]
    timeout: u64,
}

/// The routes by their hosts.
#[derive(Serialize, Deserialize, Clone, Default)]
#[serde(from = "Vec<Route>", into = "Vec<Route>")]
struct Routes(BTreeMap<String, Route>);

impl From<Vec<Route>> for Routes {
    fn from(routes: Vec<Route>) -> Self {
        Self(routes.into_iter().map(|route| (route.host.clone(), route)).collect())
    }
}

impl From<Routes> for Vec<Route> {
    fn from(routes: Routes) -> Self {
        routes.0.into_values().collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Timeout {
    #[serde(with = "seconds")]
    timeout: u64,
    #[serde(default)]
    mode: String,
}

/// Reads `60s` and `1m`, and writes `60s`.
mod seconds {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.strip_suffix('m') {
            Some(minutes) => 60 * minutes.parse::<u64>().unwrap(),
            None => text.trim_end_matches('s').parse().unwrap(),
        })
    }

    pub(super) fn serialize<S: Serializer>(seconds: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{seconds}s"))
    }
}

fn converted(object: &Value) -> Value {
    let mut versions = Versions::<Widget>::new();
    for version in ["example.com/v1", "example.com/v2"] {
        let from_hub = move |hub| Ok::<_, Infallible>(Widget { api_version: version.to_owned(), ..hub });
        assert!(versions.add(version.to_owned(), None, Ok::<Widget, Infallible>, from_hub));
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

fn converted_routes(routes: &Value) -> Value {
    converted(&json!({"apiVersion": "example.com/v1", "routes": routes}))["routes"].take()
}

/// Regression: items without a `name` took the unknown members of the item at the same index.
#[test]
fn unknown_members_stay_with_items_without_a_name_in_a_list_that_the_type_sorts() {
    let [a, b] = ["a", "b"].map(|host| json!({"host": host, "weight": 1, "timeout": "1s", "x": host}));
    assert_eq!(converted_routes(&json!([b, a])), json!([a, b]));
    assert_eq!(converted_routes(&json!([a, b])), json!([a, b]));
    // The type adds members, and writes a value in another way.
    let routes = json!([{"host": "b", "timeout": "2m", "x": "b"}, {"host": "a", "timeout": "1m", "x": "a"}]);
    let sorted = json!([{"host": "a", "weight": 0, "timeout": "60s", "x": "a"},
        {"host": "b", "weight": 0, "timeout": "120s", "x": "b"}]);
    assert_eq!(converted_routes(&routes), sorted);
}

/// Many items without a name are matched without a comparison of each with each.
#[test]
fn a_long_list_of_items_without_a_name_is_matched() {
    let route = |at: usize| json!({"host": format!("{at:05}"), "weight": 1, "timeout": "1s", "x": at});
    let (routes, sorted): (Vec<_>, Vec<_>) =
        ((0..5000).rev().map(route).collect(), (0..5000).map(route).collect());
    assert_eq!(converted_routes(&Value::from(routes)), Value::from(sorted));
}

#[test]
fn unknown_members_stay_in_a_list_whose_values_the_type_writes_in_another_way() {
    let timeouts = json!([{"timeout": "1m", "x": 1}, {"timeout": "2m", "mode": "", "x": 2}]);
    let whole = converted(&json!({"apiVersion": "example.com/v1", "timeouts": timeouts}));
    let expected = json!([{"timeout": "60s", "mode": "", "x": 1}, {"timeout": "120s", "mode": "", "x": 2}]);
    assert_eq!(whole["timeouts"], expected);
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
