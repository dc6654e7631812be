//! Properties of YAML texts that are edited in place.

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_patch::Operation;
use vestibule_rules::yaml;

fn scalar() -> impl Strategy<Value = Value> {
    let texts =
        ["a", "", "on", "1.10", "a: b", "#x", "- x", "it's", "\"q\"", "é", "$(A)", "*", "a #b", " pad "];
    prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn map(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["name", "image", "env", "a/b", "y", "12", "spec"]);
    prop::collection::btree_map(key.prop_map(str::to_owned), value, 1..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Lists hold maps and scalars, as in a pod.
fn document() -> impl Strategy<Value = Value> {
    let node = scalar().prop_recursive(4, 40, 4, |below| {
        let item = prop_oneof![map(below.clone()), scalar()];
        prop_oneof![map(below), prop::collection::vec(item, 1..4).prop_map(Value::from)]
    });
    map(node)
}

/// A pointer in `document` for a new value, by `choices`.
fn place(document: &Value, choices: &[u8]) -> String {
    let (mut at, mut path) = (document, String::new());
    for choice in choices {
        let choice = usize::from(*choice);
        let (token, below) = match at {
            Value::Object(map) => {
                map.iter().nth(choice % map.len()).map(|(key, value)| (key.replace('/', "~1"), value))
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .nth(choice % items.len())
                .map(|(index, item)| (index.to_string(), item)),
            _ => None,
        }
        .unwrap();
        if !below.is_object() && !below.is_array() {
            break;
        }
        path = format!("{path}/{token}");
        at = below;
    }
    match at {
        Value::Array(items) => format!("{path}/{}", usize::from(choices[0]) % (items.len() + 1)),
        _ => format!("{path}/new"),
    }
}

/// The document with comments and blank lines everywhere.
fn commented(document: &Value, noise: &[u8]) -> String {
    let mut noise = noise.iter().cycle();
    let mut text = String::new();
    for line in yaml::from_json(&document.to_string()).unwrap().lines() {
        match noise.next().unwrap() % 5 {
            0 => text.push('\n'),
            1 => text.push_str("    # above\n"),
            2 => text.push_str("# above, at the edge\n"),
            _ => {}
        }
        text.push_str(line);
        text.push_str(if noise.next().unwrap().is_multiple_of(3) { "  # behind\n" } else { "\n" });
    }
    text
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(&yaml::read("test", text).unwrap()[0].to_kubectl_json()).unwrap()
}

/// Checked by an independent implementation of RFC 6902.
fn applied(mut document: Value, operation: Value) -> Value {
    let patch: json_patch::Patch = serde_json::from_value(operation).unwrap();
    json_patch::patch(&mut document, &patch).unwrap();
    document
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn only_added_lines_change(
        document in document(), noise in prop::collection::vec(any::<u8>(), 8..40),
        choices in prop::collection::vec(any::<u8>(), 1..5), added in document(),
    ) {
        let text = commented(&document, &noise);
        let path = place(&document, &choices);
        let operation = json!([{"op": "add", "path": path, "value": added}]);
        let operations: Vec<Operation> = serde_json::from_value(operation.clone()).unwrap();
        let patched = yaml::patch(&text, &operations).unwrap();
        prop_assert_eq!(&patched.rewritten, &None, "{} into\n{}", path, text);

        let expected = applied(document, operation);
        prop_assert_eq!(json_of(&patched.text), expected, "{}", patched.text);

        let mut lines = patched.text.lines();
        for line in text.lines() {
            prop_assert!(lines.any(|kept| kept == line), "`{}` is lost:\n{}", line, patched.text);
        }
    }

    #[test]
    fn the_patched_text_means_the_result_of_the_operations(
        document in document(), noise in prop::collection::vec(any::<u8>(), 8..40),
        choices in prop::collection::vec(any::<u8>(), 1..5), value in document(), remove in any::<bool>(),
    ) {
        let path = place(&document, &choices);
        let (parent, _) = path.rsplit_once('/').unwrap();
        prop_assume!(!parent.is_empty());
        let operation = match remove {
            true => json!([{"op": "remove", "path": parent}]),
            false => json!([{"op": "replace", "path": parent, "value": value}]),
        };
        let patched =
            yaml::patch(&commented(&document, &noise), &serde_json::from_value::<Vec<_>>(operation.clone()).unwrap()).unwrap();
        let expected = applied(document, operation);
        prop_assert_eq!(json_of(&patched.text), expected, "{}", patched.text);
    }
}
