//! The patch that writes a bundle.

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use vestibule_pki::ring::BundleMark;

use super::entries::annotate;
use super::registration::ConfigSnapshot;
use crate::inspect::{GENERATION, LINEAGE};

/// A JSON Patch that writes the bundle and the mark into the version of the configuration that was read; on any other version
/// it fails with 409. It writes only `caBundle` and two annotations, so a server-side apply of the entries by another field
/// manager does not conflict. [`None`] if there is nothing to write.
pub(super) fn bundle_patch(snapshot: &ConfigSnapshot, bundle: &str, mark: BundleMark) -> Option<Value> {
    let mut operations = Vec::new();
    for entry in snapshot.entries.iter().filter(|entry| entry.bytes != bundle.as_bytes()) {
        operations.extend(
            entry
                .test_values
                .iter()
                .map(|(path, value)| json!({ "op": "test", "path": path, "value": value })),
        );
        let path = format!("{}/caBundle", entry.place);
        operations
            .push(json!({ "op": "add", "path": path, "value": ByteString(bundle.as_bytes().to_vec()) }));
    }
    if snapshot.mark != Some(mark) {
        operations.push(annotate(GENERATION, &mark.generation.to_string()));
        operations.push(annotate(LINEAGE, &mark.lineage.to_string()));
    }
    (!operations.is_empty()).then(|| with_precondition(snapshot, operations))
}

/// The patch with these operations and a precondition on the version that was read.
pub(super) fn with_precondition(snapshot: &ConfigSnapshot, operations: Vec<Value>) -> Value {
    let precondition =
        json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": snapshot.version });
    // A JSON Patch adds a key only to an object that exists.
    let annotations = json!({ "op": "add", "path": "/metadata/annotations", "value": {} });
    let before = [Some(precondition), (!snapshot.annotated).then_some(annotations)];
    before.into_iter().flatten().chain(operations).collect()
}

#[cfg(test)]
mod tests {
    use vestibule_pki::Bundle;
    use vestibule_pki::ring::Lineage;

    use super::super::registration::Entry;
    use super::*;

    const MARK: BundleMark = BundleMark { lineage: Lineage(255), generation: 7 };

    fn snapshot(bundles: &[&str], mark: Option<BundleMark>, annotated: bool) -> ConfigSnapshot {
        let entry = |(index, bundle): (usize, &&str)| Entry {
            place: format!("/webhooks/{index}/clientConfig"),
            test_values: vec![(format!("/webhooks/{index}/name"), json!("a"))],
            fields: Vec::new(),
            bytes: bundle.as_bytes().to_vec(),
            bundle: Bundle::read(bundle.as_bytes()),
        };
        ConfigSnapshot {
            version: "5".to_owned(),
            uid: None,
            entries: bundles.iter().enumerate().map(entry).collect(),
            held: Default::default(),
            mark,
            written: None,
            unchanged_since: None,
            annotated,
            other_manager: None,
        }
    }

    #[test]
    fn nothing_is_written_where_nothing_differs() {
        assert_eq!(bundle_patch(&snapshot(&["pem", "pem"], Some(MARK), true), "pem", MARK), None);
        assert_eq!(bundle_patch(&snapshot(&[], Some(MARK), true), "pem", MARK), None);
    }

    #[test]
    fn only_what_differs_is_written_over_the_version_that_was_seen() {
        let patch = bundle_patch(&snapshot(&["pem", "old"], Some(MARK), true), "pem", MARK).unwrap();
        assert_eq!(
            patch,
            json!([
                { "op": "replace", "path": "/metadata/resourceVersion", "value": "5" },
                { "op": "test", "path": "/webhooks/1/name", "value": "a" },
                { "op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "cGVt" },
            ])
        );
    }

    #[test]
    fn annotations_are_added_beside_foreign_ones() {
        let patch = bundle_patch(&snapshot(&[], None, true), "pem", MARK).unwrap();
        assert_eq!(
            patch,
            json!([
                { "op": "replace", "path": "/metadata/resourceVersion", "value": "5" },
                { "op": "add", "path": "/metadata/annotations/vestibule.dev~1ca-generation", "value": "7" },
                { "op": "add", "path": "/metadata/annotations/vestibule.dev~1ca-lineage", "value": "00000000000000ff" },
            ])
        );
        let patch = bundle_patch(&snapshot(&[], None, false), "pem", MARK).unwrap();
        assert_eq!(patch[1], json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
        assert_eq!(patch.as_array().unwrap().len(), 4);
    }
}
