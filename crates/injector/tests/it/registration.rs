//! The objects that the API server calls the injector for: all that a rule may change, and none that opted out.

mod api_server;
mod cases;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use vestibule::Target;
use vestibule_injector::{Namespaces, app, compile, registration};
use vestibule_rules::{Outcome, Reason, Resource, Rule, RuleSet, Subject};

use api_server::{ApiServer, Request};
use cases::{AdmissionCase, COMMON, OTHERS, admission_case, proptest_config, settings, spec};

/// The rules of these specs, and InjectorSettings with `settings`.
fn rules(specs: &[String], settings: &str) -> RuleSet {
    let document = |(index, spec): (usize, &String)| {
        format!(
            "---\n{{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {{name: r{index}}}, spec: {spec}}}\n"
        )
    };
    let settings = format!(
        "{{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {{name: s}}, spec: \
         {{requiredEverywhere: allow, {settings}}}}}\n"
    );
    let text = settings + &specs.iter().enumerate().map(document).collect::<String>();
    compile([("rules.yaml", &*text)])
        .unwrap_or_else(|findings| panic!("{text}{findings:?}"))
        .with_own_namespace("home")
}

fn api_server(rules: RuleSet) -> ApiServer {
    let app = app(rules, Namespaces::labelled([("a", "b")])).unwrap_or_else(|error| panic!("{error}"));
    let registration = app.registration(&Target::service("home/injector").unwrap(), "").unwrap();
    let webhooks = json!(registration.mutating)["webhooks"].as_array().unwrap().clone();
    ApiServer::new(&webhooks)
}

/// The reasons to skip a rule that selectors and conditions may express as well.
fn may_be_excluded_by_the_entry(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::ExcludedSystemNamespace
            | Reason::ExcludedOwnNamespace
            | Reason::ExcludedOwnPod
            | Reason::ExcludedMirrorPod
            | Reason::ExcludedOperation
            | Reason::ExcludedDeletion
            | Reason::Exempted
            | Reason::OtherResource
            | Reason::NamespaceNotMatched
            | Reason::LabelsNotMatched
            | Reason::NotOptedIn
            | Reason::OptedOut
            | Reason::HostNetwork
            | Reason::OsMismatch
    )
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn the_injector_is_called_for_every_object_that_a_rule_may_change_or_report(
        specs in (spec(0), spec(1), spec(2)).prop_map(|(one, two, three)| vec![one, two, three]),
        count in 1..4_usize,
        settings in settings(),
        cases in prop::collection::vec(admission_case(), 8),
    ) {
        let all = rules(&specs[..count], &settings);
        // Rules that cannot be registered are tested elsewhere.
        if registration::entries(&all).is_err() {
            return Ok(());
        }
        let api_server = api_server(all.clone());
        for case in cases {
            assert_called(&api_server, &all, &case, true);
        }
    }
}

/// The hook is called if a rule of it may change or report the object, and not called if the object opted out of all rules of
/// it. `named`: whether conditions name the rules, so that an opt-out by name counts.
#[track_caller]
fn assert_called(api_server: &ApiServer, all: &RuleSet, case: &AdmissionCase, named: bool) {
    let (object, facts) = (case.object(), case.facts());
    let text = object.to_string();
    let user = json!({"username": case.user}).to_string();
    let subject = Subject::new(&text, case.resource, case.verb, case.namespace).facts(&facts);
    let subject = subject.user(Some(&user));
    for (is_required, path) in [(true, "/mutate/required"), (false, "/mutate/best-effort")] {
        let own = |rule: &&Rule| rule.required() == is_required;
        let is_called = api_server.calls(path, &case.request(&object));
        let verdicts = all.evaluate(&subject).unwrap().verdicts;
        for (rule, verdict) in all.rules().iter().zip(verdicts).filter(|(rule, _)| own(rule)) {
            let is_out = match verdict.outcome {
                Outcome::Skipped { reason, .. } => may_be_excluded_by_the_entry(reason),
                // A pod that the rule would leave alone is not refused for a key of its namespace.
                Outcome::Denied { reason: Reason::InvalidValue, ref message } => {
                    is_required && message.contains("of the namespace")
                }
                _ => false,
            };
            // A required rule that the namespace declines only reports, and need not be called.
            let changes = matches!(verdict.outcome, Outcome::Applied);
            let is_out = is_out || (is_required && !changes && case.is_declined_by_namespace(rule));
            assert!(is_called || is_out, "{path} is not called for {} in {case:?}", verdict.rule);
        }
        // The injector warns about the key of a rule that does not exist.
        let known: Vec<_> =
            all.rules().iter().map(|rule| format!("inject.vestibule.dev/{}", rule.name())).collect();
        let misspelt =
            |key: &str| key.starts_with("inject.") && !(named && known.iter().any(|known| known == key));
        let rules: Vec<&Rule> = all.rules().iter().filter(own).collect();
        // The conditions of an entry read one metadata of a workload for all of its rules, and none if they differ.
        let of_workloads = rules.iter().filter(|rule| rule.targets() != [Resource::Pods]);
        let read: BTreeSet<_> = of_workloads.map(|rule| rule.metadata_of()).collect();
        let of = read.first().copied().unwrap_or_default();
        let misspelt = case.read(of).iter().any(|map| map.keys().any(|key| misspelt(key)));
        let declined = rules.iter().all(|rule| case.declines(rule, of));
        assert!(!is_called || !declined || misspelt || read.len() > 1, "{path} is called for {case:?}");
    }
}

