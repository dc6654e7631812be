mod laws;
mod sorted;

use std::time::{Duration, Instant};

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule_admission::{ConversionReview, Unconvertible};
use vestibule_patch::View;

use super::*;
use crate::app::App;
use crate::registration::target::Target;

/// `host:port` in one string.
mod v1 {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Link", namespaced)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct LinkSpec {
        pub(super) host_port: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(super) rules: Vec<Rule>,
    }
}

/// `host` and `port`.
mod v2 {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.com", version = "v2", kind = "Link", namespaced)]
    pub(super) struct LinkSpec {
        pub(super) host: String,
        pub(super) port: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) secure: Option<bool>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(super) rules: Vec<Rule>,
    }
}

/// The port as text, and the rules the other way round.
mod v3 {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.com", version = "v3", kind = "Link", namespaced)]
    pub(super) struct LinkSpec {
        pub(super) host: String,
        pub(super) port: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(super) rules: Vec<Rule>,
    }
}

mod other {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Other", namespaced)]
    pub(super) struct OtherSpec {}
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Rule {
    name: String,
    #[serde(default)]
    weight: i64,
}

fn v1_to_v2(old: v1::Link) -> Result<v2::Link, String> {
    let (host, port) = old.spec.host_port.rsplit_once(':').ok_or("spec.hostPort is not HOST:PORT")?;
    let port = port.parse().map_err(|_| "the port of spec.hostPort is none")?;
    let spec = v2::LinkSpec { host: host.to_owned(), port, secure: None, rules: old.spec.rules };
    Ok(v2::Link { metadata: old.metadata, spec })
}

fn v2_to_v1(new: v2::Link) -> Result<v1::Link, String> {
    let v2::LinkSpec { host, port, rules, .. } = new.spec;
    Ok(v1::Link { metadata: new.metadata, spec: v1::LinkSpec { host_port: format!("{host}:{port}"), rules } })
}

fn v3_to_v2(new: v3::Link) -> Result<v2::Link, String> {
    let v3::LinkSpec { host, port, mut rules } = new.spec;
    rules.reverse();
    let port = port.parse().map_err(|_| "spec.port is no port")?;
    Ok(v2::Link { metadata: new.metadata, spec: v2::LinkSpec { host, port, secure: None, rules } })
}

fn v2_to_v3(new: v2::Link) -> Result<v3::Link, String> {
    let v2::LinkSpec { host, port, mut rules, .. } = new.spec;
    rules.reverse();
    Ok(v3::Link { metadata: new.metadata, spec: v3::LinkSpec { host, port: port.to_string(), rules } })
}

fn links() -> Conversion {
    Conversion::through::<v2::Link>().version(v1_to_v2, v2_to_v1).version(v3_to_v2, v2_to_v3).into()
}

fn convert(object: &Value, version: &str) -> Result<Value, String> {
    let object = RawValue::from_string(object.to_string()).unwrap();
    let converted = links().converter.convert(&object, &format!("example.com/{version}"));
    converted.map(|object| serde_json::from_str(object.get()).unwrap()).map_err(|why| why.to_string())
}

fn link(version: &str, spec: &Value) -> Value {
    let metadata = json!({"name": "a", "namespace": "shop", "uid": "u", "labels": {"x": "y"}});
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Link", "metadata": metadata, "spec": spec})
}

#[test]
fn versions_are_converted_through_the_hub() {
    let first = link("v1", &json!({"hostPort": "example.org:80"}));
    let second = link("v2", &json!({"host": "example.org", "port": 80}));
    let third = link("v3", &json!({"host": "example.org", "port": "80"}));
    for (from, version, to) in [
        (&first, "v2", &second),
        (&first, "v3", &third),
        (&second, "v1", &first),
        (&second, "v3", &third),
        (&third, "v1", &first),
        (&third, "v2", &second),
    ] {
        assert_eq!(convert(from, version).as_ref(), Ok(to));
    }
}

#[test]
fn a_failed_conversion_says_why_and_quotes_no_value() {
    let secret = "s3cret";
    for (object, version, expected) in [
        (link("v1", &json!({"hostPort": secret})), "v2", "spec.hostPort is not HOST:PORT"),
        (link("v1", &json!({"hostPort": "a:b"})), "v3", "the port of spec.hostPort is none"),
        (link("v2", &json!({"host": "a", "port": secret})), "v1", "does not fit its version's type"),
        (link("v9", &json!({})), "v2", "only example.com/v1, example.com/v2, example.com/v3 are known here"),
        (link("v1", &json!({"hostPort": "a:1"})), "v9", "only example.com/v1"),
        (json!({"spec": secret}), "v2", "no apiVersion"),
    ] {
        let why = convert(&object, version).unwrap_err();
        assert!(why.contains(expected) && !why.contains(secret), "{why}");
    }
}

#[test]
fn the_remainder_of_a_server_side_apply_keeps_its_members() {
    let of = |version: &str, metadata: Value| json!({ "apiVersion": format!("example.com/{version}"), "kind": "Link", "metadata": metadata, "status": { "phase": "Ready" } });
    for metadata in [json!({ "annotations": { "team": "shop" } }), json!({ "name": "a", "uid": "1" })] {
        assert_eq!(convert(&of("v2", metadata.clone()), "v1").unwrap(), of("v1", metadata));
    }
    let mut with_a_part_of_its_spec = of("v2", json!({ "name": "a" }));
    with_a_part_of_its_spec["spec"] = json!({ "port": 443 });
    let why = convert(&with_a_part_of_its_spec, "v1").unwrap_err();
    assert!(why.contains("does not fit its version's type"), "{why}");
}

#[test]
fn a_remainder_keeps_its_status_only_between_versions_with_the_same_status() {
    let mut versions = Versions::<v2::Link>::new();
    for (version, status) in [("v1", "phase"), ("v2", "state"), ("v3", "state")] {
        let beside_spec = Some(json!({ "status": status }));
        let same = Ok::<v2::Link, Infallible>;
        assert!(versions.add(format!("example.com/{version}"), beside_spec, same, same));
    }
    let convert = |object: Value, desired: &str| {
        versions.convert(&RawValue::from_string(object.to_string()).unwrap(), desired).is_ok()
    };
    let of = |version: &str| json!({ "apiVersion": version, "kind": "Link", "metadata": { "name": "a" } });
    let mut with_status = of("example.com/v2");
    with_status["status"] = json!({ "state": "Ready" });
    assert!(convert(with_status.clone(), "example.com/v3"));
    assert!(!convert(with_status, "example.com/v1"));
    assert!(convert(of("example.com/v2"), "example.com/v1"));
}

#[test]
fn a_status_is_the_same_whatever_its_types_say_in_their_comments() {
    mod first {
        use super::*;

        /// The status of one version.
        #[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
        pub(super) struct Status {
            /// A text about the job.
            pub(super) description: String,
        }

        #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
        #[kube(group = "example.com", version = "v1", kind = "Job", status = "Status")]
        pub(super) struct JobSpec {}
    }
    mod second {
        use super::*;

        /// The status of another version.
        #[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
        pub(super) struct Status {
            /// Another text about the job.
            pub(super) description: String,
        }

        #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
        #[kube(group = "example.com", version = "v2", kind = "Job", status = "Status")]
        pub(super) struct JobSpec {}
    }
    let schemas = beside_spec::<first::Job>();
    assert!(
        schemas.as_ref().is_some_and(|all| all["status"]["properties"]["description"]["type"] == "string")
    );
    assert_eq!(schemas, beside_spec::<second::Job>());
}

#[test]
fn members_that_no_type_knows_keep_their_paths() {
    let spec = json!({
        "hostPort": "a:1",
        "new": {"big": 12345678901234567890_u64},
        "rules": [{"name": "x", "weight": 1, "new": 1}, {"name": "y", "weight": 2, "new": 2}],
    });
    let mut object = link("v1", &spec);
    object["status"] = json!({"ready": true});
    let converted = convert(&object, "v3").unwrap();
    let expected = json!({
        "host": "a",
        "port": "1",
        "new": {"big": 12345678901234567890_u64},
        "rules": [{"name": "y", "weight": 2, "new": 2}, {"name": "x", "weight": 1, "new": 1}],
    });
    assert_eq!(converted["spec"], expected, "each with its own item");
    assert_eq!(converted["status"], json!({"ready": true}));
    assert_eq!(convert(&converted, "v1"), Ok(object), "and back");
}

#[test]
fn an_unknown_member_does_not_set_a_known_member_of_another_version() {
    let stray = link("v1", &json!({"hostPort": "a:1", "secure": true, "port": 9, "new": 1}));
    assert_eq!(convert(&stray, "v2"), Ok(link("v2", &json!({"host": "a", "port": 1}))));
    let stray = link("v1", &json!({"hostPort": "a:1", "secure": "perhaps"}));
    assert_eq!(convert(&stray, "v2"), Ok(link("v2", &json!({"host": "a", "port": 1}))));
    let empty = link("v1", &json!({"hostPort": "a:1", "new": null, "rules": []}));
    let converted = convert(&empty, "v2").unwrap();
    assert_eq!(converted["spec"].get("new"), None);
}

/// kube-apiserver takes 10,000 levels, and repeats them in `managedFields`.
#[tokio::test]
async fn an_object_of_600_levels_is_converted_with_all_that_its_types_do_not_know() {
    for levels in [126, 600, 9_990] {
        let deep = format!("{}1{}", r#"{"f:a":"#.repeat(levels), "}".repeat(levels));
        let mut object = link("v1", &json!({"hostPort": "a:1", "deep": "DEEP"}));
        object["metadata"]["managedFields"] = json!([{"manager": "m", "fieldsV1": "DEEP"}]);
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "u", "desiredAPIVersion": "example.com/v3", "objects": [object]},
        });
        let body = review.to_string().replace(r#""DEEP""#, &deep);
        let review = ConversionReview::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let converted =
            links().hook("links").convert(&review.request).await.unwrap_or_else(|why| panic!("{why:?}"));
        let converted = View::of(&converted[0]);
        let at = |path: &str| {
            let found = converted.pointer(&path.parse().unwrap());
            found.map(|found| found.to_json().into_owned())
        };
        assert_eq!(at("/apiVersion").as_deref(), Some(r#""example.com/v3""#));
        assert_eq!(at("/spec/host").as_deref(), Some(r#""a""#));
        assert!(at("/spec/deep").as_ref() == Some(&deep), "{levels}");
        assert!(at("/metadata/managedFields/0/fieldsV1").as_ref() == Some(&deep), "{levels}");
    }
}

#[test]
fn the_definition_holds_every_version_and_where_they_are_converted() {
    let app = App::new("links").convert("links", links());
    let target = Target::service("shop/hook:8443").unwrap();
    let registration = app.registration(&target, "PEM").unwrap();
    assert_eq!(registration.names(), [("CustomResourceDefinition", "links.example.com".to_owned())]);
    let [definition] = &*registration.objects() else { panic!("one object") };
    let spec = &definition["spec"];
    let versions: Vec<_> = spec["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| (version["name"].as_str().unwrap(), version["storage"].as_bool().unwrap()))
        .collect();
    assert_eq!(versions, [("v2", true), ("v1", false), ("v3", false)]);
    let service = json!({"namespace": "shop", "name": "hook", "path": "/convert/links", "port": 8443});
    let webhook = json!({
        "clientConfig": {"caBundle": "UEVN", "service": service},
        "conversionReviewVersions": ["v1"],
    });
    assert_eq!(spec["conversion"], json!({"strategy": "Webhook", "webhook": webhook}));
    let names = app.identity_settings("shop/hook".parse().unwrap()).registrations;
    assert_eq!(names, ["crd/links.example.com".parse().unwrap()]);
}

#[test]
fn a_raw_conversion_prints_only_a_given_definition() {
    let target = Target::service("shop/hook").unwrap();
    let mut own = <v1::Link as CustomResourceExt>::crd();
    own.metadata.labels = Some([("mine".to_owned(), "yes".to_owned())].into());
    let conversion =
        Conversion::raw("links.example.com", |_: &RawValue, _: &str| Err(Unconvertible::new("no")));
    let elsewhere = App::new("links").convert("links", conversion.clone());
    let registration = elsewhere.registration(&target, "").unwrap();
    assert!(registration.objects().is_empty());
    assert_eq!(registration.conversions["links.example.com"].strategy, "Webhook");
    let printed = App::new("links").convert("links", conversion.definition(own));
    let [definition] = &*printed.registration(&target, "").unwrap().objects() else { panic!("one object") };
    assert_eq!(definition["metadata"]["labels"]["mine"], "yes");
    assert_eq!(definition["spec"]["conversion"]["strategy"], "Webhook");
}

#[test]
fn all_errors_of_a_conversion_are_reported() {
    let to_other = |_: v2::Link| Err::<other::Other, _>("no");
    let from_other = |_: other::Other| Err::<v2::Link, _>("no");
    let app = App::new("links")
        .convert(
            "a_b",
            Conversion::through::<v2::Link>().version(v1_to_v2, v2_to_v1).version(v1_to_v2, v2_to_v1),
        )
        .convert("links", Conversion::through::<v2::Link>().stored("v7"))
        .convert("others", Conversion::through::<v2::Link>().version(from_other, to_other))
        .convert("upper", links().path("/Convert/"))
        .convert("raw", Conversion::raw("links", |_: &RawValue, _: &str| Err(Unconvertible::new("no"))));
    let problems = app.check().unwrap_err().problems.join("\n");
    for expected in [
        "example.com/v1 is converted twice",
        "becomes a path",
        "conversion `upper`: `/Convert/` is no path",
        "v7 not found",
        "others.example.com is another resource",
        "`links` names no definition",
        "there twice",
    ] {
        assert!(problems.contains(expected), "{expected} in {problems}");
    }
}

#[test]
fn many_items_without_names_do_not_make_a_conversion_slow() {
    let list = |item: &dyn Fn(usize) -> Value| {
        json!({"list": (0..20_000).map(item).collect::<Vec<_>>()}).to_string()
    };
    let (received, known) = (list(&|n| json!({"a": n, "x": true})), list(&|n| json!({"a": n})));
    let converted = list(&|n| json!({"a": n + 1_000_000}));
    let start = Instant::now();
    let carried = preserve_unknown::preserve_unknown(&received, &known, &converted);
    assert!(carried == Some(converted));
    // Minutes are what a search from item to item takes here.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Regression: each member of a large map was looked up from the map's start.
#[test]
fn many_members_do_not_make_a_conversion_slow() {
    let map = |value: &dyn Fn(usize) -> Value| {
        let members = (0..30_000).map(|n| (format!("n{n}"), value(n)));
        json!({"map": members.collect::<serde_json::Map<_, _>>()}).to_string()
    };
    let (received, known) = (map(&|n| json!({"a": n, "x": true})), map(&|n| json!({"a": n})));
    let start = Instant::now();
    let carried = preserve_unknown::preserve_unknown(&received, &known, &known);
    assert_eq!(carried.map(|carried| carried.len()), Some(received.len()));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
