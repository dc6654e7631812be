//! With all reports switched on, none holds a value of pods, rules, log levels or callers.

use std::sync::Arc;

use fire::rig::get;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};
use vestibule_testenv::{Options, start_or_skip};

use super::{Cluster, InstalledInjector, print_manifests};
use crate::api::{self, Reply};
use crate::collector::Collector;
use crate::fixture::Folder;
use crate::wait;

const OBJECT: &str = "canary-object";
const RULE: &str = "canary-of-a-rule";
const BROKEN: &str = "canary-of-a-broken-rule";
const LEVEL: &str = "canary-of-a-level";
/// The ServiceAccount of the API server's token.
const CALLER: &str = "canary-caller";

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: adds}
spec:
  match: {namespaceSelector: {matchLabels: {injection: enabled}}}
  pod: {annotations: {example.com/added: canary-of-a-rule}}
  sidecars:
  - name: sidecar
    image: registry.invalid/canary-of-a-rule:1
    args: [canary-of-a-rule]
    env: [{name: TARGET, value: canary-of-a-rule}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: conflicts}
spec:
  match: {namespaceSelector: {matchLabels: {injection: enabled}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  match: {namespaceSelector: {matchLabels: {injection: enabled}}}
  pod: {labels: {asked: canary-of-a-rule}}
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: fails}
spec:
  match: {namespaceSelector: {matchLabels: {injection: enabled}}}
  containerPatches:
  - select: {all: true}
    env: [{name: NUMBER, value: {$cel: \"string(int(object.metadata.annotations['number']))\"}}]
";

/// An unknown field, and a text that is not YAML.
const BROKEN_RULES: [&str; 2] = [
    "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: broken}
spec:
  match: {objectSelector: {matchLabels: {app: canary-of-a-broken-rule}}}
  containerPatches: [{select: {all: true}, env: [{name: TARGET, vlaue: canary-of-a-broken-rule}]}]
",
    "canary-of-a-broken-rule: [",
];

#[tokio::test]
async fn contents_of_pods_rules_levels_and_callers_are_reported_nowhere() {
    let Some(environment) = start_or_skip(&Options::default().shows_credentials()).await else { return };
    let home = environment.namespace(&[]).await.unwrap().name().to_owned();
    let token = environment.token(&home, CALLER, "somebody-else").await.unwrap();
    environment.show_token(&token).unwrap();
    let service = environment.service(&home, "injector").await.unwrap();
    let folder = Folder::with(&[("rules.yaml", RULES)]);
    let (mut manifests, _) = print_manifests(&folder.path().join("rules.yaml"), &home, &service);
    let [broken_rules, levels] = broken(&manifests);
    manifests.push(levels);
    let (collector, authority) = (Collector::start(), environment.client_authority());
    // A build without the feature `otel` refuses the flags of spans.
    let makes_spans = folder.run("serve --help").stdout().contains("--otlp-endpoint");
    let injector = InstalledInjector::install(environment, &home, service, manifests, |command| {
        command
            .arg("--client-auth=observe")
            .arg("--client-name=somebody-else")
            .arg("--token-issuer=https://testenv.invalid")
            .arg("--client-ca")
            .arg(authority);
        if makes_spans {
            command.env("VESTIBULE_OTLP_ENDPOINT", &collector.address).env("VESTIBULE_TRACE_RATIO", "1");
        }
        command.env("RUST_LOG", "trace").env("OTEL_BSP_SCHEDULE_DELAY", "20");
    });
    let cluster = Cluster::of(Arc::new(injector.await));
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let has = |made: &Value| made["metadata"]["annotations"]["example.com/added"] == RULE;
    cluster.wait_until_injected(&namespace, &super::pod("probe"), has).await;

    // The message to the author may hold the text. Without the validating hook the ConfigMap is stored.
    let judged =
        |reply: &Reply| reply.body["message"].as_str().is_some_and(|message| message.contains("VST0"));
    assert!(judged(&cluster.create(&home, &broken_rules).await));
    let judge = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/injector";
    api::delete(&cluster.client, judge, &Value::Null).await.object();
    let created = async || cluster.create(&home, &broken_rules).await;
    let stored = wait::until(created, |reply| !judged(reply)).await;
    stored.unwrap_or_else(|reply| panic!("it is judged still: {}", reply.body)).object();

    let mut told = Vec::new();
    for (name, volumes) in
        [("plain", json!([])), ("crowded", json!([{"name": "data", "hostPath": {"path": OBJECT}}]))]
    {
        let reply = cluster.create(&namespace, &pod(name, &volumes)).await;
        told.extend(reply.warnings.clone());
        assert!(has(&reply.object()), "{name}");
    }
    assert!(told.iter().any(|warning| warning.contains("conflicts")), "{told:?}");

    let reasons = ["InjectionConflict", "InjectionSkipped", "RulesNotInForce", "LogLevelNotUnderstood"];
    told.push(events(&cluster, &reasons).await);
    // The decisions about the two pods. Calls before them were dry runs without a canary.
    let is_real = |span: &Span| {
        let dry_run = span.attributes.iter().find(|attribute| attribute.key == "vestibule.dry_run");
        span.name == "mutate best-effort" && format!("{dry_run:?}").contains("BoolValue(false)")
    };
    match makes_spans {
        true => collector.taken(|spans| spans.iter().filter(|span| is_real(span)).count() >= 2).await,
        false => eprintln!("without spans: this build has no feature otel"),
    }
    told.push(get(cluster.injector.probes, "/metrics").await.unwrap());
    told.push(get(cluster.injector.probes, "/readyz?verbose").await.unwrap());
    let [.., metrics, readiness] = &told[..] else { unreachable!() };
    // The certificate has another name, and the token has a good signature and another subject.
    assert!(
        metrics.contains(r#"vestibule_client_identity_total{kind="invalid",reason="audience"}"#),
        "{metrics}"
    );
    assert!(readiness.contains("configuration: hash "), "{readiness}");
    let log = cluster.injector.server.log();
    for heard in [r#""level":"TRACE""#, "client identified", "VST0", "it is no text"] {
        assert!(log.contains(heard), "no {heard} in the log");
    }
    for name in [r#""name":"plain""#, r#""name":"crowded""#] {
        let mut lines = log.lines().filter(|line| line.contains(r#""verdict":"mutated""#));
        assert!(lines.any(|line| line.contains(name)), "nothing of {name} is mutated in the log");
    }
    told.push(log);
    let parts = token.split('.').skip(1);
    for canary in [OBJECT, RULE, BROKEN, LEVEL, CALLER].into_iter().chain(parts) {
        assert!(!collector.holds(canary), "{canary} is in a span");
        let lines = told.iter().flat_map(|text| text.lines()).filter(|line| line.contains(canary));
        let lines: Vec<_> = lines.take(5).collect();
        assert!(lines.is_empty(), "{canary}: {lines:#?}");
    }
}

/// A second ConfigMap with rules, and one with levels.
fn broken(manifests: &[Value]) -> [Value; 2] {
    let is_rules = |manifest: &&Value| manifest["kind"] == "ConfigMap";
    let mut rules = manifests.iter().find(is_rules).unwrap().clone();
    let mut levels = rules.clone();
    rules["metadata"]["name"] = json!("broken-rules");
    rules["data"] = json!({"unknown.yaml": BROKEN_RULES[0], "text.yaml": BROKEN_RULES[1]});
    // `canary-of-a-broken-rule` and a byte that is not UTF-8.
    rules["binaryData"] = json!({"binary.yaml": "Y2FuYXJ5LW9mLWEtYnJva2VuLXJ1bGX/"});
    levels["metadata"] = json!({"name": "injector-logging", "namespace": rules["metadata"]["namespace"]});
    levels["data"] =
        json!({"loglevel": LEVEL, "loglevel.identity": LEVEL, "raised": format!("{LEVEL} until {LEVEL}")});
    [rules, levels]
}

/// A pod of a ReplicaSet with invalid values for every opt-in key.
fn pod(name: &str, volumes: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "labels": {"app": OBJECT},
            "annotations": {"x": OBJECT, "number": OBJECT, "inject.vestibule.dev/asked": OBJECT},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}],
        },
        "spec": {"volumes": volumes, "containers": [{
            "name": "app", "image": format!("registry.invalid/{OBJECT}:1"), "args": [OBJECT],
            "env": [{"name": "SECRET", "value": OBJECT}],
        }]},
    })
}

/// All Events, after there is one of each of these reasons.
async fn events(cluster: &Cluster, reasons: &[&str]) -> String {
    let uri = "/apis/events.k8s.io/v1/events";
    let read = async || api::get(&cluster.client, uri).await.object().to_string();
    wait::until(read, |events| reasons.iter().all(|reason| events.contains(reason))).await.unwrap()
}
