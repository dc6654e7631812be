use serde_json::json;

use super::*;
use crate::colour::When;

fn object(kind: &str, name: &str, data: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "labels": {"app.kubernetes.io/name": "demo"}},
        "data": {"key": data},
    })
}

fn folder(files: &[(&str, Value)]) -> Folder {
    let objects = files.iter().map(|(path, object)| (PathBuf::from(path), object.clone())).collect();
    Folder { path: "deploy".into(), objects }
}

#[test]
fn equal_objects_are_no_drift_and_foreign_ones_are_counted() {
    let printed = [object("Service", "a", "1")];
    let mut foreign = object("Namespace", "shop", "");
    foreign["metadata"]["labels"] = json!({});
    let folder = folder(&[("a.yaml", printed[0].clone()), ("b.yaml", foreign)]);
    let drift = folder.compare(&printed, "demo", |_| true);
    assert!(drift.is_none());
    assert_eq!(drift.summary(), ["deploy is what the app asks for; 1 others there are left alone"]);
    assert_eq!(drift.text(When::Never.palette()).unwrap(), "");
}

#[test]
fn differences_are_a_diff_from_the_folder_to_the_app() {
    let printed = [object("Service", "a", "new"), object("Service", "b", "1")];
    let folder = folder(&[
        ("a.yaml", object("Service", "a", "old")),
        ("c.yaml", object("Service", "c", "1")),
        ("d.yaml", object("Role", "d", "1")),
    ]);
    let drift = folder.compare(&printed, "demo", |object| object["kind"] != "Role");
    assert!(!drift.is_none());
    let text = drift.text(When::Never.palette()).unwrap();
    assert!(text.starts_with("--- a.yaml\n+++ Service shop/a\n@@ -1,"), "{text}");
    assert!(text.contains("\n-  key: old\n+  key: new\n"), "{text}");
    assert!(text.contains("--- /dev/null\n+++ Service shop/b\n"), "{text}");
    assert!(text.contains("--- c.yaml\n+++ /dev/null\n"), "{text}");
    assert_eq!(
        drift.summary(),
        [
            "Service shop/a differs: a.yaml",
            "Service shop/b is missing in deploy",
            "Service shop/c is not of this app any more, or twice: c.yaml",
            "deploy is not what the app asks for; 1 others there are left alone: print it again without --check",
        ]
    );
}

/// Regression: the error quoted the lines around its place, all on one line.
#[test]
fn a_file_that_cannot_be_read_is_named_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.yaml"), "kind: Secret\ndata: hunter2\n  x: y: z\n").unwrap();
    let error = Folder::read(folder.path()).map(drop).unwrap_err().to_string();
    assert!(error.contains("secret.yaml: ") && error.contains("line 3"), "{error}");
    assert!(!error.contains("hunter2") && !error.contains('\u{fffd}'), "{error}");
}

/// File names, and names in the files, may hold control characters.
#[test]
fn a13_file_names_do_not_move_the_cursor() {
    const ODD: &str = "a\u{1b}[2J\u{202e}\u{200f}\nforged";
    let printed = [object("Service", "a", "new"), object("Service", "b", "1")];
    let mut folder = folder(&[(ODD, object("Service", "a", "old")), (ODD, object(ODD, ODD, ODD))]);
    folder.path = ODD.into();
    let drift = folder.compare(&printed, "demo", |_| true);
    let mut lines = drift.summary();
    lines.extend(drift.text(When::Never.palette()).unwrap().lines().map(str::to_owned));
    let moves = |character: char| character.is_control() || matches!(character, '\u{200f}' | '\u{202e}');
    let forged = lines.iter().find(|line| line.contains(moves) || line.starts_with("forged"));
    assert!(forged.is_none() && lines.len() > 10, "{forged:?}");
}

#[test]
fn an_object_that_is_there_twice_is_named() {
    let printed = [object("Service", "a", "1")];
    let mut changed = object("Service", "a", "2");
    // Objects are compared by name and not by label: the one that is applied last wins.
    changed["metadata"]["labels"] = json!({});
    for again in [printed[0].clone(), changed] {
        let folder = folder(&[("a.yaml", printed[0].clone()), ("b.yaml", again)]);
        assert_eq!(
            folder.compare(&printed, "demo", |_| true).summary()[0],
            "Service shop/a is not of this app any more, or twice: b.yaml"
        );
    }
}

#[test]
fn the_items_of_a_list_are_compared() {
    let of = |document| items(document).collect::<Vec<_>>();
    assert_eq!(of(json!({"kind": "List", "items": [1, 2]})), [json!(1), json!(2)]);
    assert_eq!(of(json!({"kind": "PodList", "items": [1]})).len(), 1);
    assert_eq!(of(json!({"kind": "Pod"})), [json!({"kind": "Pod"})]);
}
