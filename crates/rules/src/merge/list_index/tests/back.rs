//! Whatever was done and undone, what is kept of a list is what somebody finds who looks at it.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use vestibule_patch::{Operation, View};

use super::{NAME, item, overlay, pointer, raw};
use crate::merge::list_index::{IndexKey, ListIndexes, Positions};

/// ListIndexes, and lists in items of the first.
const LISTS: [&str; 4] = ["/a", "/b", "/a/0/env", "/a/1/env"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    /// Somebody looks into a list, by the name of its items or by what they hold.
    Look {
        by_name: bool,
    },
    Insert(Index, Value),
    /// The same at the end, by somebody who says nothing of the item.
    Append(Value),
    Remove(Index),
    Replace(Index, Value),
    /// Something of an item becomes something else, but not its name.
    Change(Index, &'static str),
    /// All operations but some of the first are undone, as when a rule fails.
    GoBack(Index),
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
        4 => prop::bool::weighted(0.7).prop_map(|by_name| Step::Look { by_name }),
        6 => (index(), an_item()).prop_map(|(index, item)| Step::Insert(index, item)),
        4 => index().prop_map(Step::Remove),
        1 => an_item().prop_map(Step::Append),
        1 => (index(), an_item()).prop_map(|(index, item)| Step::Replace(index, item)),
        1 => (index(), value()).prop_map(|(index, value)| Step::Change(index, value)),
        3 => index().prop_map(Step::GoBack),
    ];
    (prop::sample::select(&LISTS[..]), step)
}

/// An object with what is kept of it, as somebody keeps it who carries out one operation after the other.
struct Kept {
    lists: ListIndexes,
    /// What the object was after so many operations.
    states: Vec<Value>,
    operations: Vec<Operation>,
    /// The number of operations behind which `/b` was looked into by name, if nothing has been done since that nobody can follow.
    followed: Option<usize>,
}

impl Kept {
    fn new(a: &[Value], b: &[Value]) -> Self {
        let states = vec![json!({"a": a, "b": b})];
        Self { lists: ListIndexes::default(), states, operations: Vec::new(), followed: None }
    }

    fn items(&self, list: &str) -> Option<&Vec<Value>> {
        self.states.last().unwrap().pointer(list).and_then(Value::as_array)
    }

    /// What somebody keeps who looks now.
    fn places(&self, list: &str, by: IndexKey) -> Option<Positions> {
        let all: Vec<_> = self.items(list)?.iter().map(|item| raw(&item.to_string())).collect();
        Some(Positions::of(&all.iter().map(|item| View::of(item)).collect::<Vec<_>>(), by))
    }

    fn take(&mut self, list: &str, step: Step) {
        let Some(length) = self.items(list).map(Vec::len) else { return };
        let (at, count) = (pointer(list), self.operations.len());
        match step {
            Step::Look { by_name } => {
                let by = if by_name { IndexKey::Keys(NAME) } else { IndexKey::Contents(vec![vec!["value".to_owned()]]) };
                if !self.lists.get(&at).is_some_and(|kept| kept.are_enough(&by)) {
                    let places = self.places(list, by).unwrap();
                    self.lists.put(&at, places, count);
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
                self.nobody_follows(list);
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
                self.nobody_follows(list);
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
            Step::GoBack(index) => {
                let count = index.index(count + 1);
                let undone = self.operations.split_off(count);
                self.lists.go_back(count, &undone);
                self.states.truncate(count + 1);
                self.followed = self.followed.filter(|since| *since <= count);
            }
            Step::Remove(_) | Step::Replace(..) | Step::Change(..) => {}
        }
    }

    fn nobody_follows(&mut self, list: &str) {
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

    fn is_right(&mut self) -> Result<(), TestCaseError> {
        for (list, kept) in &self.lists.0 {
            prop_assert!(!kept.0.is_empty());
            for kept in &kept.0 {
                let places = &kept.places;
                let made = self.places(list, places.by.clone());
                prop_assert!(made.is_some(), "{} is kept, and not there", list);
                let made = made.unwrap();
                prop_assert_eq!(&places.keys, &made.keys, "{}", list);
                prop_assert_eq!(places.numbers.len(), made.numbers.len(), "{}", list);
                for key in &made.keys {
                    prop_assert_eq!(places.find(key), made.find(key), "{} in {}", key, list);
                }
                prop_assert!(kept.since <= self.operations.len());
            }
        }
        // Of doubled names nobody knows which is the last without it.
        if !self.places("/b", IndexKey::Keys(NAME)).is_some_and(|places| places.are_different()) {
            self.followed = None;
        }
        let is_kept = self.lists.get(&pointer("/b")).is_some_and(|kept| kept.by_keys().is_some());
        prop_assert!(is_kept || self.followed.is_none(), "what was known of /b is lost");
        Ok(())
    }
}

proptest! {
    #[test]
    fn is_what_it_was(
        a in prop::collection::vec(an_item(), 0..4),
        b in prop::collection::vec(an_item(), 0..3),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut kept = Kept::new(&a, &b);
        for (list, step) in steps {
            kept.take(list, step);
            kept.is_right()?;
        }
    }
}
