//! Conditions of rules, and pods and namespaces that meet them or not.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use vestibule_rules::{NamespaceFacts, Resource, Subject, Verb};

const RULES: [&str; 3] = ["one", "two", "three"];

/// The conditions of a rule, and the values that it computes.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// Lines of the rule's spec: `parameters`, `variables`, `matchConditions`, `optIn` and `rollout`.
    pub(super) lines: String,
    pub(super) annotations: Value,
    pub(super) blocks: Vec<Value>,
}

/// The creation of a pod in a namespace.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) pod: Value,
    pub(super) facts: NamespaceFacts,
}

impl Request {
    /// The request with another `pod`.
    pub(super) fn creation<'s>(&'s self, pod: &'s str) -> Subject<'s> {
        Subject::new(pod, Resource::Pods, Verb::Create, "team-a").facts(&self.facts)
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NamespaceFacts { labels, annotations } = &self.facts;
        write!(to, "{} in {labels:?} {annotations:?}", self.pod)
    }
}

/// The keys and variables of the rule start with `own`.
pub(super) fn conditions(own: &'static str) -> impl Strategy<Value = Conditions> {
    let opt_in =
        prop::sample::select(&["always", "always", "always", "always", "namespace", "pod", "either"][..]);
    let percent = prop::sample::select(&[None, None, None, Some(0), Some(40), Some(100)][..]);
    let asks = prop_oneof![
        2 => condition().prop_map(|all| (format!("matchConditions: {}", conditions_of(all)), json!({}), Vec::new())),
        1 => computed(own),
    ];
    (opt_in, percent, asks).prop_map(|(opt_in, percent, (lines, annotations, blocks))| {
        let rollout = percent.map(|percent| format!("\nrollout: {{percent: {percent}}}"));
        let lines = format!("{lines}\noptIn: {opt_in}{}", rollout.unwrap_or_default());
        Conditions { lines, annotations, blocks }
    })
}

fn condition() -> impl Strategy<Value = &'static [&'static str]> {
    const CONDITIONS: &[&[&str]] = &[
        &[],
        &[],
        &["size(object.spec.containers) < 3"],
        &["!has(object.metadata.labels.l)"],
        &["object.spec.containers.exists(c, c.name == \"a\")", "request.namespace == \"team-a\""],
    ];
    prop::sample::select(CONDITIONS)
}

/// `matchConditions` of these expressions.
fn conditions_of(expressions: &[&str]) -> Value {
    let condition = |(number, expression): (usize, &&str)| json!({"name": format!("c{number}"), "expression": expression});
    expressions.iter().enumerate().map(condition).collect()
}

/// Conditions, an annotation and a variable of parameters.
fn computed(own: &'static str) -> impl Strategy<Value = (String, Value, Vec<Value>)> {
    const CONDITIONS: &[&[&str]] =
        &[&[], &[], &["variables.few"], &["params.team != \"none\"", "params.size > 0"]];
    let default = prop::sample::select(&["", ", default: 1", ", default: 3"][..]);
    let all = prop::sample::select(CONDITIONS);
    (default, all, any::<bool>(), any::<bool>()).prop_map(move |(default, all, annotates, sets)| {
        let lines = format!(
            "parameters:\n\
             - {{name: size, type: int, min: 0, max: 3, annotation: {own}example.com/size{default}}}\n\
             - {{name: team, type: string, annotation: {own}example.com/team, from: namespace, default: none}}\n\
             variables:\n\
             - {{name: few, expression: 'size(object.spec.containers) <= params.size + 1'}}\n\
             - {{name: word, expression: 'params.team + \"-\" + string(params.size)'}}\n\
             matchConditions: {}",
            conditions_of(all),
        );
        let computed = |expression: &str| json!({"$cel": expression});
        let mut annotations = json!({});
        if annotates {
            annotations[format!("{own}example.com/word")] = computed("variables.word");
        }
        let name = format!("{}SIZE", own.replace('.', "_"));
        let block = || {
            json!({"select": {"all": true}, "env": [{"name": name, "value": computed("string(params.size)")}]})
        };
        (lines, annotations, sets.then(block).into_iter().collect())
    })
}

/// The creation of one of `pods`, with labels and annotations that rules read.
pub(super) fn request(pods: impl Strategy<Value = Value>) -> impl Strategy<Value = Request> {
    let size = prop::option::of(prop::sample::select(&["0", "2", "3", "4", "big", ""][..]));
    let team = prop::option::of(prop::sample::select(&["blue", "none", "$(A)"][..]));
    (pods, said(), said(), said(), size, team, owner()).prop_map(
        |(mut pod, labels, annotations, of_namespace, size, team, owner)| {
            let metadata = &mut pod["metadata"];
            metadata["ownerReferences"] = owner;
            for (field, said) in [("labels", labels), ("annotations", annotations)] {
                if metadata[field].is_null() && !said.is_empty() {
                    metadata[field] = json!({});
                }
                metadata[field].as_object_mut().into_iter().for_each(|map| map.extend(said.clone()));
            }
            let own = || ["".to_owned()].into_iter().chain(RULES.map(|rule| format!("{rule}.")));
            if let (Some(size), Some(annotations)) = (size, metadata["annotations"].as_object_mut()) {
                annotations.extend(own().map(|own| (format!("{own}example.com/size"), json!(size))));
            }
            let labels =
                of_namespace.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()));
            let mut facts = NamespaceFacts { labels: labels.collect(), ..NamespaceFacts::default() };
            let teams =
                team.map(|team| own().map(move |own| (format!("{own}example.com/team"), team.to_owned())));
            facts.annotations.extend(teams.into_iter().flatten());
            Request { pod, facts }
        },
    )
}

/// A few opt-in labels or annotations, most of them `true`.
fn said() -> impl Strategy<Value = Map<String, Value>> {
    let own = |(rule, value): (&str, &str)| (format!("inject.vestibule.dev/{rule}"), json!(value));
    let own =
        (prop::sample::select(&RULES[..]), prop::sample::select(&["true", "true", "false", "maybe"][..]))
            .prop_map(own);
    let common = prop::sample::select(&["true", "true", "one, two", "two, nobody", "false"][..])
        .prop_map(|value| ("vestibule.dev/inject".to_owned(), json!(value)));
    let some = prop::collection::vec(prop_oneof![own, common], 1..3);
    prop_oneof![
        3 => Just(Map::new()),
        1 => some.prop_map(|said| said.into_iter().collect()),
    ]
}

fn owner() -> impl Strategy<Value = Value> {
    let owner = |name: &str, kind: &str| json!([{"apiVersion": "x/v1", "kind": kind, "name": name, "uid": name, "controller": true}]);
    prop::sample::select(vec![
        json!(null),
        json!([]),
        owner("w-1", "ReplicaSet"),
        owner("w-2", "ReplicaSet"),
        owner("w-3", "StatefulSet"),
        owner("w-4", "Job"),
    ])
}
