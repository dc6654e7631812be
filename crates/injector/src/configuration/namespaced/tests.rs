use std::sync::Arc;

use super::*;
use crate::configuration::reloader::Reloader;
use crate::configuration::rule_object::source;
use crate::configuration::snapshot::{Snapshot, SnapshotState};
use serde_json::value::RawValue;
use vestibule_rules::{CustomResource, Resource, Subject, Verb};

struct Fixture(Arc<Reloader>);

impl Fixture {
    fn new() -> Self {
        Self(Reloader::new(Compiler::new(Some("injector")), "the first rules").0)
    }

    fn reload(&self, sources: &[RuleSource]) -> Arc<Snapshot> {
        self.0.reload(sources.to_vec());
        self.0.current()
    }

    fn refused(&self, source: &RuleSource) -> Vec<String> {
        let validation = self.0.validate_namespaced(source, &ProofDeadline::none());
        validation.errors.iter().map(Finding::headline).collect()
    }
}

fn object(resource: CustomResource, namespace: Option<&str>, name: &str, spec: &str) -> RuleSource {
    let spec = RawValue::from_string(spec.to_owned()).unwrap();
    source(resource, namespace, name, Some(&spec))
}

fn settings(namespaced: &str) -> RuleSource {
    object(CustomResource::InjectorSettings, None, "injector", &format!("{{{namespaced}}}"))
}

fn on() -> RuleSource {
    settings(r#""namespacedInjections":{"allowedParts":["labels"],"maxRulesPerNamespace":2}"#)
}

fn cluster() -> RuleSource {
    object(CustomResource::Injection, None, "label", r#"{"optIn":"pod","pod":{"labels":{"a":"b"}}}"#)
}

/// The rule `namespace/name`.
fn own(of: &str) -> RuleSource {
    let (namespace, name) = of.split_once('/').unwrap();
    let spec = format!(r#"{{"pod":{{"labels":{{"{name}":"x"}}}}}}"#);
    object(CustomResource::NamespacedInjection, Some(namespace), name, &spec)
}

fn bad(of: &str) -> RuleSource {
    let source = own(of);
    RuleSource { text: source.text.map(|text| text.replace("labels", "annotations")), ..source }
}

fn in_force(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.namespaced.rules.iter().map(Rule::name).collect()
}

fn headlines(snapshot: &Snapshot) -> Vec<String> {
    snapshot.namespaced.findings.iter().map(Finding::headline).collect()
}

#[test]
fn a_bad_rule_of_a_namespace_affects_no_other() {
    let fixture = Fixture::new();
    let snapshot = fixture.reload(&[cluster(), on(), own("shop/good"), bad("shop/bad"), own("stop/good")]);
    assert_eq!(in_force(&snapshot), ["shop/good", "stop/good"]);
    assert_eq!((snapshot.state(), snapshot.findings().len()), (SnapshotState::Current, 0));
    let found = headlines(&snapshot);
    assert!(
        found[0].starts_with("NamespacedInjection shop/bad, spec.pod.annotations.bad: error[VST0192]: "),
        "{found:?}"
    );
    // There is no last good version: what the settings no longer allow is out.
    let snapshot = fixture.reload(&[cluster(), on(), bad("shop/good"), own("stop/good")]);
    assert_eq!(in_force(&snapshot), ["stop/good"]);
}

#[test]
fn settings_switch_rules_of_namespaces_on_and_off() {
    let fixture = Fixture::new();
    for off in [None, Some(settings(""))] {
        let sources: Vec<_> = [cluster(), own("shop/good")].into_iter().chain(off).collect();
        let snapshot = fixture.reload(&sources);
        assert!(in_force(&snapshot).is_empty());
        assert!(headlines(&snapshot)[0].contains("error[VST0193]: the InjectorSettings do not switch"));
        assert!(fixture.refused(&own("shop/good"))[0].contains("VST0193"));
        assert_eq!(in_force(&fixture.reload(&[cluster(), on(), own("shop/good")])), ["shop/good"]);
        assert!(fixture.refused(&own("shop/good")).is_empty());
    }
}

/// A team that changes its rule often neither replaces the rules of the cluster nor makes calls wait for them.
#[test]
fn a_change_of_a_namespace_leaves_the_rules_of_the_cluster_as_they_are() {
    let fixture = Fixture::new();
    let first = fixture.reload(&[cluster(), on()]);
    let second = fixture.reload(&[cluster(), on(), own("shop/good")]);
    assert_eq!((first.rules().hash(), first.sequence), (second.rules().hash(), second.sequence));
    assert!(std::ptr::eq(first.rules(), second.rules()), "they were compiled again");
    assert!(first.hash() != second.hash() && first.hash() == first.rules().hash());
    assert!(fixture.0.reload(vec![cluster(), on(), own("shop/good")]).is_none());
    let third = fixture.reload(&[cluster(), on(), own("shop/good"), own("shop/more")]);
    let rule = |snapshot: &Snapshot| Arc::as_ptr(snapshot.namespaced.compiled[0].rule().unwrap());
    assert_eq!(rule(&second), rule(&third), "the unchanged rule was compiled again");
}

#[test]
fn a_namespace_has_at_most_as_many_rules_as_the_settings_say() {
    let fixture = Fixture::new();
    let sources = [cluster(), on(), own("shop/c"), own("shop/a"), own("shop/b"), own("stop/a")];
    let snapshot = fixture.reload(&sources);
    assert_eq!(in_force(&snapshot), ["shop/a", "shop/b", "stop/a"]);
    let found = headlines(&snapshot);
    assert!(
        found[0].contains("NamespacedInjection shop/c") && found[0].contains("more than 2 rules"),
        "{found:?}"
    );
    // At apply the rules that are there count, whatever their names.
    assert!(fixture.refused(&own("shop/aa"))[0].contains("VST0193"));
    assert!(fixture.refused(&own("shop/a")).is_empty() && fixture.refused(&own("stop/b")).is_empty());
}

/// A change of the cluster's rules waited until all rules of namespaces were compiled.
#[test]
fn until_rules_are_compiled_again_those_in_force_stay_under_the_new_settings() {
    let before = Fixture::new().reload(&[on(), cluster(), own("shop/one"), bad("shop/two")]);
    let labelled = |settings: RuleSource| {
        let next = Fixture::new().reload(&[settings]);
        let rules = before.namespaced.under(next.rules()).rules;
        assert_eq!(rules.iter().map(Rule::name).collect::<Vec<_>>(), ["shop/one"]);
        let pod = r#"{"metadata":{"name":"web"},"spec":{"containers":[]}}"#;
        let subject = Subject::new(pod, Resource::Pods, Verb::Create, "shop");
        next.rules().clone().with_namespaced(rules).evaluate(&subject).unwrap().patch().len()
    };
    assert_ne!(labelled(on()), 0);
    assert_eq!(labelled(settings("")), 0);
}

#[test]
fn an_object_that_is_too_large_to_keep_is_reported_and_not_read() {
    let fixture = Fixture::new();
    let spec = format!(r#"{{"pod":{{"labels":{{"a":"{}"}}}}}}"#, "x".repeat(64 * 1024));
    let large = object(CustomResource::NamespacedInjection, Some("shop"), "large", &spec);
    assert!(fixture.refused(&large)[0].contains("takes more than 65536 bytes"));
    let snapshot = fixture.reload(&[cluster(), on(), large, own("shop/good")]);
    assert_eq!(in_force(&snapshot), ["shop/good"]);
    assert_eq!(
        headlines(&snapshot),
        ["NamespacedInjection shop/large: error: its `spec` takes more than 65536 bytes"]
    );
}
