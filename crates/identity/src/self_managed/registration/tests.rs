use k8s_openapi::ByteString;
use serde_json::json;

use super::*;

fn ours() -> EntryMatcher {
    let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
    let mut settings = Settings::for_service(service);
    settings.names = vec!["10.0.0.7".to_owned()];
    EntryMatcher::new(&settings)
}

fn snapshot_of(kind: RegistrationKind, object: &Value) -> ConfigSnapshot {
    ours().snapshot(kind, &serde_json::from_value(object.clone()).unwrap())
}

fn places(kind: RegistrationKind, object: &Value) -> Vec<String> {
    snapshot_of(kind, object).entries.into_iter().map(|entry| entry.place).collect()
}

fn service(namespace: &str, name: &str) -> Value {
    json!({ "service": { "namespace": namespace, "name": name } })
}

#[test]
fn only_entries_of_our_service_or_address_are_ours() {
    let entry = |name: &str, config: Value| json!({ "name": name, "clientConfig": config });
    let object = json!({ "metadata": { "name": "x" }, "webhooks": [
        entry("a", service("demo", "other")),
        entry("b", service("demo", "hooks")),
        entry("c", service("elsewhere", "hooks")),
        entry("d", json!({ "url": "https://10.0.0.7:8443/x" })),
        entry("e", json!({ "url": "https://example.com/hooks" })),
        entry("f", json!({ "url": "https://HOOKS.demo.svc/x" })),
        { "name": "g" },
        { "clientConfig": service("demo", "hooks") },
    ] });
    let expected = ["/webhooks/1/clientConfig", "/webhooks/3/clientConfig", "/webhooks/5/clientConfig"];
    assert_eq!(places(RegistrationKind::Validating, &object), expected);
    let test_values = snapshot_of(RegistrationKind::Mutating, &object).entries.remove(0).test_values;
    assert_eq!(
        test_values,
        [
            ("/webhooks/1/name".to_owned(), json!("b")),
            ("/webhooks/1/clientConfig/service/name".to_owned(), json!("hooks")),
        ]
    );
}

#[test]
fn conversions_and_api_services_have_one_place_each() {
    let conversion = |config: Value| {
        json!({
            "metadata": { "name": "x" },
            "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": config } } },
        })
    };
    let ours = conversion(service("demo", "hooks"));
    assert_eq!(places(RegistrationKind::CustomResource, &ours), ["/spec/conversion/webhook/clientConfig"]);
    let none: [String; 0] = [];
    assert_eq!(places(RegistrationKind::CustomResource, &conversion(service("demo", "other"))), none);
    assert_eq!(places(RegistrationKind::CustomResource, &json!({ "metadata": {}, "spec": {} })), none);
    let api = json!({ "metadata": { "name": "x" }, "spec": service("demo", "hooks") });
    assert_eq!(places(RegistrationKind::ApiService, &api), ["/spec"]);
}

#[test]
fn a_bundle_is_what_every_entry_trusts() {
    let entry = |bundle: Option<&str>| {
        let mut config = service("demo", "hooks");
        if let Some(bundle) = bundle {
            config["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
        }
        json!({ "name": "a", "clientConfig": config })
    };
    let one = vestibule_pki::Authority::new("one", now(), std::time::Duration::from_secs(60)).unwrap();
    let two = vestibule_pki::Authority::new("two", now(), std::time::Duration::from_secs(60)).unwrap();
    let (one, two) = (one.certificate_pem().to_owned(), two.certificate_pem().to_owned());
    let all = Bundle::pem(Bundle::read(format!("{one}{two}").as_bytes()).certificates.values());
    let look = |bundles: &[Option<&str>]| {
        let webhooks: Vec<_> = bundles.iter().map(|bundle| entry(*bundle)).collect();
        let snapshot =
            snapshot_of(RegistrationKind::Mutating, &json!({ "metadata": {}, "webhooks": webhooks }));
        (snapshot.bundle().map(|bundle| bundle.len()), snapshot.is_untidy())
    };
    assert_eq!(look(&[Some(&all), Some(&all)]), (Some(2), false));
    assert_eq!(look(&[Some(&all), Some(&one)]), (Some(1), true), "entries differ");
    assert_eq!(look(&[Some(&one), Some(&two)]), (Some(0), true));
    assert_eq!(look(&[Some(&all), None]), (Some(0), true));
    assert_eq!(look(&[Some(&format!("# a comment\n{all}"))]), (Some(2), true));
    assert_eq!(look(&[Some(&one.trim_end().repeat(2))]), (Some(0), true), "joined");
    assert_eq!(look(&[Some("\n")]), (Some(0), true));
    assert_eq!(look(&[]), (None, false));
}

fn now() -> rustls_pki_types::UnixTime {
    rustls_pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000))
}

