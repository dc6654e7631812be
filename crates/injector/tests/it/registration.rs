//! Whom the API server asks us about: never too few, and nobody who declined.

mod api_server;
mod scenes;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use vestibule::Target;
use vestibule_injector::{Namespaces, app, compile, registration};
use vestibule_rules::{Outcome, Reason, Rule, RuleSet, Subject};

use api_server::{ApiServer, Request};
use scenes::{COMMON, OTHERS, Scene, cases, scene, settings, spec};

/// With what else the settings say.
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

/// What comes before the opt table, or of it: what selectors and conditions may say as well.
fn may_stay_unasked(reason: Reason) -> bool {
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
    #![proptest_config(cases())]

    #[test]
    fn whatever_a_rule_has_to_say_something_about_is_asked_about(
        specs in (spec(0), spec(1), spec(2)).prop_map(|(one, two, three)| vec![one, two, three]),
        count in 1..4_usize,
        settings in settings(),
        scenes in prop::collection::vec(scene(), 8),
    ) {
        let all = rules(&specs[..count], &settings);
        // Whether they may be registered is another question.
        if registration::entries(&all).is_err() {
            return Ok(());
        }
        let api_server = api_server(all.clone());
        for scene in scenes {
            assert_asked(&api_server, &all, &scene, true);
        }
    }
}

/// Whether whoever has something to say is called for it, and nobody where all decline; keys of rules count as declining only
/// where conditions name them.
#[track_caller]
fn assert_asked(api_server: &ApiServer, all: &RuleSet, scene: &Scene, named: bool) {
    let (object, facts) = (scene.object(), scene.facts());
    let text = object.to_string();
    let user = json!({"username": scene.user}).to_string();
    let subject = Subject::new(&text, scene.resource, scene.verb, scene.namespace).facts(&facts);
    let subject = subject.user(Some(&user));
    for (is_required, path) in [(true, "/mutate/required"), (false, "/mutate/best-effort")] {
        let own = |rule: &&Rule| rule.required() == is_required;
        let asked = api_server.calls(path, &scene.request(&object));
        let verdicts = all.evaluate(&subject).unwrap().verdicts;
        for (rule, verdict) in all.rules().iter().zip(verdicts).filter(|(rule, _)| own(rule)) {
            let is_out = match verdict.outcome {
                Outcome::Skipped { reason, .. } => may_stay_unasked(reason),
                _ => false,
            };
            // What is said there to a required rule that is not wanted there is nobody's business.
            let changes = matches!(verdict.outcome, Outcome::Applied);
            let is_out = is_out || (is_required && !changes && scene.is_declined_by_namespace(rule));
            assert!(asked || is_out, "{path} is not asked about {} in {scene:?}", verdict.rule);
        }
        // Of a rule that is none: worth a warning.
        let known: Vec<_> =
            all.rules().iter().map(|rule| format!("inject.vestibule.dev/{}", rule.name())).collect();
        let misspelt =
            |key: &str| key.starts_with("inject.") && !(named && known.iter().any(|known| known == key));
        let misspelt = scene.labels.keys().chain(scene.annotations.keys()).any(|key| misspelt(key));
        let declined = all
            .rules()
            .iter()
            .filter(own)
            .all(|rule| scene.declines(rule.name(), rule.compat_annotations().next().is_some()));
        assert!(!asked || !declined || misspelt, "{path} is asked about {scene:?}");
    }
}

/// Too many to name them all: the API server takes no expression of 100,000 characters.
#[test]
fn a_thousand_rules_have_short_conditions_that_leave_nothing_out() {
    let spec = |index: usize, required: bool, opt_in: &str| {
        // The engine is not what is measured here: few of them act.
        let app = if index < 3 { "web" } else { "filler" };
        let compat = if index.is_multiple_of(2) {
            format!(", compatAnnotations: {{{OTHERS}: ['yes']}}")
        } else {
            String::new()
        };
        format!(
            "{{required: {required}, optIn: {opt_in}{compat}, pod: {{labels: {{added-{index}: x}}}}, match: {{namespaces: \
             {{names: [blue, green]}}, objects: {{labels: {{app: {app}}}}}}}}}"
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
            assert_asked(&api_server, &all, &scene().new_tree(&mut runner).unwrap().current(), false);
        }
    }
}

