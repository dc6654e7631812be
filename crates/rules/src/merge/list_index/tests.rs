mod roll_back;

use std::collections::HashSet;

use proptest::prelude::*;
use vestibule_patch::{Key, Operation, Pointer, Schema, View};

use super::{IndexKey, ListIndex, ListIndexes};
use crate::diagnostic::Position;
use crate::merge::contains::find;
use crate::overlay::Overlay;
use crate::rule::{Clause, Item, OnConflict};

const NAME: &[Key] = &[Key { name: "name", default: None }];

fn positions(keys: &[&str]) -> ListIndex {
    let items: Vec<_> = keys.iter().map(|key| raw(&format!(r#"{{"name":"{key}"}}"#))).collect();
    let views: Vec<View<'_>> = items.iter().map(|item| View::of(item)).collect();
    ListIndex::of(&views, IndexKey::Keys(NAME), 3)
}

fn raw(json: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(json.to_owned()).unwrap()
}

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

proptest! {
    /// After any insertions and removals, items with equal keys among them, a lookup finds the same as a search from the end.
    #[test]
    fn a_lookup_by_key_finds_the_same_as_a_search(
        start in prop::collection::vec("[a-e]", 0..6),
        changes in prop::collection::vec((prop::option::weighted(0.7, "[a-h]"), any::<prop::sample::Index>()), 0..20),
    ) {
        let mut list = start;
        let mut positions = positions(&list.iter().map(String::as_str).collect::<Vec<_>>());
        for (key, index) in changes {
            let index = index.index(list.len() + 1);
            let are_different = list.iter().collect::<HashSet<_>>().len() == list.len();
            prop_assert_eq!(positions.are_different(), are_different);
            if let Some(key) = key {
                positions.insert(index, &key);
                list.insert(index, key);
            } else if positions.remove(index).is_some() {
                list.remove(index);
            } else {
                prop_assert!(index == list.len() || !are_different);
            }
            prop_assert_eq!(positions.keys().len(), list.len());
            for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                prop_assert_eq!(positions.find(key), list.iter().rposition(|one| one == key), "{} in {:?}", key, list);
            }
        }
    }
}

fn item(key: &str, overlay: Overlay) -> Item {
    let clause = Clause { text: "".into(), at: Position { line: 1, column: 1 } };
    Item::new(clause, key.to_owned(), overlay, OnConflict::Keep)
}

/// The members of an item without merge keys, as JSON.
fn unkeyed() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let member = |name, values: &'static [&'static str]| {
        prop::option::of(prop::sample::select(values)).prop_map(move |value| value.map(|value| (name, value)))
    };
    let members = [
        member("key", &[r#""a""#, r#""b""#, r#""""#]),
        member("operator", &[r#""Exists""#, r#""Equal""#]),
        member("seconds", &["3", "30", r#""3""#]),
        member("secretRef", &[r#"{"name":"a"}"#, r#"{"name":"b","optional":true}"#, "{}"]),
        member("readOnly", &["true", "false"]),
    ];
    members.prop_map(|members| members.into_iter().flatten().collect())
}

fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!(r#""{name}":{value}"#)).collect();
    format!("{{{}}}", members.join(","))
}

fn overlay(json: &str) -> Overlay {
    match serde_json::from_str(json).unwrap() {
        serde_json::Value::String(text) => Overlay::Text(text),
        serde_json::Value::Object(members) => {
            Overlay::map(members.into_iter().map(|(name, value)| (name, overlay(&value.to_string()))))
        }
        other => Overlay::Literal(other.to_string()),
    }
}

proptest! {
    /// A lookup of an item without merge keys finds the same as a search, among inserted items as well.
    #[test]
    fn a_lookup_by_contents_finds_the_same_as_a_search(
        all in prop::collection::vec((unkeyed(), any::<prop::sample::Index>()), 0..8),
        wanted in unkeyed(),
        initial in 0_usize..8,
        name in prop::sample::select(&["sources", "tolerations"][..]),
    ) {
        let wanted = item("", overlay(&object(&wanted)));
        let Some(by) = IndexKey::of(Schema::unknown(), name, &wanted.overlay) else { return Ok(()) };
        let mut list: Vec<_> = all.iter().take(initial).map(|(members, _)| raw(&object(members))).collect();
        let mut positions = ListIndex::of(&list.iter().map(|one| View::of(one)).collect::<Vec<_>>(), by, 0);
        for (members, index) in all.iter().skip(initial) {
            let (json, index) = (object(members), index.index(list.len() + 1));
            let key = positions.by.of_item("", &overlay(&json)).into_owned();
            positions.insert(index, &key);
            list.insert(index, raw(&json));
        }
        let views: Vec<View<'_>> = list.iter().map(|one| View::of(one)).collect();
        let found = find(&views, &wanted.overlay, name, Schema::unknown()).map(|(index, _)| index);
        prop_assert_eq!(positions.find_item(&wanted.key, &wanted.overlay), found);
    }
}

#[test]
fn indexes_of_changed_lists_are_discarded() {
    let indexed =
        ["/spec/volumes", "/spec/containers/0/env", "/spec/containers", "/spec/initContainers/1/env"];
    let left = |change: &dyn Fn(&mut ListIndexes)| {
        let mut lists = ListIndexes::default();
        indexed.iter().for_each(|list| lists.add(&pointer(list), positions(&["a"])));
        change(&mut lists);
        indexed.map(|list| !lists.get(&pointer(list)).is_empty())
    };
    for (place, expected) in [
        ("/spec/hostname", [true; 4]),
        ("/spec/volumes/0/emptyDir", [true; 4]),
        ("/spec/volumes/0", [false, true, true, true]),
        ("/spec/volumes/-", [false, true, true, true]),
        ("/spec/volumes", [false, true, true, true]),
        ("/spec/containers/0", [true, false, false, true]),
        ("/spec/containers/0/env/3/value", [true; 4]),
        ("/spec/initContainers/0", [true, true, true, false]),
        ("/spec", [false; 4]),
        ("", [false; 4]),
    ] {
        assert_eq!(left(&|lists| lists.changed(&pointer(place))), expected, "{place}");
    }
    let (containers, b) = (pointer("/spec/containers"), item("b", Overlay::Map(Vec::new())));
    assert_eq!(left(&|lists| lists.inserted(&containers, 0, &b)), [true, false, true, true]);
    assert_eq!(left(&|lists| lists.inserted(&containers, 1, &b)), [true; 4]);
    let env = pointer("/spec/containers/0/env");
    assert_eq!(left(&|lists| lists.removed(&containers, 0)), [true, false, true, true]);
    assert_eq!(left(&|lists| lists.removed(&env, 0)), [true; 4]);
    assert_eq!(left(&|lists| lists.removed(&env, 1)), [true, false, true, true]);
    assert_eq!(left(&|lists| lists.removed(&pointer("/spec/none"), 0)), [true; 4]);
    let remove_and_roll_back = |lists: &mut ListIndexes| {
        lists.removed(&env, 0);
        lists.roll_back(3, &[Operation::Remove { path: env.item(0) }]);
        assert_eq!(lists.get(&env)[0].find("a"), Some(0));
    };
    assert_eq!(left(&remove_and_roll_back), [true; 4]);
    let volumes = pointer("/spec/volumes");
    for path in [volumes.item(1), volumes.child("-")] {
        let insert_and_roll_back = |lists: &mut ListIndexes| {
            lists.inserted(&volumes, 1, &b);
            lists.roll_back(3, &[Operation::Add { path: path.clone(), value: raw("{}").into() }]);
            let volumes = &lists.get(&volumes)[0];
            assert_eq!((volumes.find("a"), volumes.find("b"), volumes.keys().len()), (Some(0), None, 1));
        };
        assert_eq!(left(&insert_and_roll_back), [true; 4]);
    }
}

/// Two quantities or paths may be equal although their texts differ, and an absent member may mean the same as a default.
#[test]
fn only_texts_that_decide_are_keys() {
    for (name, json, has_key) in [
        ("tolerations", r#"{"key":"a"}"#, true),
        ("tolerations", r#"{"key":"a","seconds":3}"#, true),
        ("tolerations", r#"{"key":"a","other":{"name":"b"}}"#, true),
        ("tolerations", r#"{"key":""}"#, false),
        ("tolerations", "{}", false),
        ("tolerations", r#"{"key":"a","other":{}}"#, false),
        ("volumeMounts", r#"{"name":"a","mountPath":"/a"}"#, false),
        ("items", r#"{"path":"a","resourceFieldRef":{"resource":"limits.cpu","divisor":"1"}}"#, false),
        ("items", r#"{"path":"a","requests":{"cpu":"1"}}"#, false),
        ("ports", r#"{"port":1,"protocol":"TCP"}"#, false),
        ("ports", r#"{"port":1,"protocol":"UDP"}"#, true),
    ] {
        assert_eq!(IndexKey::of(Schema::unknown(), name, &overlay(json)).is_some(), has_key, "{name} {json}");
    }
}

#[test]
fn items_behind_a_removed_one_get_its_position() {
    for index in 0..7 {
        let mut list = ["a", "b", "c", "d", "e", "f", "g"].to_vec();
        let mut positions = positions(&list);
        assert_eq!(positions.remove(index).as_deref(), Some(list.remove(index)));
        for (position, key) in list.iter().enumerate() {
            assert_eq!(positions.find(key), Some(position), "{key} without item {index}");
        }
    }
}
