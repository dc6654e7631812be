//! After any operations and roll backs, an index is equal to a new index of the list.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use vestibule_patch::{Operation, View};

use super::{NAME, item, overlay, pointer, raw};
use crate::merge::list_index::{IndexKey, ListIndex, ListIndexes};

/// Lists, and lists in items of the first.
const LISTS: [&str; 4] = ["/a", "/b", "/a/0/env", "/a/1/env"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    /// An index is built, by the names of the items or by their contents.
    Build {
        by_name: bool,
    },
    Insert(Index, Value),
    /// An insertion at the end that the index does not follow.
    Append(Value),
    Remove(Index),
    Replace(Index, Value),
    /// The value of an item changes, and its name does not.
    Change(Index, &'static str),
    /// The operations after the first few are rolled back, as when a rule fails.
    RollBack(Index),
}

fn an_item() -> impl Strategy<Value = Value> {
    let env = prop::collection::vec(prop::sample::select(&NAMES[..]), 0..3);
    (prop::sample::select(&NAMES[..]), value(), env).prop_map(|(name, value, env)| {
        let env: Vec<_> = env.into_iter().map(|name| json!({"name": name, "value": "x"})).collect();
        json!({"name": name, "value": value, "env": env})
    })
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["x", "y", "z"][..])
}

fn step() -> impl Strategy<Value = (&'static str, Step)> {
    let index = any::<Index>;
    let step = prop_oneof![
        4 => prop::bool::weighted(0.7).prop_map(|by_name| Step::Build { by_name }),
        6 => (index(), an_item()).prop_map(|(index, item)| Step::Insert(index, item)),
        4 => index().prop_map(Step::Remove),
        1 => an_item().prop_map(Step::Append),
        1 => (index(), an_item()).prop_map(|(index, item)| Step::Replace(index, item)),
        1 => (index(), value()).prop_map(|(index, value)| Step::Change(index, value)),
        3 => index().prop_map(Step::RollBack),
    ];
    (prop::sample::select(&LISTS[..]), step)
}

/// An object with its indexes and operations.
struct IndexedObject {
    lists: ListIndexes,
    /// The object before the first operation, and after each.
    states: Vec<Value>,
    operations: Vec<Operation>,
    /// The number of operations before an index of `/b` by name was built; `None` after an operation that no index can follow.
    followed: Option<usize>,
}

impl IndexedObject {
    fn new(a: &[Value], b: &[Value]) -> Self {
        let states = vec![json!({"a": a, "b": b})];
        Self { lists: ListIndexes::default(), states, operations: Vec::new(), followed: None }
    }

    fn items(&self, list: &str) -> Option<&Vec<Value>> {
        self.states.last().unwrap().pointer(list).and_then(Value::as_array)
    }

    /// A new index of `list`.
    fn positions(&self, list: &str, by: IndexKey) -> Option<ListIndex> {
        let all: Vec<_> = self.items(list)?.iter().map(|item| raw(&item.to_string())).collect();
        Some(ListIndex::of(
            &all.iter().map(|item| View::of(item)).collect::<Vec<_>>(),
            by,
            self.operations.len(),
        ))
    }

    fn apply(&mut self, list: &str, step: Step) {
        let Some(length) = self.items(list).map(Vec::len) else { return };
        let (at, count) = (pointer(list), self.operations.len());
        match step {
            Step::Build { by_name } => {
                let by = if by_name {
                    IndexKey::Keys(NAME)
                } else {
                    IndexKey::Contents(vec![vec!["value".to_owned()]])
                };
                if !self.lists.are_enough(&at, &by) {
                    let positions = self.positions(list, by).unwrap();
                    self.lists.add(&at, positions);
                }
                if list == "/b" && by_name {
                    self.followed.get_or_insert(count);
                }
            }
            Step::Insert(index, new) => {
                let index = index.index(length + 1);
                let key = new["name"].as_str().unwrap();
                self.lists.inserted(&at, index, &item(key, overlay(&new.to_string())));
                let path = if index == length && count % 2 == 0 { at.child("-") } else { at.item(index) };
                let value = raw(&new.to_string()).into();
                self.done(Operation::Add { path, value }, list, |items| items.insert(index, new));
            }
            Step::Append(new) => {
                let path = at.child("-");
                self.lists.changed(&path);
                self.stop_following(list);
                let value = raw(&new.to_string()).into();
                self.done(Operation::Add { path, value }, list, |items| items.push(new));
            }
            Step::Remove(index) if length > 0 => {
                let index = index.index(length);
                self.done(Operation::Remove { path: at.item(index) }, list, |items| {
                    drop(items.remove(index));
                });
                self.lists.removed(&at, index);
            }
            Step::Replace(index, new) if length > 0 => {
                let path = at.item(index.index(length));
                self.lists.changed(&path);
                self.stop_following(list);
                let value = raw(&new.to_string()).into();
                self.done(Operation::Replace { path, value }, list, |items| items[index.index(length)] = new);
            }
            Step::Change(index, value) if length > 0 => {
                let path = at.item(index.index(length)).child("value");
                self.lists.changed(&path);
                let json = raw(&json!(value).to_string()).into();
                self.done(Operation::Replace { path, value: json }, list, |items| {
                    items[index.index(length)]["value"] = json!(value);
                });
            }
            Step::RollBack(index) => {
                let count = index.index(count + 1);
                let undone = self.operations.split_off(count);
                self.lists.roll_back(count, &undone);
                self.states.truncate(count + 1);
                self.followed = self.followed.filter(|since| *since <= count);
            }
            Step::Remove(_) | Step::Replace(..) | Step::Change(..) => {}
        }
    }

    fn stop_following(&mut self, list: &str) {
        if list == "/b" {
            self.followed = None;
        }
    }

    fn done(&mut self, operation: Operation, list: &str, change: impl FnOnce(&mut Vec<Value>)) {
        let mut next = self.states.last().unwrap().clone();
        change(next.pointer_mut(list).and_then(Value::as_array_mut).unwrap());
        self.states.push(next);
        self.operations.push(operation);
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        for (list, indexes) in &self.lists.0 {
            prop_assert!(!indexes.is_empty());
            for positions in indexes {
                let rebuilt = self.positions(list, positions.by.clone());
                prop_assert!(rebuilt.is_some(), "{} has an index, and is absent", list);
                let rebuilt = rebuilt.unwrap();
                prop_assert!(positions.keys().eq(rebuilt.keys()), "{}", list);
                prop_assert_eq!(positions.numbers.len(), rebuilt.numbers.len(), "{}", list);
                for key in rebuilt.keys() {
                    prop_assert_eq!(positions.find(key), rebuilt.find(key), "{} in {}", key, list);
                }
                prop_assert!(positions.since <= self.operations.len());
            }
        }
        // If two items have one name, a removal discards the index.
        if !self.positions("/b", IndexKey::Keys(NAME)).is_some_and(|positions| positions.are_different()) {
            self.followed = None;
        }
        let is_indexed = self.lists.get(&pointer("/b")).iter().any(|one| matches!(one.by, IndexKey::Keys(_)));
        prop_assert!(is_indexed || self.followed.is_none(), "the index of /b was discarded");
        Ok(())
    }
}

proptest! {
    #[test]
    fn indexes_are_equal_to_new_ones(
        a in prop::collection::vec(an_item(), 0..4),
        b in prop::collection::vec(an_item(), 0..3),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut object = IndexedObject::new(&a, &b);
        for (list, step) in steps {
            object.apply(list, step);
            object.check()?;
        }
    }
}