/// Whoever is exempt starts while nobody answers, as far as selectors and conditions can say who that is.
#[test]
fn who_is_exempt_is_not_asked_about() {
    let spec = "{required: true, match: {objects: {labels: {app: web}}}, volumes: [{name: a, emptyDir: {}}]}"
        .to_owned();
    let exempt = |exemption: &str| {
        let api_server =
            api_server(rules(std::slice::from_ref(&spec), &format!("exemptions: [{{{exemption}}}]")));
        !asked(&api_server, &json!({"app": "web", "tier": "back"}), &json!({}))
    };
    for exemption in [
        "namespaces: [blue]",
        "objectLabels: {app: web}",
        "namespaceLabels: {kubernetes.io/metadata.name: blue}",
        "objectLabels: {app: web, tier: back}",
        "namespaces: [blue, green], objectLabels: {app: web}",
        "namespaces: [blue], users: [nobody, somebody]",
        "users: [some*]",
    ] {
        assert!(exempt(exemption), "{exemption}");
    }
    for exemption in [
        "namespaces: [green]",
        "objectLabels: {app: db}",
        "objectLabels: {app: web, tier: front}",
        "namespaces: [green], users: [somebody]",
        "namespaces: [blue], users: [some]",
        "namespaces: [blue], objectLabels: {app: ''}",
        // Conditions do not know namespaces.
        "namespaceLabels: {kubernetes.io/metadata.name: blue}, users: [somebody]",
    ] {
        assert!(!exempt(exemption), "{exemption}");
    }
}

/// The system and the network of a pod keep required rules away while nobody answers, and namespaces that decline do.
#[test]
fn who_runs_elsewhere_is_left_alone_unless_it_speaks_about_rules() {
    let agent = one(
        "{required: true, match: {namespaces: {names: [blue]}, hostNetwork: skip}, volumes: [{name: a, emptyDir: {}}]}",
    );
    let asked = |spec: Value, annotations: Value| {
        let object = json!({"metadata": {"annotations": annotations}, "spec": spec});
        let namespace_labels = BTreeMap::from([("kubernetes.io/metadata.name", "blue")]);
        let request = Request {
            resource: "pods",
            operation: "CREATE",
            namespace_labels,
            object: &object,
            user: "somebody",
        };
        agent.calls("/mutate/required", &request)
    };
    assert!(asked(json!({}), json!({})));
    for elsewhere in [
        json!({"hostNetwork": true}),
        json!({"os": {"name": "windows"}}),
        json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
    ] {
        assert!(!asked(elsewhere.clone(), json!({})), "{elsewhere}");
        assert!(!asked(elsewhere.clone(), json!({"vestibule.dev/injected": "{}"})), "{elsewhere}");
        assert!(asked(elsewhere.clone(), json!({"inject.vestibule.dev/r0": "maybe"})), "it is to be told");
    }
    assert!(asked(json!({"os": {"name": "linux"}, "hostNetwork": false}), json!({})));

    for (required, path) in [(true, "/mutate/required"), (false, "/mutate/best-effort")] {
        let by_namespace = one(&format!(
            "{{required: {required}, optIn: namespace, match: {{namespaces: {{exclude: [green]}}}}, \
             volumes: [{{name: a, emptyDir: {{}}}}]}}"
        ));
        let object = json!({"metadata": {}});
        let mut request = Request {
            resource: "pods",
            operation: "CREATE",
            namespace_labels: BTreeMap::new(),
            object: &object,
            user: "",
        };
        assert!(by_namespace.calls(path, &request));
        request.namespace_labels.insert("inject.vestibule.dev/r0", "false");
        assert_eq!(by_namespace.calls(path, &request), !required, "warnings are for all others");
    }
}

/// Each with a namespace of its own: as many entries would be too many, and none is for more than its rules are.
#[test]
fn many_restrictions_by_one_label_share_an_entry() {
    let by = |restriction: &dyn Fn(usize) -> String, count: usize| {
        let spec = |index| {
            format!(
                "{{required: true, match: {{namespaces: {{{}}}}}, volumes: [{{name: a{index}, emptyDir: {{}}}}]}}",
                restriction(index)
            )
        };
        api_server(rules(&(0..count).map(spec).collect::<Vec<_>>(), "mode: on"))
    };
    let names = |index: usize| format!("names: [n{index}], exclude: [n{}]", index + 1);
    assert_eq!(by(&names, 32).webhooks.len(), 32);
    let many = by(&names, 33);
    assert_eq!(many.webhooks.len(), 1);
    let selected = |many: &ApiServer, key: &'static str, value: &'static str| {
        let namespace_labels = BTreeMap::from([(key, value)]);
        let object = json!({"metadata": {}, "spec": {}});
        many.calls(
            "/mutate/required",
            &Request { resource: "pods", operation: "CREATE", namespace_labels, object: &object, user: "" },
        )
    };
    let name = "kubernetes.io/metadata.name";
    assert!(selected(&many, name, "n0") && selected(&many, name, "n32") && !selected(&many, name, "n33"));
    let labels = |index: usize| match index {
        0..=16 => format!("matchLabels: {{team: t{index}}}"),
        17..=33 => format!("matchLabels: {{tier: t{index}}}"),
        _ => format!("matchLabels: {{team: t{index}, tier: t{index}}}"),
    };
    let several = by(&labels, 36);
    assert_eq!(several.webhooks.len(), 4, "two labels together are not to be taken apart");
    assert!(selected(&several, "team", "t16") && !selected(&several, "team", "t17"));
}

