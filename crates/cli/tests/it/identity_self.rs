//! `--identity self` on a real API server, with the printed manifests and rights.

mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fire::reload::{InjectorFixture, RuleChanges};
use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use vestibule_testenv::{Environment, Options, Tools, start_or_skip, tools_or_skip};

use crate::api::{self, CONFIGURATION, Reply};
use crate::examples;
use crate::fixture::{EVERYWHERE, Folder, REQUIRED, TARGET, with_kubectl};
use crate::wait;
use server::Server;

const SWITCH_OFF: &str = include_str!("../../../../docs/how-to/switch-off.md");

#[tokio::test]
async fn the_printed_manifests_are_all_it_takes() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default().audit()).await else { return };
    let admin = environment.admin().unwrap();
    let home = environment.namespace(&[]).await.unwrap().name().to_owned();
    let shop = environment.namespace(&[]).await.unwrap().name().to_owned();
    let service = environment.service(&home, "injector").await.unwrap();
    let rules = format!("{EVERYWHERE}---\n{TARGET}---\n{}---\n{}", required(), asking(&shop));
    let folder = Folder::with(&[("rules.yaml", &rules)]);
    entries_of_the_samples_are_taken(&folder, &admin).await;
    let manifests = manifests(&folder, &format!("{home}/injector:{}", service.port()));

    for manifest in &manifests {
        apply(&admin, manifest, "&dryRun=All&force=true").await.object();
    }
    // The environment's Service leads to this machine.
    let manifests: Vec<_> = manifests.into_iter().filter(|manifest| manifest["kind"] != "Service").collect();
    // No create fails, from before the installation until the hooks are called.
    let creates = tokio::spawn(create_until_injected(admin.clone(), shop.clone()));
    apply_all(&admin, &manifests).await;

    let kubeconfig = environment.service_account_kubeconfig(&home, "injector").await.unwrap();
    let at = format!("{home}/injector:{}", service.port());
    let server = Server::start(&environment, &folder, &kubeconfig, &at).await;
    service.add_replica(server.address, Some(server.probes)).unwrap();
    let not_ready = server.get("/readyz").await;
    assert!(not_ready.contains("not ready: ") && not_ready.contains("certificate waits for "), "{not_ready}");
    service.wait_for_replicas(1).await.unwrap();
    creates.await.unwrap();
    assert_injected(&admin, &shop).await;
    server.assert_shown(r#"vestibule_certificate_rotations_total{result="created"} 1"#).await;
    server.assert_shown(r#"vestibule_cabundle_in_sync{kind="mutating",name="injector"} 1"#).await;
    server.assert_shown("vestibule_ca_generation").await;
    server.assert_shown(r#"vestibule_certificate_not_after_seconds{role="next"} "#).await;

    // Applied again, they change nothing: entries and bundle are not in them.
    let before = api::get(&admin, CONFIGURATION).await.body;
    assert!(before["webhooks"][0]["clientConfig"]["caBundle"].is_string(), "{before}");
    apply_all(&admin, &manifests).await;
    assert_eq!(api::get(&admin, CONFIGURATION).await.body, before);

    let log = server.log();
    assert!(!log.is_empty() && !log.iter().any(|line| line.contains("\"ERROR\"")), "{log:#?}");

    let rules = Rules { admin: admin.clone(), home: home.clone(), text: rules };
    let (made, load) = create_all_the_while(admin.clone(), shop.clone());
    entries_follow_the_rules(&rules, &shop).await;
    observed_it_changes_nothing_at_once(&rules, &shop, &server).await;
    let audited = environment.audit_log().unwrap();
    let noted = |key: &str, value: &str| {
        let notes = audited.iter().filter_map(|event| event["annotations"].as_object()).flatten();
        notes.filter(|(name, _)| name.ends_with(key)).any(|(_, noted)| noted == value)
    };
    assert!(noted("/mode", "observe") && noted("/rules", "data"), "what is observed is in the audit log");
    the_own_namespace_is_injected_where_the_settings_say_so(&rules, &folder, &environment.kubeconfig()).await;
    switch_off(&environment, &tools).await;
    switched_off_it_stays_off(&rules, &shop, &manifests, &server).await;
    assert!(!load.is_finished(), "a create has failed");
    load.abort();
    assert!(made.load(Ordering::Relaxed) > 100, "{made:?}");

    versions_change_under_load(&rules, &shop, &manifests, &server).await;
    api::ask_for_rotation(&admin, &home).await;
    server.wait_until_shown(r#"vestibule_certificate_rotations_total{result="promoted"} 1"#).await;
    server.wait_until_shown(r#"vestibule_certificate_not_after_seconds{role="retired"} "#).await;
    assert_injected(&admin, &shop).await;
    until(async || api::get(&admin, CONFIGURATION).await.body["webhooks"] != before["webhooks"]).await;

    service.remove_replica(server.address);
    drop(server);
    a_pod_that_opted_out_starts_while_the_injector_is_down(&admin, &shop).await;

    // Without the validating hook broken rules are stored. A replica that starts now serves the last good rules.
    rules.write(&rules.text.replace("  containerPatches:\n", "  continerPatches:\n")).await.object();
    let server = Server::start(&environment, &folder, &kubeconfig, &at).await;
    service.add_replica(server.address, Some(server.probes)).unwrap();
    service.wait_for_replicas(1).await.unwrap();
    assert_injected(&admin, &shop).await;
    let log = server.log();
    let fallen_back =
        |line: &String| line.contains("the last good ones are in force") && line.contains("VST0110");
    assert!(log.iter().any(fallen_back), "{log:#?}");
    assert!(!server.shows(r#"vestibule_certificate_rotations_total{result="created"} 1"#).await);
}

async fn entries_of_the_samples_are_taken(folder: &Folder, admin: &Client) {
    let samples = examples::rules();
    let files = examples::names(&samples).into_iter().map(|name| samples.join(format!("{name}.yaml")));
    for rules in files.chain([samples.clone()]) {
        let command =
            "manifests --only registration --registration-mode static --namespace shop -o json --rules";
        let printed = folder.run(&format!("{command} {}", rules.display())).stdout();
        let list: Value = serde_json::from_str(&printed).unwrap();
        for configuration in list["items"].as_array().unwrap() {
            let conditions = configuration.pointer("/webhooks/0/matchConditions");
            assert!(conditions.is_some() || configuration["kind"] != "MutatingWebhookConfiguration");
            apply(admin, configuration, "&dryRun=All").await.object();
        }
    }
}

/// The ConfigMap of rules, as it was printed and as the test edits it.
struct Rules {
    admin: Client,
    home: String,
    text: String,
}

impl Rules {
    async fn write(&self, text: &str) -> Reply {
        let uri = format!("/api/v1/namespaces/{}/configmaps/injector-rules", self.home);
        let data = json!({"data": {"rules.yaml": text}});
        api::merge_patch(&self.admin, &uri, &data).await
    }

    /// Writes the ConfigMap and waits until these entries are registered.
    async fn registered(&self, text: &str, entries: &[&str]) {
        self.write(text).await.object();
        until(async || names(&api::get(&self.admin, CONFIGURATION).await.body) == entries).await;
    }
}

fn names(configuration: &Value) -> Vec<String> {
    let entries = configuration["webhooks"].as_array().into_iter().flatten();
    let name = |entry: &Value| entry["name"].as_str().unwrap().split('.').next().unwrap().to_owned();
    entries.map(name).collect()
}

async fn until(holds: impl AsyncFn() -> bool) {
    wait::until(holds, |holds| *holds).await.expect("it never holds");
}

async fn entries_follow_the_rules(rules: &Rules, shop: &str) {
    let whole = rules.text.as_str();
    let created = async || !is_without_data(&create(&rules.admin, shop).await.body);
    rules.registered(&format!("{TARGET}---\n{}", asking(shop)), &["best-effort"]).await;
    until(async || !created().await).await;

    let more = required()
        .replace("name: data", "name: more")
        .replace("match: {", "match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}, ");
    rules.registered(&format!("{whole}---\n{more}"), &["required", "required-2", "best-effort"]).await;

    // A rule that could stop a cluster is refused at `kubectl apply`.
    let refusal = rules.write(&format!("{TARGET}---\n{}", required())).await;
    assert_eq!(refusal.status, StatusCode::FORBIDDEN, "{}", refusal.body);
    let message = refusal.body["message"].as_str().unwrap();
    assert!(message.contains("VST0190") && message.contains("requiredEverywhere: allow"), "{message}");

    rules.registered(&whole.replace("allow}", "allow, mode: off}"), &[]).await;
    until(async || !created().await).await;
    rules.registered(whole, &["required", "best-effort"]).await;
    until(created).await;
}

/// When a replica has the rules, no pod is changed, and the outcomes are counted.
async fn observed_it_changes_nothing_at_once(rules: &Rules, shop: &str, server: &Server) {
    const OBSERVED: &str = r#"vestibule_injections_total{rule="data",result="observed",reason=""}"#;
    assert!(!server.shows(OBSERVED).await);
    rules.write(&rules.text.replace("allow}", "allow, mode: observe}")).await.object();
    // Pods are created meanwhile.
    until(async || server.shows(OBSERVED).await).await;
    for _ in 0..20 {
        let made = create(&rules.admin, shop).await.object();
        assert_eq!(made["metadata"]["labels"], json!({"app": "web"}));
        assert!(made["spec"]["containers"][0].get("env").is_none() && is_without_data(&made), "{made}");
    }
    assert_eq!(names(&api::get(&rules.admin, CONFIGURATION).await.body), ["required", "best-effort"]);
    for rule in ["target", "team"] {
        server.assert_shown(&OBSERVED.replace("data", rule)).await;
    }
    rules.registered(&rules.text, &["required", "best-effort"]).await;
    until(async || !is_without_data(&create(&rules.admin, shop).await.body)).await;
}

/// Tutorials install into `default` and inject there. The explanation names the setting for that.
async fn the_own_namespace_is_injected_where_the_settings_say_so(
    rules: &Rules,
    folder: &Folder,
    kubeconfig: &Path,
) {
    let (admin, home) = (&rules.admin, rules.home.as_str());
    let targets = async |labels: &Value| {
        let made = create_with(admin, home, &json!({"labels": labels})).await.object();
        made["spec"]["containers"][0]["env"][0]["value"] == "hall"
    };
    let explained = || {
        let words = "explain pod/bare --injector-namespace";
        let cluster = kubeconfig.display();
        let told = folder.run(&format!("{words} {home} -n {home} --kubeconfig {cluster}")).stdout();
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "labels": {"app": "web"}},
                     "spec": {"containers": [{"name": "app", "image": "nginx"}]}});
    let pods = format!("/api/v1/namespaces/{home}/pods");
    let made = api::post(admin, &pods, &pod).await.object();
    assert!(made["spec"]["containers"][0].get("env").is_none(), "{made}");
    let told = explained();
    let remedy =
        format!("{home} is the injector's own namespace, and its settings do not say `ownNamespace: inject`");
    assert!(told.contains("excluded_own_namespace") && told.contains(&remedy), "{told}");

    let settings = EVERYWHERE.replace("requiredEverywhere: allow", "ownNamespace: inject");
    rules.registered(&format!("{settings}---\n{TARGET}"), &["best-effort"]).await;
    until(async || targets(&json!({})).await).await;
    assert!(
        !targets(&json!({"vestibule.dev/injector": "true"})).await,
        "the injector does not wait for itself"
    );
    let told = explained();
    assert!(told.contains("applied") && !told.contains("excluded_own_namespace"), "{told}");

    rules.registered(&rules.text, &["required", "best-effort"]).await;
    until(async || !targets(&json!({})).await).await;
}

/// `cargo xtask reload` in short: good and broken versions in turn, refused at apply or stored without validation, and each mode.
async fn versions_change_under_load(rules: &Rules, shop: &str, manifests: &[Value], server: &Server) {
    let fixture = InjectorFixture {
        admin: rules.admin.clone(),
        home: rules.home.clone(),
        pod_namespace: shop.to_owned(),
        config_map: "injector-rules".to_owned(),
        replicas: vec![server.probes],
        manifests: manifests.to_vec(),
    };
    let mut changes =
        RuleChanges::begin(&fixture, vec![rules.admin.clone(), rules.admin.clone()], 50).await.unwrap();
    for _ in 0..2 {
        changes.write_refused().await.unwrap();
        changes.write_good().await.unwrap();
    }
    changes.stop_validation().await.unwrap();
    for _ in 0..2 {
        changes.write_stored().await.unwrap();
        changes.write_good().await.unwrap();
    }
    changes.switch_modes(Duration::from_secs(1)).await.unwrap();
    let figures = changes.end().await;
    assert!(figures.is_good(), "{figures}");
    apply_all(&rules.admin, manifests).await;
    rules.registered(&rules.text, &["required", "best-effort"]).await;
    create_until_injected(rules.admin.clone(), shop.to_owned()).await;
}

/// The command of the page, run by the real kubectl.
async fn switch_off(environment: &Environment, tools: &Tools) {
    let (_, command) = SWITCH_OFF.split_once("```sh\n").unwrap();
    let (command, _) = command.split_once("```").unwrap();
    let mut shell = with_kubectl(environment, tools, command);
    // Pods are created meanwhile.
    let done = tokio::task::spawn_blocking(move || shell.output().unwrap()).await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Deleted configurations stay deleted until the manifests are applied again.
async fn switched_off_it_stays_off(rules: &Rules, shop: &str, manifests: &[Value], server: &Server) {
    let admin = &rules.admin;
    let in_force = || server.log().iter().filter(|line| line.contains("the rules are in force")).count();
    let before = in_force();
    server.wait_until_shown(r#"vestibule_cabundle_in_sync{kind="mutating",name="injector"} 0"#).await;
    let more = asking("other").replace("team", "other");
    rules.write(&format!("{}---\n{more}", rules.text)).await.object();
    until(async || in_force() > before).await;
    let made = create(admin, shop).await.object();
    assert!(made["spec"]["containers"][0].get("env").is_none(), "{made}");
    assert_eq!(api::get(admin, CONFIGURATION).await.status, StatusCode::NOT_FOUND);

    let before = in_force();
    apply_all(admin, manifests).await;
    // The rules are deleted too, so that the next test does not find them.
    until(async || in_force() > before).await;
    create_until_injected(admin.clone(), shop.to_owned()).await;
}

async fn a_pod_that_opted_out_starts_while_the_injector_is_down(admin: &Client, shop: &str) {
    let refused = create(admin, shop).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains(r#"failed calling webhook "required.injector.vestibule.dev""#), "{message}");
    for map in ["labels", "annotations"] {
        for key in ["inject.vestibule.dev/data", "vestibule.dev/inject"] {
            create_with(admin, shop, &json!({map: {key: "false"}})).await.object();
        }
    }
    let asked = json!({"annotations": {"vestibule.dev/inject": "true"}});
    assert_eq!(create_with(admin, shop, &asked).await.status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// A required rule for every namespace.
fn required() -> String {
    let restricted = "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [default, demo]}]}, ";
    assert!(REQUIRED.contains(restricted));
    REQUIRED.replace(restricted, "")
}

/// A rule that reads the labels of the namespace.
fn asking(namespace: &str) -> String {
    format!(
        "{{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {{name: team}}, spec: {{match: {{namespaceSelector: \
         {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}, matchExpressions: [{{key: quiet, operator: DoesNotExist}}]}}}}, \
         pod: {{labels: {{team: blue}}}}}}}}\n"
    )
}

fn manifests(folder: &Folder, service: &str) -> Vec<Value> {
    let command = format!("manifests --rules rules.yaml --identity self --service {service} --image a");
    folder.run(&command).objects()
}

/// Applies as `kubectl apply --server-side` does, with strict validation.
async fn apply(client: &Client, manifest: &Value, options: &str) -> Reply {
    api::apply(client, manifest, &format!("fieldManager=kubectl&fieldValidation=Strict{options}")).await
}

async fn apply_all(client: &Client, manifests: &[Value]) {
    for manifest in manifests {
        apply(client, manifest, "&force=true").await.object();
    }
}

/// Creates pods without a pause, none of which may fail.
async fn create_until_injected(client: Client, namespace: String) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if !is_without_data(&create(&client, &namespace).await.object()) {
            return;
        }
        assert!(Instant::now() < end, "nothing is injected");
    }
}

fn is_without_data(made: &Value) -> bool {
    let volumes = made["spec"]["volumes"].as_array();
    !volumes.is_some_and(|volumes| volumes.iter().any(|volume| volume["name"] == "data"))
}

/// Creates pods without a pause until one create fails.
fn create_all_the_while(client: Client, namespace: String) -> (Arc<AtomicUsize>, JoinHandle<()>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let load = tokio::spawn(async move {
        loop {
            create(&client, &namespace).await.object();
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (made, load)
}

/// A pod that both hooks change, the required one under `failurePolicy: Fail`.
async fn assert_injected(client: &Client, namespace: &str) {
    let made = create(client, namespace).await.object();
    assert_eq!(made["spec"]["containers"][0]["env"], json!([{"name": "TARGET", "value": "hall"}]));
    assert_eq!(made["metadata"]["labels"]["team"], "blue", "the labels of its namespace are known");
    assert!(!is_without_data(&made), "{made}");
}

async fn create(client: &Client, namespace: &str) -> Reply {
    create_with(client, namespace, &json!({})).await
}

async fn create_with(client: &Client, namespace: &str, more: &Value) -> Reply {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
                         "spec": {"containers": [{"name": "app", "image": "nginx"}]}});
    for (map, pairs) in more.as_object().unwrap() {
        for (key, value) in pairs.as_object().unwrap() {
            pod["metadata"][map][key] = value.clone();
        }
    }
    let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    api::post(client, &uri, &pod).await
}