/// The API server refuses an expression of 100,000 characters, so conditions cannot name a thousand rules.
#[test]
fn a_thousand_rules_have_short_conditions_that_leave_nothing_out() {
    let spec = |index: usize, required: bool, opt_in: &str| {
        // Few rules match, to keep the test short.
        let app = if index < 3 { "web" } else { "filler" };
        let compat = if index.is_multiple_of(2) {
            format!(", compatAnnotations: {{{OTHERS}: ['yes']}}")
        } else {
            String::new()
        };
        format!(
            "{{required: {required}, optIn: {opt_in}{compat}, pod: {{labels: {{added-{index}: x}}}}, match: {{namespaceSelector: \
             {{matchExpressions: [{{key: kubernetes.io/metadata.name, operator: In, values: [blue, green]}}]}}, \
             objectSelector: {{matchLabels: {{app: {app}}}}}}}}}"
        )
    };
    let mut runner = TestRunner::deterministic();
    for (required, opt_in) in [(true, "always"), (true, "pod"), (false, "always"), (false, "pod")] {
        let specs: Vec<_> = (0..1_000).map(|index| spec(index, required, opt_in)).collect();
        let all = rules(&specs, "mode: on");
        let api_server = api_server(all.clone());
        let conditions = json!(api_server.webhooks[0]["matchConditions"]).to_string();
        assert!(api_server.webhooks.len() == 1 && conditions.len() < 3_000, "{conditions}");
        for _ in 0..50 {
            assert_called(
                &api_server,
                &all,
                &admission_case().new_tree(&mut runner).unwrap().current(),
                false,
            );
        }
    }
}

/// Exempt objects pass while the injector is down, as far as selectors and conditions can express the exemption.
#[test]
fn the_injector_is_not_called_for_exempt_objects() {
    let spec = "{required: true, match: {objectSelector: {matchLabels: {app: web}}}, volumes: [{name: a, emptyDir: {}}]}"
        .to_owned();
    let exempt = |exemption: &str| {
        let api_server =
            api_server(rules(std::slice::from_ref(&spec), &format!("exemptions: [{{{exemption}}}]")));
        !is_called(&api_server, &json!({"app": "web", "tier": "back"}), &json!({}))
    };
    for exemption in [
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}",
        "objectSelector: {matchLabels: {app: web}}",
        "objectSelector: {matchLabels: {app: web, tier: back}}",
        "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [blue, green]}]}, objectSelector: {matchLabels: {app: web}}",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}, users: [nobody, somebody]",
        "users: [some*]",
    ] {
        assert!(exempt(exemption), "{exemption}");
    }
    for exemption in [
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}",
        "objectSelector: {matchLabels: {app: db}}",
        "objectSelector: {matchLabels: {app: web, tier: front}}",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}, users: [somebody]",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}, users: [some]",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}, objectSelector: {matchLabels: {app: ''}}",
        // Conditions cannot read labels of namespaces.
        "namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}, users: [somebody]",
    ] {
        assert!(!exempt(exemption), "{exemption}");
    }
}

