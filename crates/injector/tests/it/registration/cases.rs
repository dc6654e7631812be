//! The cases of the property tests: rules, settings, and objects in namespaces.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_rules::{MetadataOf, NamespaceFacts, Resource, Rule, Verb};

use super::api_server::Request;

pub(super) const COMMON: &str = "vestibule.dev/inject";
pub(super) const OTHERS: &str = "other.example.com/inject";

/// A namespace and an object that is created or updated there.
#[derive(Clone, Debug)]
pub(super) struct AdmissionCase {
    pub(super) namespace: &'static str,
    pub(super) namespace_labels: BTreeMap<&'static str, &'static str>,
    namespace_annotations: BTreeMap<&'static str, &'static str>,
    pub(super) resource: Resource,
    pub(super) verb: Verb,
    is_being_deleted: bool,
    /// Of the pod, or of the pod template.
    pub(super) labels: BTreeMap<&'static str, &'static str>,
    pub(super) annotations: BTreeMap<&'static str, &'static str>,
    /// Of a workload itself.
    own: [BTreeMap<&'static str, &'static str>; 2],
    host_network: bool,
    os: Option<&'static str>,
    pub(super) user: &'static str,
}

impl AdmissionCase {
    pub(super) fn object(&self) -> Value {
        let metadata = |[labels, annotations]: [&BTreeMap<&str, &str>; 2]| {
            let mut metadata = json!({"name": "web", "labels": labels, "annotations": annotations});
            // The API server omits empty maps.
            metadata.as_object_mut().unwrap().retain(|_, value| *value != json!({}));
            metadata
        };
        let of_pod = metadata([&self.labels, &self.annotations]);
        let [labels, annotations] = &self.own;
        let mut own =
            if self.resource == Resource::Pods { of_pod.clone() } else { metadata([labels, annotations]) };
        if self.is_being_deleted {
            own["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let mut spec = json!({"containers": [{"name": "app", "image": "app"}]});
        if self.host_network {
            spec["hostNetwork"] = json!(true);
        }
        match self.os {
            Some("selected") => spec["nodeSelector"] = json!({"kubernetes.io/os": "windows"}),
            Some("selected of old") => spec["nodeSelector"] = json!({"beta.kubernetes.io/os": "windows"}),
            Some("both") => {
                spec["os"] = json!({"name": "linux"});
                spec["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
            }
            Some(other) => spec["os"] = json!({"name": other}),
            None => {}
        }
        match self.resource {
            Resource::Pods => json!({"metadata": own, "spec": spec}),
            Resource::CronJobs => {
                let job = json!({"spec": {"template": {"metadata": of_pod, "spec": spec}}});
                json!({"metadata": own, "spec": {"jobTemplate": job}})
            }
            _ => json!({"metadata": own, "spec": {"template": {"metadata": of_pod, "spec": spec}}}),
        }
    }

    pub(super) fn request<'a>(&'a self, object: &'a Value) -> Request<'a> {
        let mut namespace_labels = self.namespace_labels.clone();
        namespace_labels.insert("kubernetes.io/metadata.name", self.namespace);
        let operation = if self.verb == Verb::Create { "CREATE" } else { "UPDATE" };
        Request { resource: self.resource.as_str(), operation, namespace_labels, object, user: self.user }
    }

    pub(super) fn facts(&self) -> NamespaceFacts {
        let owned = |map: &BTreeMap<&str, &str>| {
            map.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let mut labels: BTreeMap<String, String> = owned(&self.namespace_labels);
        labels.insert("kubernetes.io/metadata.name".to_owned(), self.namespace.to_owned());
        NamespaceFacts { labels, annotations: owned(&self.namespace_annotations) }
    }

    /// Whether its namespace opted out of a rule with `optIn: namespace`, which no object overrules.
    pub(super) fn is_declined_by_namespace(&self, rule: &Rule) -> bool {
        let label = format!("inject.vestibule.dev/{}", rule.name());
        rule.requires_namespace_opt_in() && self.namespace_labels.get(label.as_str()) == Some(&"false")
    }

    /// Its labels and annotations, or those of its pod template.
    pub(super) fn read(&self, of: MetadataOf) -> [&BTreeMap<&'static str, &'static str>; 2] {
        let [labels, annotations] = &self.own;
        match (self.resource, of) {
            (Resource::Pods, _) | (_, MetadataOf::PodTemplate) => [&self.labels, &self.annotations],
            (_, MetadataOf::Workload) => [labels, annotations],
        }
    }

    /// Whether the object opted out of the rule `rule`.
    pub(super) fn declines(&self, rule: &Rule, of: MetadataOf) -> bool {
        let [labels, annotations] = self.read(of);
        let said = |key: &str| labels.get(key).or(annotations.get(key)).copied();
        let own = said(&format!("inject.vestibule.dev/{}", rule.name()));
        let listens_to_others = rule.compat_annotations().next().is_some();
        let others = annotations.get(OTHERS).copied().filter(|_| listens_to_others);
        own.or(others).or(said(COMMON)) == Some("false")
    }
}

pub(super) fn spec(index: usize) -> impl Strategy<Value = String> {
    let names = prop::sample::subsequence(vec!["blue", "green", "home"], 0..3);
    let excluded = prop::sample::subsequence(vec!["blue", "home"], 0..2);
    let team = prop::option::of(prop::sample::select(vec![
        "operator: In, values: [a]",
        "operator: In, values: [a, b]",
        "operator: NotIn, values: [b]",
        "operator: Exists",
        "operator: DoesNotExist",
    ]));
    let label = prop::option::of(prop::sample::select(vec![
        "operator: In, values: [web]",
        "operator: In, values: [db, web]",
        "operator: NotIn, values: [web]",
        "operator: Exists",
        "operator: DoesNotExist",
    ]));
    let targets = prop::sample::select(vec![
        "[pods]",
        "[pods]",
        "[deployments]",
        "[pods, deployments]",
        "[jobs, cronjobs]",
    ]);
    let opt_in = prop::sample::select(vec!["always", "namespace", "pod", "pod", "either"]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (names, excluded, team, label, targets, opt_in, flags).prop_map(
        move |(names, excluded, team, label, targets, opt_in, (required, compat, host, own))| {
            let asks = |requirement: Option<&str>| requirement.is_some_and(|one| !one.contains("Not"));
            // A rule must have some restriction.
            let addressed = opt_in != "always" || !names.is_empty() || asks(team) || asks(label);
            let label = if addressed { label } else { Some("operator: In, values: [web]") };
            let own = if own && targets != "[pods]" { ", metadataOf: workload" } else { "" };
            let requirement = |key: &str, requirement: &str| format!("{{key: {key}, {requirement}}}");
            let objects = label.map(|one| requirement("app", one)).unwrap_or_default();
            let of_names = |operator: &str, names: &[&str]| {
                let requirement = format!("{{key: kubernetes.io/metadata.name, operator: {operator}, values: {names:?}}}");
                Some(requirement).filter(|_| !names.is_empty())
            };
            let namespaces = [of_names("In", &names), of_names("NotIn", &excluded), team.map(|one| requirement("team", one))];
            let namespaces = namespaces.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let compat = if compat { format!(", compatAnnotations: {{{OTHERS}: ['yes']}}") } else { String::new() };
            let host = match (host, required) {
                (true, true) => ", hostNetwork: skip, os: windows",
                (true, false) => ", hostNetwork: skip, os: any",
                _ => "",
            };
            format!(
                "{{required: {required}, targets: {targets}{own}, optIn: {opt_in}{compat}, pod: {{labels: {{added-{index}: 'x'}}}}, \
                 match: {{namespaceSelector: {{matchExpressions: [{namespaces}]}}, objectSelector: {{matchExpressions: [{objects}]}}{host}}}}}"
            )
        },
    )
}

pub(super) fn settings() -> impl Strategy<Value = String> {
    let own_namespace = prop::sample::select(vec!["skip", "inject"]);
    let exemption = prop::sample::select(vec![
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}",
        "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [blue, green]}]}, users: [nobody]",
        "namespaceSelector: {matchLabels: {team: a}}",
        "namespaceSelector: {matchLabels: {team: a, inject.vestibule.dev/r0: 'true'}}",
        "namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}",
        "objectSelector: {matchLabels: {app: web}}",
        "objectSelector: {matchLabels: {app: ''}}",
        "objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}",
        "objectSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web, db]}]}, users: [somebody]",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}, objectSelector: {matchLabels: {app: web}}",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}, users: [somebody]",
        "objectSelector: {matchLabels: {app: web, inject.vestibule.dev/r0: 'true'}}",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}, objectSelector: {matchLabels: {app: ''}}",
        "users: ['system:*', \"o'\\\"clock\"]",
        "namespaceSelector: {matchLabels: {team: a}}, users: [somebody]",
    ]);
    (own_namespace, prop::collection::vec(exemption, 0..3)).prop_map(|(own_namespace, exemptions)| {
        let exemptions: Vec<_> = exemptions.iter().map(|exemption| format!("{{{exemption}}}")).collect();
        format!("ownNamespace: {own_namespace}, exemptions: [{}]", exemptions.join(", "))
    })
}

pub(super) fn opt_keys() -> impl Strategy<Value = BTreeMap<&'static str, &'static str>> {
    let keys = vec![
        COMMON,
        "inject.vestibule.dev/r0",
        "inject.vestibule.dev/r1",
        "inject.vestibule.dev/r2",
        OTHERS,
        "inject.vestibule.dev/r9",
        "unrelated",
    ];
    let values =
        prop::sample::select(vec!["true", "false", "false", "false", "r0", "r0, r1", "yes", "what?"]);
    prop::collection::btree_map(prop::sample::select(keys), values, 0..4)
}

pub(super) fn admission_case() -> impl Strategy<Value = AdmissionCase> {
    let namespace = prop::sample::select(vec!["blue", "green", "home", "kube-system"]);
    let team = prop::option::of(prop::sample::select(vec!["a", "b"]));
    let (pods, create) = (Resource::Pods, Verb::Create);
    let resources = vec![pods, pods, pods, Resource::Deployments, Resource::Jobs, Resource::CronJobs];
    let resource = (
        prop::sample::select(resources),
        prop::sample::select(vec![create, create, create, Verb::Update, Verb::Update]),
        prop::bool::weighted(0.1),
    );
    let app = prop::option::of(prop::sample::select(vec!["web", "db"]));
    let rare = || prop::bool::weighted(0.1);
    let os = prop::sample::select(vec!["linux", "windows", "selected", "selected of old", "both"]);
    let user = prop::sample::select(vec!["somebody", "nobody", "system:node", "o'\"clock"]);
    let run = (any::<bool>(), prop::option::of(os), user);
    let opted = (opt_keys(), opt_keys(), opt_keys(), opt_keys());
    let of_workload = (opt_keys(), opt_keys(), prop::option::of(prop::sample::select(vec!["web", "db"])));
    (namespace, team, resource, app, opted, run, (rare(), rare()), of_workload).prop_map(
        |(
            namespace,
            team,
            (resource, verb, is_being_deleted),
            app,
            opted,
            (host_network, os, user),
            (own, mirror),
            (mut own_labels, own_annotations, own_app),
        )| {
            let (mut namespace_labels, namespace_annotations, mut labels, mut annotations) = opted;
            namespace_labels.extend(team.map(|team| ("team", team)));
            labels.extend(app.map(|app| ("app", app)));
            own_labels.extend(own_app.map(|app| ("app", app)));
            labels.extend(own.then_some(("vestibule.dev/injector", "true")));
            annotations.extend(mirror.then_some(("kubernetes.io/config.mirror", "x")));
            AdmissionCase {
                namespace,
                namespace_labels,
                namespace_annotations,
                resource,
                verb,
                is_being_deleted,
                labels,
                annotations,
                own: [own_labels, own_annotations],
                host_network,
                os,
                user,
            }
        },
    )
}

pub(super) fn proptest_config() -> ProptestConfig {
    let cases = std::env::var("VESTIBULE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(150))
}