fn one(spec: &str) -> ApiServer {
    api_server(rules(&[spec.to_owned()], "mode: on"))
}

fn asked(api_server: &ApiServer, labels: &Value, annotations: &Value) -> bool {
    let object = json!({"metadata": {"labels": labels, "annotations": annotations}});
    let namespace_labels = BTreeMap::from([("kubernetes.io/metadata.name", "blue")]);
    let request = Request {
        resource: "pods",
        operation: "CREATE",
        namespace_labels,
        object: &object,
        user: "somebody",
    };
    ["/mutate/required", "/mutate/best-effort"].iter().any(|path| api_server.calls(path, &request))
}

#[test]
fn who_declines_by_label_or_annotation_is_left_alone() {
    let agent =
        one("{required: true, match: {namespaces: {names: [blue]}}, volumes: [{name: a, emptyDir: {}}]}");
    let own = "inject.vestibule.dev/r0";
    assert!(asked(&agent, &json!({}), &json!({})));
    for key in [COMMON, own] {
        assert!(!asked(&agent, &json!({key: "false"}), &json!({})), "label {key}");
        assert!(!asked(&agent, &json!({}), &json!({key: "false"})), "annotation {key}");
        assert!(asked(&agent, &json!({}), &json!({key: "no"})), "it is to be told that nobody reads this");
    }
    assert!(asked(&agent, &json!({COMMON: "false"}), &json!({own: "true"})), "the rule's own key is nearer");
    assert!(!asked(&agent, &json!({own: "false"}), &json!({own: "true"})), "the label counts");
}

#[test]
fn who_asks_for_nothing_is_left_alone_by_rules_that_want_to_be_asked_for() {
    let pod = |required: bool| {
        one(&format!(
            "{{required: {required}, optIn: pod, match: {{namespaces: {{names: [blue]}}}}, volumes: [{{name: a, emptyDir: {{}}}}]}}"
        ))
    };
    for required in [true, false] {
        let nginx = pod(required);
        assert!(!asked(&nginx, &json!({"app": "web"}), &json!({})));
        assert!(asked(&nginx, &json!({}), &json!({COMMON: "true"})));
        assert!(asked(&nginx, &json!({}), &json!({COMMON: "r0,r1"})));
        // A key that is almost ours is worth a warning, and no refusal while nobody answers.
        assert_eq!(asked(&nginx, &json!({}), &json!({"inject.vestibule.dev/r00": "true"})), !required);
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
    let everywhere = findings(None, "mode: on", "{objects: {labels: {app: web}}}");
    assert!(
        everywhere.starts_with("error[VST0190]: rule `agent` is required in every namespace"),
        "{everywhere}"
    );
    assert!(everywhere.contains("--> rules.yaml:8:10") && everywhere.contains("requiredEverywhere: allow"));
    assert_eq!(findings(None, "requiredEverywhere: allow", "{objects: {labels: {app: web}}}"), "");
    assert_eq!(findings(None, "mode: off", "{objects: {labels: {app: web}}}"), "", "nobody is called");

    let team = "{namespaces: {matchLabels: {team: blue}}}";
    let home = findings(Some("home"), "ownNamespace: inject", team);
    assert!(home.starts_with("error[VST0191]: ") && home.contains("write `exclude: [home]`"), "{home}");
    for fine in
        ["{namespaces: {names: [blue]}}", "{namespaces: {matchLabels: {team: blue}, exclude: [home]}}"]
    {
        assert_eq!(findings(Some("home"), "ownNamespace: inject", fine), "");
    }
    assert_eq!(findings(Some("home"), "ownNamespace: skip", team), "");
}

#[test]
fn required_rules_have_an_entry_for_each_restriction_and_the_others_one_together() {
    let spec = |required: bool, namespaces: &str| {
        format!(
            "{{required: {required}, match: {{namespaces: {namespaces}}}, volumes: [{{name: a, emptyDir: {{}}}}]}}"
        )
    };
    let specs = [
        spec(true, "{matchLabels: {team: blue}}"),
        spec(true, "{names: [shop]}"),
        spec(true, "{names: [shop]}"),
        spec(false, "{names: [a]}"),
        spec(false, "{names: [b], exclude: [c]}"),
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