/// The injector is not called for pods of another system or network, nor in namespaces that opted out.
#[test]
fn pods_of_another_system_or_network_pass_unless_they_have_a_key_of_a_rule() {
    let agent = one(
        "{required: true, match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}, hostNetwork: skip}, volumes: [{name: a, emptyDir: {}}]}",
    );
    let asked = |spec: Value, annotations: Value| {
        let object = json!({"metadata": {"annotations": annotations}, "spec": spec});
        agent.calls("/mutate/required", &create(&object, (NAME, "blue")))
    };
    assert!(asked(json!({}), json!({})));
    for elsewhere in [
        json!({"hostNetwork": true}),
        json!({"os": {"name": "windows"}}),
        json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
    ] {
        assert!(!asked(elsewhere.clone(), json!({})), "{elsewhere}");
        assert!(!asked(elsewhere.clone(), json!({"vestibule.dev/injected": "{}"})), "{elsewhere}");
        assert!(
            asked(elsewhere.clone(), json!({"inject.vestibule.dev/r0": "maybe"})),
            "its value is invalid"
        );
    }
    assert!(asked(json!({"os": {"name": "linux"}, "hostNetwork": false}), json!({})));

    for (required, path) in [(true, "/mutate/required"), (false, "/mutate/best-effort")] {
        let by_namespace = one(&format!(
            "{{required: {required}, optIn: namespace, match: {{namespaceSelector: {{matchExpressions: [{{key: kubernetes.io/metadata.name, operator: NotIn, values: [green]}}]}}}}, \
             volumes: [{{name: a, emptyDir: {{}}}}]}}"
        ));
        let object = json!({"metadata": {}});
        assert!(by_namespace.calls(path, &create(&object, (NAME, "blue"))));
        let declined = by_namespace.calls(path, &create(&object, ("inject.vestibule.dev/r0", "false")));
        assert_eq!(declined, !required, "a rule that is not required warns");
    }
}

/// Above 32 restrictions, rules share an entry, which is for the namespaces of its rules and no others.
#[test]
fn many_restrictions_by_one_label_share_an_entry() {
    let by = |restriction: &dyn Fn(usize) -> String, count: usize| {
        let spec = |index| {
            format!(
                "{{required: true, match: {{namespaceSelector: {{{}}}}}, volumes: [{{name: a{index}, emptyDir: {{}}}}]}}",
                restriction(index)
            )
        };
        api_server(rules(&(0..count).map(spec).collect::<Vec<_>>(), "mode: on"))
    };
    let names = |index: usize| {
        format!(
            "matchLabels: {{kubernetes.io/metadata.name: n{index}}}, matchExpressions: [{{key: kubernetes.io/metadata.name, operator: NotIn, values: [n{}]}}]",
            index + 1
        )
    };
    assert_eq!(by(&names, 32).webhooks.len(), 32);
    let many = by(&names, 33);
    assert_eq!(many.webhooks.len(), 1);
    let selected = |many: &ApiServer, key: &'static str, value: &'static str| {
        many.calls("/mutate/required", &create(&json!({"metadata": {}, "spec": {}}), (key, value)))
    };
    assert!(selected(&many, NAME, "n0") && selected(&many, NAME, "n32") && !selected(&many, NAME, "n33"));
    let labels = |index: usize| match index {
        0..=16 => format!("matchLabels: {{team: t{index}}}"),
        17..=33 => format!("matchLabels: {{tier: t{index}}}"),
        _ => format!("matchLabels: {{team: t{index}, tier: t{index}}}"),
    };
    let several = by(&labels, 36);
    assert_eq!(several.webhooks.len(), 4, "a restriction by two labels is not split");
    assert!(selected(&several, "team", "t16") && !selected(&several, "team", "t17"));
}

/// The label that the API server gives every namespace.
const NAME: &str = "kubernetes.io/metadata.name";

/// The create of a pod by `somebody` in a namespace with this label.
fn create<'a>(object: &'a Value, label: (&'a str, &'a str)) -> Request<'a> {
    let namespace_labels = BTreeMap::from([label]);
    Request { resource: "pods", operation: "CREATE", namespace_labels, object, user: "somebody" }
}

fn one(spec: &str) -> ApiServer {
    api_server(rules(&[spec.to_owned()], "mode: on"))
}

fn is_called(api_server: &ApiServer, labels: &Value, annotations: &Value) -> bool {
    let object = json!({"metadata": {"labels": labels, "annotations": annotations}});
    let request = create(&object, (NAME, "blue"));
    ["/mutate/required", "/mutate/best-effort"].iter().any(|path| api_server.calls(path, &request))
}

