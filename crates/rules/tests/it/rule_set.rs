//! The accessors of a rule set, the rules of namespaces that a caller hands over, and the order of passes.

use vestibule_rules::{Resource, RuleSet, Subject, Verb};

use crate::kit::{creation, decide, evaluate, names, pod, result, rule, rules, schema, word, words};

const SETTINGS: &str = "---\napiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {name: injector}\nspec: {namespacedInjections: {allowedParts: [labels, initContainers]}}\n";

/// The rule `name` of namespace `team-a`.
fn namespaced(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: NamespacedInjection\nmetadata: {{name: {name}, namespace: team-a}}\nspec: {spec}\n"
    )
}

#[test]
fn targets_have_the_verbs_of_their_resource() {
    let rules = rules(&rule("r", "targets: [pods, deployments]\npod: {labels: {x: y}}"));
    for target in rules.targets() {
        assert_eq!(target.verbs(), target.resource.verbs());
    }
    assert_eq!(rules.targets()[0].verbs(), [Verb::Create]);
}

#[test]
fn a_set_is_empty_without_rules_of_the_cluster_and_of_namespaces() {
    let (cluster, own) = (rule("r", "pod: {labels: {x: y}}"), namespaced("n", "{pod: {labels: {a: b}}}"));
    for (text, is_empty, count) in [
        (SETTINGS.to_owned(), true, 0),
        (SETTINGS.to_owned() + &own, false, 1),
        (SETTINGS.to_owned() + &cluster, false, 0),
        (SETTINGS.to_owned() + &cluster + &own, false, 1),
    ] {
        let rules = rules(&text);
        assert_eq!((rules.is_empty(), rules.namespaced().iter().count()), (is_empty, count), "{text}");
    }
    assert!(RuleSet::default().is_empty());
}

#[test]
fn the_own_namespace_is_the_one_that_was_set() {
    let rules = rules(&rule("r", "pod: {labels: {x: y}}"));
    assert_eq!(rules.own_namespace(), None);
    assert_eq!(rules.with_own_namespace("vestibule").own_namespace(), Some("vestibule"));
}

/// The injector reads rules of namespaces one by one, and hands them over beside the rules of the cluster.
#[test]
fn rules_of_namespaces_can_be_handed_over() {
    let cluster = rules(&(SETTINGS.to_owned() + &rule("r", "pod: {labels: {x: y}}")));
    let own = rules(&(SETTINGS.to_owned() + &namespaced("n", "{pod: {labels: {a: b}}}")));
    let object = pod("{}");
    let mut called = 0;
    let decision =
        cluster.evaluate_in_steps(Some(own.namespaced()), &creation(&object), || called += 1).unwrap();
    assert_eq!((words(&decision), called), (vec!["applied", "applied"], 1));
    let without = cluster.evaluate_in_steps(None, &creation(&object), || ()).unwrap();
    assert_eq!(words(&without), ["applied"]);
    let excluded = Subject::new(&object, Resource::Pods, Verb::Create, "kube-system");
    let decision = cluster.evaluate_in_steps(Some(own.namespaced()), &excluded, || called += 1).unwrap();
    assert_eq!((words(&decision), called), (vec!["excluded_system_namespace"], 1));

    let both = cluster.with_namespaced(own.namespaced().clone());
    assert_eq!(words(&decide(&both, &object)), ["applied", "applied"]);
    assert_eq!(both.rules().len(), 1);
}

/// The container of the namespace is inserted behind the cluster's one, which is then moved back to the end. The container of a
/// rule that ended its own condition stays, because the next evaluation does not attribute it to the rule.
#[test]
fn strict_positions_are_restored_after_rules_of_namespaces() {
    let sidecar = "sidecars: [{name: s, image: i, position: {initContainers: last, strict: true}}]";
    let once =
        "matchConditions: [{name: c0, expression: \"!object.spec.initContainers.exists(c, c.name == 's')\"}]";
    let own = namespaced("n", "{initContainers: [{name: setup, image: 'setup:1'}]}");
    let object = pod(
        r#"{"initContainers":[{"name":"theirs","image":"i"}],"containers":[{"name":"app","image":"i"}]}"#,
    );
    for (spec, expected) in [
        (sidecar.to_owned(), ["theirs", "setup", "s"]),
        (format!("{once}\n{sidecar}"), ["theirs", "s", "setup"]),
    ] {
        let rules = rules(&(SETTINGS.to_owned() + &rule("r", &spec) + &own));
        let made = result(&rules, &object);
        assert_eq!(names(&made["spec"]["initContainers"]), expected, "{spec}");
    }
}

