//! The CustomResourceDefinitions agree with the JSON Schema and with the reader.

use serde_json::Value;
use vestibule_rules::{CustomResource, RuleSet, custom_resource, diagnostic};

use crate::kit::schema;

fn spec_of(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

/// Checks that a map of the definition has the fields of the same map of the JSON Schema, with the same required ones, down to
/// parts of pods. Returns the number of maps.
fn compare(root: &Value, json: &Value, structural: &Value, path: &str) -> usize {
    let json = match json["$ref"].as_str() {
        Some(name) => &root["$defs"][name.strip_prefix("#/$defs/").unwrap()],
        None => json,
    };
    if let Some(items) = json.get("items") {
        return compare(root, items, &structural["items"], path);
    }
    let Some(fields) = json["properties"].as_object().filter(|fields| !fields.contains_key("$cel")) else {
        return 0;
    };
    // A value of several types accepts everything.
    if structural["x-kubernetes-preserve-unknown-fields"] == true {
        return 0;
    }
    let found: Vec<_> = structural["properties"].as_object().unwrap().keys().collect();
    assert_eq!(found, fields.keys().collect::<Vec<_>>(), "{path}");
    assert_eq!(structural["required"], json["required"], "{path}");
    let below =
        |(name, field)| compare(root, field, &structural["properties"][name], &format!("{path}.{name}"));
    1 + fields.iter().map(below).sum::<usize>()
}

#[test]
fn the_definitions_and_the_schema_for_editors_have_the_same_fields() {
    let root: Value = serde_json::from_str(&vestibule_rules::schema::json(schema())).unwrap();
    let definitions = custom_resource::definitions(schema());
    for (definition, branch) in definitions.iter().zip(["/else/else", "/then", "/else/then"]) {
        let name = root.pointer(branch).unwrap()["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
        let maps = compare(&root, &root["$defs"][name]["properties"]["spec"], spec_of(definition), "spec");
        assert!(maps >= 3, "{maps}");
    }
}

/// Regression test: the API server refused `args: {$cel: ...}` of a sidecar, because the definition wanted a list there, and editors
/// marked it.
#[test]
fn one_expression_may_be_a_list_of_values() {
    let root: Value = serde_json::from_str(&vestibule_rules::schema::json(schema())).unwrap();
    assert!(root["$defs"]["pod.spec.containers"]["properties"]["args"]["anyOf"][1].is_object());
    for definition in &custom_resource::definitions(schema())[..1] {
        let parts = &spec_of(definition)["properties"];
        for (part, list) in [("sidecars", "args"), ("sidecars", "command"), ("containerPatches", "args")] {
            let list = &parts[part]["items"]["properties"][list];
            assert_eq!(list["x-kubernetes-preserve-unknown-fields"], true, "{part}: {list}");
            assert_eq!(list["type"], Value::Null, "{part}: {list}");
        }
        // A list of items is written item by item.
        assert_eq!(parts["sidecars"]["items"]["properties"]["env"]["type"], "array");
    }
}

#[test]
fn columns_are_fields_and_every_field_is_documented() {
    fn documented(schema: &Value, path: &str) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            assert!(field["description"].as_str().is_some_and(|about| about.ends_with('.')), "{path}.{name}");
            documented(field, &format!("{path}.{name}"));
        }
        schema.get("items").into_iter().for_each(|items| documented(items, path));
    }
    let definitions = custom_resource::definitions(schema());
    assert_eq!(definitions.len(), CustomResource::ALL.len());
    for definition in &definitions {
        documented(spec_of(definition), "spec");
        let version = &definition["spec"]["versions"][0];
        for column in version["additionalPrinterColumns"].as_array().unwrap() {
            let path = column["jsonPath"].as_str().unwrap();
            let Some(path) = path.strip_prefix(".spec.") else { continue };
            let known = path.split('.').fold(spec_of(definition), |at, name| &at["properties"][name]);
            assert!(known.is_object(), "{path}");
        }
        // `kubectl apply` keeps a copy in an annotation, and all annotations have at most 256 KiB.
        assert!(definition.to_string().len() < 128 * 1024);
    }
}

#[test]
fn findings_about_an_object_have_its_fields_and_no_lines() {
    let text = r#"{"apiVersion":"vestibule.dev/v1alpha1","kind":"Injection","metadata":{"name":"a"},"spec":{"optIn":"pod","pod":{"annotations":{"example.com/b":7},"labels":{"team":"a b"}},"sidecars":[{"name":"one","image":"one"},{"name":"x","image":"x","imagee":"y"}]}}"#;
    let source = CustomResource::Injection.source("a");
    let findings = RuleSet::load([(&*source, text)], schema()).err().unwrap();
    let told: Vec<_> = findings.iter().map(|finding| (finding.code().id, finding.field().0)).collect();
    assert_eq!(
        told,
        [("VST0113", "spec.pod.labels.team".to_owned()), ("VST0110", "spec.sidecars[1].imagee".to_owned())]
    );
    assert!(findings[1].headline().starts_with("Injection a, spec.sidecars[1].imagee: error[VST0110]: "));
    let json = diagnostic::json(&findings);
    assert!(json.contains(r#""field":"spec.pod.labels.team""#) && !json.contains(r#""line""#), "{json}");
    let shown = findings[1].to_string();
    assert!(
        shown.contains("\n  --> Injection a, spec.sidecars[1].imagee: y\n      help: did you mean `image`?"),
        "{shown}"
    );
}