#[test]
fn an_object_that_opts_out_by_label_or_annotation_is_left_alone() {
    let agent = one(
        "{required: true, match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}, volumes: [{name: a, emptyDir: {}}]}",
    );
    let own = "inject.vestibule.dev/r0";
    assert!(is_called(&agent, &json!({}), &json!({})));
    for key in [COMMON, own] {
        assert!(!is_called(&agent, &json!({key: "false"}), &json!({})), "label {key}");
        assert!(!is_called(&agent, &json!({}), &json!({key: "false"})), "annotation {key}");
        assert!(
            is_called(&agent, &json!({}), &json!({key: "no"})),
            "the injector warns about an invalid value"
        );
    }
    assert!(
        is_called(&agent, &json!({COMMON: "false"}), &json!({own: "true"})),
        "the rule's own key is nearer"
    );
    assert!(!is_called(&agent, &json!({own: "false"}), &json!({own: "true"})), "the label counts");
}

#[test]
fn an_object_that_does_not_opt_in_is_left_alone_by_opt_in_rules() {
    let pod = |required: bool| {
        one(&format!(
            "{{required: {required}, optIn: pod, match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: blue}}}}}}, volumes: [{{name: a, emptyDir: {{}}}}]}}"
        ))
    };
    for required in [true, false] {
        let nginx = pod(required);
        assert!(!is_called(&nginx, &json!({"app": "web"}), &json!({})));
        assert!(is_called(&nginx, &json!({}), &json!({COMMON: "true"})));
        assert!(is_called(&nginx, &json!({}), &json!({COMMON: "r0,r1"})));
        // A misspelt key makes a warning. For a required rule it must not stop the pod while the injector is down.
        assert_eq!(is_called(&nginx, &json!({}), &json!({"inject.vestibule.dev/r00": "true"})), !required);
    }
}

/// Regression: the condition took the label of the injector's own pods and the annotation of rewritten probes for misspelt keys.
#[test]
fn no_key_that_the_injector_writes_or_reads_is_a_misspelt_one() {
    let spec = "{targets: [deployments], optIn: pod, pod: {labels: {a: b}}}".to_owned();
    // Conditions name one rule, and not a thousand of them.
    for count in [1, 1_000] {
        let nginx = api_server(rules(&vec![spec.clone(); count], "mode: on"));
        let calls = |map: &str, key: &str| {
            let template = json!({"metadata": {map: {key: "true"}}});
            let object = json!({"metadata": {}, "spec": {"template": template}});
            let request = Request { resource: "deployments", ..create(&object, (NAME, "blue")) };
            nginx.calls("/mutate/best-effort", &request)
        };
        assert!(calls("labels", "vestibule.dev/injecter"), "{count}");
        for (map, key) in [
            ("labels", "vestibule.dev/injector"),
            ("labels", "vestibule.dev/config"),
            ("annotations", "vestibule.dev/injected"),
            ("annotations", "vestibule.dev/original-probes"),
        ] {
            assert!(!calls(map, key), "{key}, {count}");
        }
    }
}

