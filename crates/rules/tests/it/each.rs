//! `forEach`, and parameters with `annotationPrefix`.

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_rules::{NamespaceFacts, RuleSet};

use crate::kit::{
    applied, codes, creation, decide, headlines, load, names, result, rule, rules, word, words,
};

const PARAMETERS: &str = "parameters:\n\
    - {name: secrets, type: string, annotationPrefix: vault.example.com/secret-, max: 10, pattern: '[a-z/]*'}\n\
    - {name: names, type: string, default: '', annotation: example.com/names}\n\
    - {name: port, type: int, default: \"80\"}\n";

fn with(spec: &str) -> String {
    rule("r", &format!("{PARAMETERS}{spec}"))
}

fn annotated(annotations: &[(&str, &str)]) -> String {
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": annotations},
        "spec": {"containers": [{"name": "app"}]},
    })
    .to_string()
}

fn mounts() -> RuleSet {
    rules(&with(
        "volumes: [{forEach: params.secrets, name: {$cel: \"'secret-' + each\"}, emptyDir: {}}]\n\
         sidecars:\n\
         - name: agent\n\
         \x20 image: agent:1\n\
         \x20 env:\n\
         \x20 - {name: FIRST, value: x}\n\
         \x20 - {forEach: params.secrets, name: {$cel: each.upperAscii()}, value: {$cel: 'params.secrets[each]'}}\n\
         \x20 volumeMounts: [{forEach: params.secrets, name: {$cel: \"'secret-' + each\"}, mountPath: {$cel: \"'/out/' + each\"}}]\n\
         containerPatches:\n\
         - select: {all: true}\n\
         \x20 volumeMounts: [{forEach: params.secrets, name: {$cel: \"'secret-' + each\"}, mountPath: {$cel: \"'/secrets/' + each\"}, readOnly: true}]",
    ))
}

