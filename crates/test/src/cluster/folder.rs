//! The objects in the files of a folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Every object in the files of `folder`, in the order to apply them.
pub(super) fn read(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_yaml(path)).collect();
    files.sort();
    let mut objects: Vec<Value> = files.iter().flat_map(|file| objects(file)).collect();
    assert!(!objects.is_empty(), "{} holds no object", folder.display());
    // The sort is stable: objects of one rank keep the order of the files.
    objects.sort_by_key(rank);
    objects
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
}

/// JSON is YAML.
fn objects(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let documents = serde_saphyr::from_multiple::<Value>(&text);
    let documents = documents.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

fn rank(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        Some("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_come_first_and_configurations_last() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write("a.yaml", "kind: ValidatingWebhookConfiguration\n---\n---\nkind: ConfigMap\n");
        write("b.json", r#"{"kind": "CustomResourceDefinition"}"#);
        write("c.yml", "kind: Namespace");
        write("README.md", "kind: nothing");
        let kinds: Vec<_> = read(folder.path()).iter().map(|object| object["kind"].clone()).collect();
        let expected =
            ["Namespace", "CustomResourceDefinition", "ConfigMap", "ValidatingWebhookConfiguration"];
        assert_eq!(kinds, expected);
    }
}