fn managed(entries: &Value) -> Value {
    json!({ "metadata": {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": { GENERATION: "7", LINEAGE: "00000000000000ff" },
        "managedFields": entries,
    } })
}

#[test]
fn a_mark_changed_when_its_owner_wrote_it() {
    let ours = json!({ "f:metadata": { "f:annotations": { format!("f:{GENERATION}"): {} } } });
    let bundle = json!({ "k:{\"name\":\"a\"}": { "f:clientConfig": { "f:caBundle": {} } } });
    let theirs = json!({ "f:metadata": { "f:annotations": { "f:other": {} } }, "f:webhooks": bundle });
    let mut object = managed(&json!([
        { "manager": "vestibule", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": ours },
        { "manager": "argo", "operation": "Apply", "time": "2026-01-03T00:00:00Z", "fieldsV1": theirs },
        { "manager": "kubectl", "operation": "Update", "time": "2026-01-04T00:00:00Z", "fieldsV1": {} },
    ]));
    object["webhooks"] = json!([{ "name": "a", "clientConfig": service("demo", "hooks") }]);
    let snapshot = snapshot_of(RegistrationKind::Mutating, &object);
    assert_eq!(snapshot.mark, Some(BundleMark { lineage: Lineage(255), generation: 7 }));
    assert_eq!(snapshot.written, Some(Moment(1_767_312_000)), "2 January");
    assert_eq!(snapshot.other_manager.as_deref(), Some("argo"), "who wrote a caBundle before who wrote last");

    let unmanaged = snapshot_of(RegistrationKind::Mutating, &managed(&json!(null)));
    assert_eq!((unmanaged.written, unmanaged.other_manager), (None, None));

    let unmarked = json!({ "metadata": { "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": { GENERATION: "x" } } });
    let unmarked = snapshot_of(RegistrationKind::Mutating, &unmarked);
    assert_eq!((unmarked.mark, unmarked.written), (None, Some(Moment(1_767_225_600))));
}

#[test]
fn own_fields_are_unchanged_since_the_own_write() {
    let mark = json!({ "f:annotations": { format!("f:{GENERATION}"): {} } });
    let bundle = |name: &str| {
        let key = format!("k:{}", json!({ "name": name }));
        json!({ key: { "f:clientConfig": { "f:caBundle": {} } } })
    };
    let look = |ours: Value, theirs: Value| {
        let mut object = managed(&json!([
            { "manager": "vestibule", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": ours },
            { "manager": "argo", "operation": "Update", "time": "2026-01-03T00:00:00Z", "fieldsV1": theirs },
        ]));
        object["webhooks"] = json!([
            { "name": "a", "clientConfig": service("demo", "hooks") },
            { "name": "b", "clientConfig": service("demo", "other") },
        ]);
        snapshot_of(RegistrationKind::Mutating, &object).unchanged_since
    };
    let ours = json!({ "f:metadata": mark, "f:webhooks": bundle("a") });
    assert_eq!(look(ours.clone(), json!({ "f:webhooks": bundle("b") })), Some(Moment(1_767_312_000)));
    assert_eq!(look(ours.clone(), json!({ "f:webhooks": bundle("a") })), None, "theirs too");
    assert_eq!(look(ours, json!({ "f:metadata": mark })), None);
    assert_eq!(look(json!({ "f:metadata": mark }), json!({})), None, "no writer of entries");
}
