//! Files of users.

use vestibule_patch::{Document, Operation};
use vestibule_rules::yaml;

use crate::reference;

/// A patch as JSON in the first line, YAML in the others.
///
/// What is read is JSON that can be read, and means the same when it is written as YAML; what cannot be read is told in
/// lines that a terminal bears, at a place that there is; and a file that is patched in its place means what the
/// patched object means.
pub fn yaml(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let (patch, text) = input.split_once('\n').unwrap_or(("[]", input));
    let documents = match yaml::read("file.yaml", text) {
        Ok(documents) => documents,
        Err(findings) => {
            assert!(!findings.is_empty());
            for finding in findings {
                let headline = finding.headline();
                assert!(!headline.contains(char::is_control), "{headline:?}");
                // To YAML, a carriage return alone is the end of a line, too.
                assert!(finding.position().line <= text.split(['\r', '\n']).count(), "{headline}");
            }
            return;
        }
    };
    for document in &documents {
        let json = document.to_json();
        // Deeper than a document may be, or a number beyond a double: to be refused later, by name.
        let Ok(meant) = Document::parse(&json) else { continue };
        let Ok(written) = yaml::from_json(&json) else { continue };
        let again = yaml::read("again.yaml", &written).unwrap_or_default();
        let again: Vec<String> = again.iter().map(yaml::Document::to_json).collect();
        let [again] = &again[..] else { panic!("{} documents of {written:?}", again.len()) };
        assert!(
            Document::parse(again).expect("a document").view().same_as(meant.view()),
            "{written:?} is not {json}"
        );
    }
    let [document] = &documents[..] else { return };
    patched(patch, text, &document.to_kubectl_json());
}

/// Manifests are patched, whose plain words `kubectl` reads in its own way.
fn patched(patch: &str, text: &str, json: &str) {
    let Ok(operations) = serde_json::from_str::<Vec<Operation>>(patch) else { return };
    // A number beyond a double is refused by name elsewhere.
    if reference::value(json).is_none() || reference::value(patch).is_none() {
        return;
    }
    let Ok(mut document) = Document::parse(json) else { return };
    let Ok(patched) = yaml::patch(text, &operations) else { return };
    document.apply_all(&operations).expect("what applies to the text applies to the object");
    // Of a file, a document of nothing is none.
    if document.view().is_null() {
        return;
    }
    let read = yaml::read("patched.yaml", &patched.text).unwrap_or_default();
    let [read] = &read[..] else { panic!("{} documents of {:?}", read.len(), patched.text) };
    let read = read.to_kubectl_json();
    let read = Document::parse(&read).expect("a document");
    assert!(read.view().same_as(document.view()), "{:?} is not {}", patched.text, document.to_json());
}
