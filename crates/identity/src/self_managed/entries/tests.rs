use super::*;

fn entry(name: &str, timeout: u8) -> Value {
    json!({
        "name": name,
        "clientConfig": { "service": { "namespace": "demo", "name": "hooks", "path": format!("/{name}") } },
        "timeoutSeconds": timeout,
    })
}

fn desired(entries: &[Value]) -> Desired {
    Desired::new("mutating/hooks".parse().unwrap(), entries.to_vec()).unwrap()
}

fn held(object: Value) -> StoredEntries {
    StoredEntries::read(
        RegistrationKind::Mutating,
        &serde_json::from_value(object).unwrap(),
        &FieldManagers::new("vestibule"),
    )
}

fn trusting(mut entry: Value) -> Value {
    entry["clientConfig"]["caBundle"] = json!("cGVt");
    entry
}

fn owned_by(version: &Desired, webhooks: &Value) -> Value {
    let words: Vec<_> = std::iter::once(&*version.hash).chain(version.names()).collect();
    json!({ "metadata": { "annotations": { ENTRIES: words.join(" ") } }, "webhooks": webhooks })
}

#[test]
fn an_empty_object_gets_everything_in_one_list_with_the_bundle() {
    let version = desired(&[entry("a", 1), entry("b", 1)]);
    let expected = json!([
        { "op": "add", "path": "/webhooks", "value": [trusting(entry("a", 1)), trusting(entry("b", 1))] },
        { "op": "add", "path": "/metadata/annotations/vestibule.dev~1entries", "value": format!("{} a b", version.hash) },
    ]);
    assert_eq!(Value::from(held(json!({ "metadata": {} })).write(&version, "pem")), expected);
}

#[test]
fn only_what_vanished_comes_back_and_changes_of_others_stay() {
    let version = desired(&[entry("a", 1), entry("b", 1)]);
    let mut changed = trusting(entry("a", 30));
    changed["matchConditions"] = json!([{ "name": "x", "expression": "true" }]);
    let held = held(owned_by(&version, &json!([changed])));
    assert!(held.lacks(&version));
    let expected = json!([{ "op": "add", "path": "/webhooks/-", "value": trusting(entry("b", 1)) }]);
    assert_eq!(Value::from(held.write(&version, "pem")), expected);
}

#[test]
fn another_version_writes_what_differs_and_removes_what_it_has_not() {
    let old = desired(&[entry("a", 1), entry("dropped", 1), entry("gone", 1)]);
    let new = desired(&[entry("a", 2), entry("b", 2)]);
    let mut present = trusting(entry("a", 1));
    present["matchConditions"] = json!([]);
    present["matchPolicy"] = json!("Equivalent");
    let mut object = owned_by(&old, &json!([trusting(entry("dropped", 1)), present, entry("foreign", 1)]));
    let fields = |fields: Value| json!({ "f:webhooks": { "k:{\"name\":\"a\"}": fields } });
    object["metadata"]["managedFields"] = json!([
        { "manager": "vestibule-entries", "fieldsV1": fields(json!({ ".": {}, "f:name": {}, "f:matchPolicy": {} })) },
        { "manager": "aks", "fieldsV1": fields(json!({ "f:matchConditions": {} })) },
    ]);
    object["metadata"]["annotations"][CLAIM] = json!(new.hash);
    let expected = json!([
        { "op": "add", "path": "/webhooks/1/timeoutSeconds", "value": 2 },
        { "op": "remove", "path": "/webhooks/1/matchPolicy" },
        { "op": "remove", "path": "/webhooks/0" },
        { "op": "add", "path": "/webhooks/-", "value": trusting(entry("b", 2)) },
        { "op": "add", "path": "/metadata/annotations/vestibule.dev~1entries", "value": format!("{} a b", new.hash) },
        { "op": "remove", "path": "/metadata/annotations/vestibule.dev~1entries-claim" },
    ]);
    assert_eq!(Value::from(held(object).write(&new, "pem")), expected);
}

#[test]
fn a_kind_that_was_dropped_loses_its_entries_alone() {
    let old = desired(&[entry("a", 1), entry("b", 1)]);
    let none = desired(&[]);
    let held = held(owned_by(&old, &json!([entry("a", 1), entry("foreign", 1), entry("b", 1)])));
    assert!(!held.lacks(&none));
    let expected = json!([
        { "op": "remove", "path": "/webhooks/2" },
        { "op": "remove", "path": "/webhooks/0" },
        { "op": "add", "path": "/metadata/annotations/vestibule.dev~1entries", "value": none.hash },
    ]);
    assert_eq!(Value::from(held.write(&none, "pem")), expected);
}

#[test]
fn a_conversion_is_written_where_there_is_none() {
    let config = json!({ "service": { "namespace": "demo", "name": "hooks" } });
    let conversion = json!({ "strategy": "Webhook", "webhook": { "clientConfig": config } });
    let version = Desired::new("crd/widgets.example.dev".parse().unwrap(), vec![conversion.clone()]).unwrap();
    let entries = |conversion: Value| {
        let object = json!({ "metadata": {}, "spec": { "conversion": conversion } });
        StoredEntries::read(
            RegistrationKind::CustomResource,
            &serde_json::from_value(object).unwrap(),
            &FieldManagers::new("vestibule"),
        )
    };
    let none = entries(json!({ "strategy": "None" }));
    assert!(none.lacks(&version));
    let written = none.write(&version, "pem");
    assert_eq!(written[0]["path"], "/spec/conversion");
    assert_eq!(written[0]["value"]["webhook"]["clientConfig"]["caBundle"], "cGVt");
    let present = entries(written[0]["value"].clone());
    assert!(!present.lacks(&version));
    assert_eq!(present.write(&version, "pem").len(), 1, "the annotation alone");
}

#[test]
fn entries_stand_in_the_order_they_are_called_in() {
    let old = desired(&[entry("b", 1), entry("d", 1)]);
    let new = desired(&[entry("a", 1), entry("b", 1), entry("c", 1), entry("e", 1)]);
    let list = json!([entry("foreign", 1), trusting(entry("b", 1)), trusting(entry("d", 1))]);
    let mut operations = held(owned_by(&old, &list)).write(&new, "pem");
    operations.pop();
    let expected = json!([
        { "op": "remove", "path": "/webhooks/2" },
        { "op": "add", "path": "/webhooks/1", "value": trusting(entry("a", 1)) },
        { "op": "add", "path": "/webhooks/-", "value": trusting(entry("c", 1)) },
        { "op": "add", "path": "/webhooks/-", "value": trusting(entry("e", 1)) },
    ]);
    assert_eq!(Value::from(operations), expected);
}
