//! Rows 63 to 69: patches that mean the same to both patch libraries.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_caller::Hook;

use crate::conversations::{VERSIONS, allowed, annotated, pod, review};
use crate::process::shared;

struct Patched {
    object: Value,
    patch: Value,
}

/// Applies the patch by kube-apiserver's rules, as the caller implements them, and strictly by RFC 6902; the results must be
/// equal.
async fn patched(path: &str, object: &Value) -> Patched {
    let hook = Hook::mutating("hook", path).timeout(Duration::from_secs(30));
    let mut made = None;
    for version in VERSIONS {
        let review = review(object.clone()).version(version).build().unwrap();
        let allowed = allowed(shared().outcome(&review, &hook).await);
        let patch = allowed.patch.expect("a patch");
        let mut strictly = review.object().unwrap().clone();
        let operations: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        json_patch::patch(&mut strictly, &operations).unwrap();
        let object = allowed.object.unwrap();
        assert_eq!(object, strictly);
        for path in patch.as_array().unwrap().iter().filter_map(|operation| operation["path"].as_str()) {
            assert!(!path.contains("/-"), "an index that Go counts from the end: {path}");
        }
        if let Some(Patched { patch: first, .. }) = &made {
            assert_eq!(&patch, first);
        }
        made = Some(Patched { object, patch });
    }
    made.unwrap()
}

#[tokio::test]
async fn row_63_the_first_label_comes_with_its_parent() {
    let made = patched("/mutate/label", &pod()).await;
    assert_eq!(made.object["metadata"]["labels"], json!({"seen": "true"}));
    assert_eq!(made.patch.as_array().unwrap().len(), 1, "{}", made.patch);
    let made = patched("/mutate/annotate", &pod()).await;
    assert_eq!(made.object["metadata"]["annotations"], json!({"example.com/a~b~1c": "escaped"}));
    let mut bare = pod();
    bare["metadata"]["annotations"] = Value::Null;
    assert_eq!(
        patched("/mutate/annotate", &bare).await.object["metadata"]["annotations"]["example.com/a~b~1c"],
        "escaped"
    );
}

#[tokio::test]
async fn row_64_keys_are_escaped() {
    let made =
        patched("/mutate/annotate", &annotated(json!({"example.com/old~": "gone", "kept": "yes"}))).await;
    assert_eq!(
        made.object["metadata"]["annotations"],
        json!({"kept": "yes", "example.com/a~b~1c": "escaped"})
    );
    let paths = made.patch.to_string();
    assert!(paths.contains("/example.com~1a~0b~01c") && paths.contains("/example.com~1old~0"), "{paths}");
}

#[tokio::test]
async fn row_65_lists_grow_and_shrink_at_the_right_place() {
    let made = patched("/mutate/lists", &pod()).await;
    assert_eq!(made.object["spec"]["tolerations"], json!([{"key": "a", "operator": "Exists"}]));
    let container = &made.object["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--first", "--second", "a", "c"]));
    assert_eq!(container["x-unknown"], true);
}

#[tokio::test]
async fn row_67_empty_and_null_members_are_unchanged() {
    let made = patched("/mutate/label", &pod()).await;
    let mut expected = pod();
    expected["metadata"]["labels"] = json!({"seen": "true"});
    assert_eq!(made.object, expected);
    assert_eq!(made.patch, json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "true"}}]));
}

#[tokio::test]
async fn row_68_one_label_on_a_large_object_is_a_small_patch() {
    let large = annotated(json!({"large": "<&\u{2028}\"".repeat((1 << 20) / 6)}));
    assert!(large.to_string().len() > 1 << 20);
    let made = patched("/mutate/label", &large).await;
    assert!(made.patch.to_string().len() < 1 << 10, "{}", made.patch);
}

#[tokio::test]
async fn row_69_an_object_that_is_already_changed_gets_no_patch() {
    for (path, object) in
        [("/mutate/label", pod()), ("/mutate/annotate", annotated(json!({"example.com/old~": "x"})))]
    {
        let made = patched(path, &object).await;
        for version in VERSIONS {
            let again = review(made.object.clone()).version(version).build().unwrap();
            assert!(allowed(shared().outcome(&again, &Hook::mutating("hook", path)).await).patch.is_none());
        }
    }
}