/// A rule may change what it reads four times more often than there are rules, and once more.
#[test]
fn passes_have_a_limit() {
    let counting = |most: usize| {
        let expression = format!(
            "size(object.metadata.?annotations[?'n'].orValue('')) < {most} ? object.metadata.?annotations[?'n'].orValue('') + 'x' : object.metadata.annotations.n"
        );
        rule("r", &format!("onConflict: override\npod: {{annotations: {{n: {{$cel: \"{expression}\"}}}}}}"))
    };
    let other = rule("a", "order: -1\npod: {labels: {x: y}}");
    for (text, words_of) in [
        (counting(5), ["applied"].as_slice()),
        (counting(6), &["error"]),
        (other.clone() + &counting(6), &["applied", "applied"]),
        // Only the rule that goes on is left out.
        (other + &counting(7), &["applied", "error"]),
    ] {
        assert_eq!(words(&decide(&rules(&text), &pod("{}"))), words_of, "{text}");
    }
}

/// Rules that wait for others get one turn more than there are rules in each pass. A rule that goes on longer is left out.
#[test]
fn turns_have_a_limit() {
    let counting = |most: usize| {
        let text = "object.metadata.?annotations[?'n'].orValue('')";
        let expression = format!("size({text}) < {most} ? {text} + 'x' : {text}");
        rule("r", &format!("onConflict: override\npod: {{annotations: {{n: {{$cel: \"{expression}\"}}}}}}"))
    };
    let waiting = rule(
        "w",
        "matchConditions: [{name: c0, expression: \"has(object.metadata.labels.none)\"}]\npod: {labels: {x: y}}",
    );
    for (most, expected) in [(8, "applied"), (60, "error")] {
        let rules = rules(&(counting(most) + &waiting));
        assert_eq!(words(&decide(&rules, &pod("{}"))), [expected, "match_condition_false"], "{most}");
    }
}

/// A pod with a map in the place of a list would get a member `0` or `-` instead of an item.
#[test]
fn a_map_in_the_place_of_a_list_is_an_error() {
    for (list, item) in [("env", "{name: A, value: b}"), ("ports", "{containerPort: 80}")] {
        let rules =
            rules(&rule("r", &format!("containerPatches: [{{select: {{all: true}}, {list}: [{item}]}}]")));
        let decision = decide(&rules, &pod(&format!(r#"{{"containers":[{{"name":"app","{list}":{{}}}}]}}"#)));
        assert_eq!((word(&decision), decision.patch().len()), ("error", 0), "{list}");
        let sentence = format!("/spec/containers/0/{list} is not a list");
        assert!(decision.warnings[0].contains(&sentence), "{:?}", decision.warnings);
    }
}

/// Without a schema a list of maps is one to which items can be added.
#[test]
fn without_a_schema_maps_are_compared_item_by_item() {
    let text = rule(
        "r",
        "sidecars: [{name: s, image: i, resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]}]",
    );
    let object = pod(
        r#"{"initContainers":[{"name":"s","image":"i","restartPolicy":"Always","resizePolicy":[{"resourceName":"memory","restartPolicy":"NotRequired"},{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]}"#,
    );
    for (schema, expected) in [(vestibule_patch::Schema::unknown(), "unchanged"), (schema(), "conflict")] {
        let rules = RuleSet::load([("rules.yaml", text.as_str())], schema).unwrap();
        assert_eq!(word(&evaluate(&rules, &creation(&object))), expected);
    }
}