#[test]
fn each_annotation_of_a_prefix_gives_an_item_in_the_order_of_the_keys() {
    let object = annotated(&[
        ("vault.example.com/secret-db", "team/db"),
        ("vault.example.com/secret-api", "team/api"),
        ("vault.example.com/secret", "no name"),
        ("vault.example.com/secret-", "ends in no letter"),
        ("other.example.com/secret-x", "another"),
    ]);
    // The API server refuses a pod with this key.
    assert_eq!(word(&decide(&mounts(), &object)), "invalid_parameter");
    let made = result(&mounts(), &object.replace(r#""vault.example.com/secret-":"ends in no letter","#, ""));
    let spec = &made["spec"];
    assert_eq!(names(&spec["volumes"]), ["secret-api", "secret-db"]);
    assert_eq!(
        spec["containers"][0]["volumeMounts"],
        json!([
            {"name": "secret-api", "mountPath": "/secrets/api", "readOnly": true},
            {"name": "secret-db", "mountPath": "/secrets/db", "readOnly": true},
        ])
    );
    let agent = &spec["initContainers"][0];
    assert_eq!(
        agent["env"],
        json!([
            {"name": "FIRST", "value": "x"},
            {"name": "API", "value": "team/api"},
            {"name": "DB", "value": "team/db"},
        ])
    );
    assert_eq!(agent["volumeMounts"][1], json!({"name": "secret-db", "mountPath": "/out/db"}));
}

#[test]
fn a_loop_over_nothing_adds_nothing() {
    let made = result(&mounts(), &annotated(&[]));
    let spec = &made["spec"];
    assert_eq!((&spec["volumes"], &spec["containers"][0]["volumeMounts"]), (&Value::Null, &Value::Null));
    assert_eq!(spec["initContainers"][0]["env"], json!([{"name": "FIRST", "value": "x"}]));
    assert_eq!(spec["initContainers"][0]["volumeMounts"], Value::Null);
}

/// The proof evaluates loops with 0, 1 and 3 items: it finds this rule, which does not settle with 3.
#[test]
fn rules_are_proved_with_several_items() {
    assert!(mounts().prove().is_ok());
    let grows = |condition: &str| {
        let spec = format!(
            "onConflict: override\n\
             pod: {{labels: {{seen: {{$cel: \"size(params.secrets) {condition} ? object.metadata.labels[?'seen'].orValue('x') + 'x' : 'y'\"}}}}}}"
        );
        rules(&with(&spec)).prove().is_ok()
    };
    for (condition, settles) in [("== 0", false), ("== 1", false), ("== 3", false), ("== 4", true)] {
        assert_eq!(grows(condition), settles, "{condition}");
    }
}

#[test]
fn lists_maps_and_optionals_can_be_looped_over() {
    for (over, value, wanted) in [
        ("params.names.split(',')", "each", vec!["a", "b"]),
        ("{'y': 1, 'x': 2}", "each", vec!["x", "y"]),
        ("[{'n': 'p'}, {'n': 'q'}]", "each.n", vec!["p", "q"]),
        ("lists.range(2)", "\"'n' + string(each)\"", vec!["n0", "n1"]),
        ("optional.none()", "each", vec![]),
        ("optional.of(['z'])", "each", vec!["z"]),
    ] {
        let spec = format!("imagePullSecrets: [{{forEach: \"{over}\", name: {{$cel: {value}}}}}]");
        let made = result(&rules(&with(&spec)), &annotated(&[("example.com/names", "a,b")]));
        let list = &made["spec"]["imagePullSecrets"];
        let found = if list.is_null() { Vec::new() } else { names(list) };
        assert_eq!(found, wanted, "{over}");
    }
}

#[test]
fn every_list_of_items_can_be_looped_over() {
    let rules = rules(&with(
        "pod: {spec: {hostAliases: [{forEach: \"['10.0.0.1', '10.0.0.2']\", ip: {$cel: each}, hostnames: [h]}], tolerations: [{forEach: \"['a', 'b']\", key: {$cel: each}, operator: Exists}]}}\n\
         volumes: [{name: all, projected: {sources: [{forEach: \"['a', 'b']\", secret: {name: {$cel: each}}}]}}, {forEach: \"['a', 'b']\", name: {$cel: each}, persistentVolumeClaim: {claimName: c}}]\n\
         containerPatches:\n\
         - select: {all: true}\n\
         \x20 env: [{forEach: \"['A', 'B']\", name: {$cel: each}, value: {$cel: \"each + object.metadata.name\"}}]\n\
         \x20 envFrom: [{forEach: \"['a', 'b']\", configMapRef: {name: {$cel: each}}}]\n\
         \x20 ports: [{forEach: '[1, 2]', containerPort: {$cel: 'params.port + each'}}]\n\
         \x20 volumeDevices: [{forEach: \"['a', 'b']\", name: {$cel: each}, devicePath: {$cel: \"'/dev/' + each\"}}]",
    ));
    let made = result(&rules, &annotated(&[]));
    let (spec, app) = (&made["spec"], &made["spec"]["containers"][0]);
    let texts = |list: &Value, path: &str| -> Vec<String> {
        let items = list.as_array().unwrap().iter();
        items.map(|item| item.pointer(path).unwrap_or(&Value::Null).to_string().replace('"', "")).collect()
    };
    for (list, path, wanted) in [
        (&spec["hostAliases"], "/ip", ["10.0.0.1", "10.0.0.2"]),
        (&spec["tolerations"], "/key", ["a", "b"]),
        (&spec["volumes"][0]["projected"]["sources"], "/secret/name", ["a", "b"]),
        (&app["env"], "/value", ["Aweb", "Bweb"]),
        (&app["envFrom"], "/configMapRef/name", ["a", "b"]),
        (&app["ports"], "/containerPort", ["81", "82"]),
        (&app["volumeDevices"], "/devicePath", ["/dev/a", "/dev/b"]),
    ] {
        assert_eq!(texts(list, path), wanted, "{list}");
    }
}

#[test]
fn loops_that_cannot_work_are_refused_with_the_reason() {
    let volume = |fields: &str| format!("volumes: [{{{fields}}}]");
    for (spec, code, column, wanted) in [
        (
            volume("forEach: object.spec.containers, name: {$cel: each}, emptyDir: {}"),
            "VST0135",
            23,
            "reads the object",
        ),
        (
            volume("forEach: params.port, name: {$cel: each}, emptyDir: {}"),
            "VST0140",
            23,
            "a list or a map, and this is a whole number",
        ),
        (volume("forEach: params.secrets, name: a, emptyDir: {}"), "VST0138", 23, "`name` is the same"),
        (
            "containerPatches: [{select: {all: true}, envFrom: [{forEach: params.secrets, prefix: a}]}]"
                .to_owned(),
            "VST0138",
            64,
            "are the same",
        ),
        (volume("name: {$cel: each}, emptyDir: {}"), "VST0131", 27, "`each` is not known"),
        (
            volume(
                "forEach: params.secrets, name: {$cel: each}, projected: {sources: [{forEach: params.secrets, secret: {name: {$cel: each}}}]}",
            ),
            "VST0135",
            91,
            "within an item",
        ),
        (
            "sidecars: [{forEach: params.secrets, name: {$cel: \"'x'\"}, image: i}]".to_owned(),
            "VST0114",
            15,
            "`forEach` does not apply to `sidecars`",
        ),
        (volume("forEach: 'lists.range(3)', name: {$cel: each}, emptyDir: {}"), "VST0140", 54, "wants text"),
        // Regression test: the variable of a macro counted as the value of the loop.
        (
            volume("forEach: params.secrets, name: {$cel: \"['a'].map(each, each)[0]\"}, emptyDir: {}"),
            "VST0138",
            23,
            "`name` is the same",
        ),
    ] {
        let findings = load(&with(&spec)).err().unwrap();
        let [one] = findings.as_slice() else { panic!("{spec}: {findings:?}") };
        assert_eq!((one.code().id, one.position().column), (code, column), "{spec}: {one}");
        assert!(one.headline().contains(wanted), "{one}");
    }
}

#[test]
fn failures_of_loops_are_errors_of_the_rule() {
    let many: Vec<String> = (0..=100).map(|number| format!("vault.example.com/secret-{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|key| (key.as_str(), "x")).collect();
    let volumes = |over: &str, name: &str| {
        format!("volumes: [{{forEach: \"{over}\", name: {{$cel: {name}}}, emptyDir: {{}}}}]")
    };
    for (spec, annotations, outcome, wanted) in [
        (volumes("['a', 'b', 'a']", "each"), vec![], "error", "two items of `volumes` have the same key"),
        (
            "containerPatches: [{select: {all: true}, volumeMounts: [{forEach: \"['a', 'a/']\", name: v, mountPath: {$cel: each}}]}]"
                .to_owned(),
            vec![],
            "error",
            "two items of `volumeMounts` have the same key",
        ),
        (
            volumes("params.names.split(',')", "each.lowerAscii()"),
            vec![("example.com/names", "UPPER,upper")],
            "error",
            "two items of `volumes` have the same key",
        ),
        (volumes("params.names.split(',')", "each"), vec![("example.com/names", "A")], "error", "`volumes` wants"),
        (volumes("lists.range(101)", "string(each)"), vec![], "error", "goes over 101 values, and may go over 100"),
        (volumes("params.secrets", "each"), many, "invalid_parameter", "101 annotations of the pod begin with"),
        (
            volumes("params.secrets", "each"),
            vec![("vault.example.com/secret-a", "UPPER")],
            "invalid_parameter",
            "annotation `vault.example.com/secret-a` of the pod wants text",
        ),
        (
            volumes("params.secrets", "each"),
            vec![("vault.example.com/secret-../../x", "x")],
            "invalid_parameter",
            "that begins with `vault.example.com/secret-` wants",
        ),
    ] {
        let decision = decide(&rules(&with(&spec)), &annotated(&annotations));
        assert_eq!((word(&decision), decision.changes().len()), (outcome, 0), "{spec}");
        assert!(decision.warnings[0].contains(wanted), "{:?}", decision.warnings);
        assert!(!decision.warnings[0].to_lowercase().contains("upper") && !decision.warnings[0].contains("../"));
    }
}

/// Regression test: the API server refuses a container whose ports have one name or host port, or whose volume devices have one name.
#[test]
fn ports_and_devices_of_a_loop_differ_in_more_than_their_keys() {
    let in_patch = |list: &str, item: &str| {
        format!("containerPatches: [{{select: {{all: true}}, {list}: [{{{item}}}]}}]")
    };
    let in_sidecar =
        |list: &str, item: &str| format!("sidecars: [{{name: s, image: i, {list}: [{{{item}}}]}}]");
    let port = "forEach: '[1, 2]', containerPort: {$cel: each}";
    let device = "forEach: \"['a', 'b']\", devicePath: {$cel: each}";
    for (list, item, wanted) in [
        ("ports", format!("{port}, name: web"), "`name` is the same"),
        ("ports", format!("{port}, hostPort: 80"), "`hostPort` is the same"),
        ("ports", format!("{port}, hostPort: {{$cel: params.port}}"), "`hostPort` is the same"),
        ("volumeDevices", format!("{device}, name: disk"), "`name` is the same"),
    ] {
        for spec in [in_patch(list, &item), in_sidecar(list, &item)] {
            let findings = load(&with(&spec)).err().unwrap_or_else(|| panic!("{spec}"));
            let [one] = findings.as_slice() else { panic!("{spec}: {findings:?}") };
            assert_eq!(one.code().id, "VST0138", "{spec}");
            assert!(one.headline().contains(wanted), "{spec}: {one}");
        }
    }
    for (list, item, wanted) in [
        ("ports", format!("{port}, name: {{$cel: \"each > 0 ? 'a' : 'b'\"}}"), "the same `name`"),
        ("ports", format!("{port}, hostPort: {{$cel: 'each > 0 ? 80 : 81'}}"), "the same `hostPort`"),
        ("volumeDevices", format!("{device}, name: {{$cel: \"each != '' ? 'a' : 'b'\"}}"), "the same `name`"),
    ] {
        for spec in [in_patch(list, &item), in_sidecar(list, &item)] {
            let decision = decide(&rules(&with(&spec)), &annotated(&[]));
            assert_eq!((word(&decision), decision.changes().len()), ("error", 0), "{spec}");
            assert!(decision.warnings[0].contains(wanted), "{spec}: {:?}", decision.warnings);
        }
    }
    let dns = "forEach: \"['TCP', 'UDP']\", containerPort: 53, protocol: {$cel: each}, hostPort: 53";
    let made = result(&rules(&with(&in_sidecar("ports", dns))), &annotated(&[]));
    assert_eq!(made["spec"]["initContainers"][0]["ports"].as_array().unwrap().len(), 2);
}

/// Regression test: a second evaluation found the annotation that the first one wrote, and changed the pod again.
#[test]
fn parameters_do_not_read_what_the_injector_writes() {
    for (parameter, refused) in [
        ("annotationPrefix: vestibule.dev/", true),
        ("annotationPrefix: vestibule.dev/injected", true),
        ("annotationPrefix: kubectl.kubernetes.io/def", true),
        ("annotation: vestibule.dev/injected, default: x", true),
        ("annotation: kubectl.kubernetes.io/default-container, default: x", true),
        ("annotationPrefix: vestibule.dev/, from: namespace", false),
        ("annotationPrefix: vestibule.dev/injected-", false),
        ("annotation: kubectl.kubernetes.io/default, default: x", false),
    ] {
        let spec = format!("parameters: [{{name: p, type: string, {parameter}}}]\npod: {{labels: {{a: b}}}}");
        let text = rule("r", &spec);
        assert_eq!(codes(&text), if refused { vec!["VST0136"] } else { vec![] }, "{parameter}");
        assert!(headlines(&text).iter().all(|one| one.contains("the injector itself writes")));
    }
}

#[test]
fn all_loops_of_a_rule_have_one_bound() {
    let spec = |loops: usize| {
        let one = |number: usize| {
            format!(
                "{{forEach: lists.range(100), name: {{$cel: \"'v{number}-' + string(each)\"}}, emptyDir: {{}}}}"
            )
        };
        format!("volumes: [{}]", (0..loops).map(one).collect::<Vec<_>>().join(", "))
    };
    assert_eq!(word(&decide(&rules(&with(&spec(10))), &annotated(&[]))), "applied");
    let decision = decide(&rules(&with(&spec(11))), &annotated(&[]));
    assert_eq!(word(&decision), "error");
    assert!(decision.warnings[0].contains("1000 items together"), "{:?}", decision.warnings);
}

/// A rule whose condition is false does not fail because of its loops.
#[test]
fn conditions_come_before_loops() {
    let spec = "matchConditions: [{name: some, expression: \"params.names != ''\"}]\n\
                volumes: [{forEach: \"params.names.split(',')\", name: {$cel: each}, emptyDir: {}}]";
    assert_eq!(word(&decide(&rules(&with(spec)), &annotated(&[]))), "match_condition_false");
}

#[test]
fn annotations_of_the_namespace_have_prefixes_too() {
    let spec = "parameters: [{name: hosts, type: string, annotationPrefix: example.com/host-, from: namespace}]\n\
                pod: {spec: {hostAliases: [{forEach: params.hosts, ip: {$cel: 'params.hosts[each]'}, hostnames: [{$cel: each}]}]}}";
    let rules = rules(&rule("r", spec));
    assert!(rules.needs_namespace_facts());
    let mut facts = NamespaceFacts::default();
    facts.annotations.insert("example.com/host-db".to_owned(), "10.0.0.1".to_owned());
    facts.annotations.insert("example.com/port-db".to_owned(), "5432".to_owned());
    let object = annotated(&[]);
    let made: Value = serde_json::from_str(&applied(&rules, &creation(&object).facts(&facts))).unwrap();
    assert_eq!(made["spec"]["hostAliases"], json!([{"ip": "10.0.0.1", "hostnames": ["db"]}]));
}

/// The next evaluation would find the annotation that a rule adds.
#[test]
fn annotations_with_a_prefix_that_is_read_are_not_written() {
    let reads =
        rule("a", &format!("{PARAMETERS}pod: {{labels: {{count: {{$cel: string(size(params.secrets))}}}}}}"));
    for (key, refused) in [
        ("vault.example.com/secret-x", true),
        ("vault.example.com/secret", false),
        ("example.com/secret-x", false),
    ] {
        let writes = rule("b", &format!("pod: {{annotations: {{{key}: x}}}}"));
        let codes = codes(&format!("{reads}{writes}"));
        assert_eq!(codes, if refused { vec!["VST0123"] } else { vec![] }, "{key}");
    }
    let label = rule("b", "pod: {labels: {vault.example.com/secret-x: x}}");
    assert!(load(&format!("{reads}{label}")).is_ok());
}

#[test]
fn a_prefix_is_the_start_of_a_key_and_has_no_default() {
    for (parameter, wanted) in [
        ("{name: s, type: string, annotationPrefix: example.com/a-, default: x}", "`default` does not apply"),
        (
            "{name: s, type: string, annotationPrefix: example.com/a-, annotation: example.com/b}",
            "`annotation` does not",
        ),
        (
            "{name: s, type: string, annotationPrefix: a/b/c}",
            "no annotation can have a key that begins with this",
        ),
    ] {
        let findings =
            load(&rule("r", &format!("parameters: [{parameter}]\npod: {{labels: {{a: b}}}}"))).err().unwrap();
        assert!(findings.len() == 1 && findings[0].headline().contains(wanted), "{findings:?}");
    }
    // It is a map, and no text.
    assert_eq!(codes(&with("pod: {labels: {a: {$cel: params.secrets}}}"))[0], "VST0140");
}

/// A later rule that overrides a key of a loop wins, as over a written key.
#[test]
fn rules_know_the_keys_of_loops() {
    let over = |spec: &str| {
        format!(
            "onConflict: override\n{PARAMETERS}containerPatches: [{{select: {{all: true}}, env: [{spec}]}}]"
        )
    };
    let looped = over("{forEach: \"['A', 'B']\", name: {$cel: each}, value: loop}");
    let both = rules(&(rule("a", &looped) + &rule("b", &over("{name: B, value: written}"))));
    let made = result(&both, &annotated(&[]));
    let env: Vec<&Value> =
        made["spec"]["containers"][0]["env"].as_array().unwrap().iter().map(|one| &one["value"]).collect();
    assert_eq!(env.len(), 2);
    assert!(env.contains(&&json!("loop")) && env.contains(&&json!("written")), "{env:?}");
    let removes = rule("c", "remove: [{env: {containers: all, name: B}}]");
    assert_eq!(codes(&(rule("a", &looped) + &removes))[0], "VST0156");
    assert_eq!(words(&decide(&both, &made.to_string())), ["unchanged", "unchanged"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// [`applied`] checks that a second evaluation changes nothing.
    #[test]
    fn loops_settle(secrets in proptest::collection::btree_map("[a-z][a-z0-9]{0,5}", "[a-z/]{0,10}", 0..6)) {
        let keys: Vec<String> = secrets.keys().map(|name| format!("vault.example.com/secret-{name}")).collect();
        let annotations: Vec<(&str, &str)> =
            keys.iter().map(String::as_str).zip(secrets.values().map(String::as_str)).collect();
        let object = annotated(&annotations);
        let made: Value = serde_json::from_str(&applied(&mounts(), &creation(&object))).unwrap();
        let count = made["spec"]["volumes"].as_array().map_or(0, Vec::len);
        prop_assert_eq!(count, secrets.len());
    }
}