#[test]
fn rules_that_would_stop_a_cluster_are_refused_with_the_remedy() {
    let findings = |own: Option<&str>, settings: &str, matching: &str| {
        let text = format!(
            "{{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {{name: s}}, spec: {{{settings}}}}}\n---\n\
             apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: agent}}\nspec:\n  required: true\n  \
             match: {matching}\n  volumes: [{{name: a, emptyDir: {{}}}}]\n"
        );
        let rules = compile([("rules.yaml", &*text)]).unwrap();
        let rules = own.iter().fold(rules, |rules, own| rules.with_own_namespace(*own));
        let findings = registration::entries(&rules).err().unwrap_or_default();
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let everywhere = findings(None, "mode: on", "{objectSelector: {matchLabels: {app: web}}}");
    assert!(
        everywhere.starts_with("error[VST0190]: rule `agent` is required in every namespace"),
        "{everywhere}"
    );
    assert!(everywhere.contains("--> rules.yaml:8:10") && everywhere.contains("requiredEverywhere: allow"));
    assert_eq!(
        findings(None, "requiredEverywhere: allow", "{objectSelector: {matchLabels: {app: web}}}"),
        ""
    );
    assert_eq!(
        findings(None, "mode: off", "{objectSelector: {matchLabels: {app: web}}}"),
        "",
        "no hook is called"
    );

    let team = "{namespaceSelector: {matchLabels: {team: blue}}}";
    let home = findings(Some("home"), "ownNamespace: inject", team);
    assert!(
        home.starts_with("error[VST0191]: ") && home.contains("operator: NotIn, values: [home]"),
        "{home}"
    );
    for fine in [
        "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}",
        "{namespaceSelector: {matchLabels: {team: blue}, matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [home]}]}}",
    ] {
        assert_eq!(findings(Some("home"), "ownNamespace: inject", fine), "");
    }
    assert_eq!(findings(Some("home"), "ownNamespace: skip", team), "");
}

#[test]
fn required_rules_have_an_entry_for_each_restriction_and_the_others_one_together() {
    let spec = |required: bool, namespaces: &str| {
        format!(
            "{{required: {required}, match: {{namespaceSelector: {namespaces}}}, volumes: [{{name: a, emptyDir: {{}}}}]}}"
        )
    };
    let specs = [
        spec(true, "{matchLabels: {team: blue}}"),
        spec(true, "{matchLabels: {kubernetes.io/metadata.name: shop}}"),
        spec(true, "{matchLabels: {kubernetes.io/metadata.name: shop}}"),
        spec(false, "{matchLabels: {kubernetes.io/metadata.name: a}}"),
        spec(
            false,
            "{matchLabels: {kubernetes.io/metadata.name: b}, matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [c]}]}",
        ),
    ];
    let api_server = api_server(rules(&specs, "mode: on"));
    let selected = |index: usize| {
        let hook = &api_server.webhooks[index];
        let selector = &hook["namespaceSelector"];
        json!([
            hook["name"],
            hook["failurePolicy"],
            hook["clientConfig"]["service"]["path"],
            selector["matchLabels"],
            selector["matchExpressions"][0]["values"]
        ])
    };
    let system = json!(["home", "kube-node-lease", "kube-public", "kube-system"]);
    let name = |first: &str| format!("{first}.injector.vestibule.dev");
    let shop = json!({"kubernetes.io/metadata.name": "shop"});
    assert_eq!(selected(0), json!([name("required"), "Fail", "/mutate/required", shop, system]));
    assert_eq!(
        selected(1),
        json!([name("required-2"), "Fail", "/mutate/required", {"team": "blue"}, system])
    );
    assert_eq!(selected(2), json!([name("best-effort"), "Ignore", "/mutate/best-effort", null, ["a", "b"]]));
    assert_eq!(api_server.webhooks.len(), 3);
}

/// The entry depends on the settings alone, so that no team makes API servers read the configuration again.
#[test]
fn rules_of_namespaces_have_one_entry_where_the_settings_switch_them_on() {
    let own = "---\n{apiVersion: vestibule.dev/v1alpha1, kind: NamespacedInjection, metadata: {name: a, namespace: shop}, spec: {pod: {labels: {a: b}}}}\n";
    let loaded = |settings: &str, own: &str| {
        let text = format!(
            "{{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {{name: s}}, spec: {{{settings}}}}}\n{own}"
        );
        let rules = compile([("rules.yaml", &*text)]).unwrap_or_else(|findings| panic!("{findings:?}"));
        rules.with_own_namespace("home")
    };
    let webhooks = |settings: &str, own: &str| api_server(loaded(settings, own)).webhooks;
    let on = "namespacedInjections: {allowedParts: [labels]}";
    let entries = webhooks(on, own);
    assert_eq!(entries, webhooks(on, ""));
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(entry["name"], "namespaced.injector.vestibule.dev");
    assert_eq!(
        (&entry["failurePolicy"], &entry["clientConfig"]["service"]["path"]),
        (&json!("Ignore"), &json!("/mutate/best-effort"))
    );
    assert_eq!(entry["rules"][0]["resources"], json!(["pods"]));
    assert_eq!(entry["matchConditions"][0]["name"], "not-a-static-pod");
    let excluded = &entry["namespaceSelector"]["matchExpressions"][0]["values"];
    assert_eq!(*excluded, json!(["home", "kube-node-lease", "kube-public", "kube-system"]));
    let exempt = format!("{on}, exemptions: [{{users: [ci]}}]");
    assert_eq!(webhooks(&exempt, own)[0]["matchConditions"][1]["name"], "not-exempt");
    for off in ["mode: on", &format!("mode: off, {on}")] {
        assert!(registration::entries(&loaded(off, own)).is_ok_and(|entries| entries.is_empty()), "{off}");
    }
}
