use proptest::prelude::*;
use vestibule_patch::{Key, Pointer, View};

use super::{Lists, Places};

const NAME: &[Key] = &[Key { name: "name", default: None }];

fn places(keys: &[&str]) -> Places {
    let items: Vec<_> = keys.iter().map(|key| raw(&format!(r#"{{"name":"{key}"}}"#))).collect();
    let views: Vec<View<'_>> = items.iter().map(|item| View::of(item)).collect();
    Places::of(&views, NAME)
}

fn raw(json: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(json.to_owned()).unwrap()
}

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

proptest! {
    /// Wherever items come, doubled ones among them, each key is found where a walk from the end finds it.
    #[test]
    fn finds_what_a_walk_finds(
        start in prop::collection::vec("[a-e]", 0..6),
        come in prop::collection::vec(("[a-h]", any::<prop::sample::Index>()), 0..20),
    ) {
        let mut list = start;
        let mut places = places(&list.iter().map(String::as_str).collect::<Vec<_>>());
        for (key, index) in come {
            let index = index.index(list.len() + 1);
            places.insert(index, &key);
            list.insert(index, key);
            prop_assert_eq!(places.len(), list.len());
            for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                prop_assert_eq!(places.find(key), list.iter().rposition(|one| one == key), "{} in {:?}", key, list);
            }
        }
    }
}

#[test]
fn forgets_what_moved() {
    let known = ["/spec/volumes", "/spec/containers/0/env", "/spec/containers", "/spec/initContainers/1/env"];
    let left = |change: &dyn Fn(&mut Lists)| {
        let mut lists = Lists::default();
        known.iter().for_each(|list| lists.put(pointer(list), places(&["a"]), 3));
        change(&mut lists);
        known.map(|list| lists.get(&pointer(list)).is_some())
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
    let containers = pointer("/spec/containers");
    assert_eq!(left(&|lists| lists.inserted(&containers, 1, "b", 4)), [true, false, true, true]);
    let insert_and_go_back = |lists: &mut Lists| {
        lists.inserted(&pointer("/spec/volumes"), 1, "b", 4);
        lists.go_back(3);
    };
    assert_eq!(left(&insert_and_go_back), [false, true, true, true]);
}
