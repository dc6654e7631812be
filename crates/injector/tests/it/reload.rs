//! Rules in files that change, and what probes and metrics show of the reload.

use std::path::Path;

use serde_json::json;
use vestibule_caller::Review;
use vestibule_injector::{Configuration, LoadError, Namespaces, Snapshot, SnapshotState, app, compile};

use crate::fixture::{self, from_folder, pod, rules};

fn rule(name: &str, value: &str) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\n\
         spec: {{match: {{objectSelector: {{matchLabels: {{app: web}}}}}}, pod: {{labels: {{{name}: {value}}}}}}}\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.rules().rules().iter().map(vestibule_rules::Rule::name).collect()
}

// With a paused clock two reads of the folder take no time.
#[tokio::test(start_paused = true)]
async fn a_folder_is_read_again_when_its_content_changes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", &rule("a", "one"));
    write(folder.path(), "b.yaml", &rule("b", "one"));
    let mut configuration = from_folder(folder.path()).unwrap();
    let first = configuration.current();
    assert_eq!((names(&first), first.state()), (vec!["a", "b"], SnapshotState::Current));

    write(folder.path(), "a.yaml", &rule("a", "two"));
    let second = configuration.changed().await;
    assert_ne!(second.rules().hash(), first.rules().hash());
    assert!(second.since() >= first.since());

    // A new file with the same content makes no reload.
    std::fs::remove_file(folder.path().join("b.yaml")).unwrap();
    write(folder.path(), "b.yaml", &rule("b", "one"));
    write(folder.path(), "c.yaml", "kind: [\n");
    let third = configuration.changed().await;
    assert_eq!((names(&third), third.state()), (vec!["a", "b"], SnapshotState::LastGood));
    assert_eq!(third.rules().hash(), second.rules().hash());
    assert!(third.to_string().ends_with("; wrong in the newest texts: VST0101"), "{third}");

    std::fs::remove_file(folder.path().join("c.yaml")).unwrap();
    std::fs::remove_file(folder.path().join("b.yaml")).unwrap();
    let fourth = configuration.changed().await;
    assert_eq!((names(&fourth), fourth.state()), (vec!["a"], SnapshotState::Current));
}

/// A pattern of a shell may name a folder and a file in it. The rules of that file were said to exist twice.
#[tokio::test]
async fn a_file_that_two_arguments_name_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", &rule("a", "one"));
    let paths = [folder.path().to_owned(), folder.path().join("a.yaml")];
    let configuration = Configuration::from_paths(&paths, None);
    let configuration = configuration.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(names(&configuration.current()), ["a"]);
}

#[tokio::test]
async fn a_first_start_with_broken_files_fails() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", &rule("a", "one"));
    write(folder.path(), "b.yaml", &rule("b", "one").replace("spec", "spek"));
    let error = from_folder(folder.path()).err().unwrap();
    assert!(
        matches!(&error, LoadError::Rules(findings) if findings[0].source().ends_with("b.yaml")),
        "{error}"
    );
    let absent = from_folder(&folder.path().join("absent")).err().unwrap();
    assert!(matches!(absent, LoadError::File { .. }));
}

/// A pod must not pass without its sidecar because the rules have not been read yet.
#[tokio::test]
async fn before_the_first_rules_no_call_is_answered() {
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = kube::Client::try_from(nowhere).unwrap();
    let configuration = Configuration::from_cluster(client, "injector");
    let injector = fixture::injector(configuration.clone(), Namespaces::unknown()).await;
    assert_eq!(configuration.current().state(), SnapshotState::Waiting);
    let review = Review::create(pod("shop")).build().unwrap();
    for hook in ["required", "best-effort"] {
        assert!(!injector.answers(hook, &review).await, "{hook}");
    }
}

/// With these settings: whether a pod is changed, and the audit annotation of the mode.
async fn decided(settings: &str) -> (bool, Option<String>) {
    let settings = format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: s}}\nspec: {settings}\n"
    );
    let texts = [("rule.yaml", rule("a", "one")), ("settings.yaml", settings)];
    let rules =
        compile(texts.iter().map(|(name, text)| (*name, &**text))).unwrap_or_else(|it| panic!("{it:?}"));
    let injector = fixture::injector(rules, Namespaces::unknown()).await;
    let review = Review::create(pod("shop")).build().unwrap();
    let allowed = injector.allowed("best-effort", &review).await;
    let mode = allowed.audit_annotations.kept.into_iter().find(|(key, _)| key.ends_with("/mode"));
    (allowed.patch.is_some(), mode.map(|(_, mode)| mode))
}

#[tokio::test]
async fn the_mode_decides_whether_anything_is_changed() {
    assert_eq!(decided("{mode: on}").await, (true, None));
    assert!(!decided("{mode: observe}").await.0);
    assert_eq!(decided("{mode: off}").await, (false, None));
}

#[tokio::test]
async fn probes_and_metrics_show_the_configuration() {
    let rules = rules(&rule("a", "one"));
    let hash = rules.hash().to_owned();
    let injector = fixture::injector(rules, Namespaces::unknown()).await;
    let verbose = injector.page("/readyz?verbose").await;
    assert!(verbose.contains("\r\n\r\nok\n[+]configuration ok since 2"), "{verbose}");
    assert!(verbose.ends_with(&format!("\nconfiguration: hash {hash}, rules: 1")), "{verbose}");
    let metrics = injector.page("/metrics").await;
    for line in [
        &*format!("vestibule_config_info{{hash=\"{hash}\"}} 1\n"),
        "vestibule_config_last_reload_success 1\n",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn the_manifests_hold_the_validating_hook_and_the_rights_on_config_maps() {
    let rules = rules(&rule("a", "one"));
    let configuration = Configuration::installed(rules, "webhooks");
    let app = app(configuration, Namespaces::unknown()).unwrap_or_else(|error| panic!("{error}"));
    let target = vestibule::Target::service("webhooks/injector").unwrap();
    let registration = app.registration(&target, "").unwrap();
    let hooks = json!(registration.validating.unwrap().webhooks.unwrap());
    assert_eq!(
        (&hooks[0]["name"], &hooks[0]["failurePolicy"]),
        (&json!("config.injector.vestibule.dev"), &json!("Ignore"))
    );
    assert_eq!(
        hooks[0]["namespaceSelector"],
        json!({"matchLabels": {"kubernetes.io/metadata.name": "webhooks"}})
    );
    assert_eq!(hooks[0]["objectSelector"], json!({"matchLabels": {"vestibule.dev/config": "true"}}));
    assert_eq!(hooks[0]["rules"][0]["operations"], json!(["CREATE", "UPDATE"]));

    let manifests = vestibule_manifests::Installation::of(&app, target).manifests(&app).unwrap();
    let role = manifests
        .iter()
        .find(|it| it["kind"] == "Role" && it["metadata"]["namespace"] == "webhooks")
        .unwrap();
    let of_config_maps: Vec<_> = role["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["resources"] == json!(["configmaps"]))
        .collect();
    let right = |verbs: &[&str]| json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs});
    let named = |name: &str, verbs: &[&str]| {
        let mut named = right(verbs);
        named["resourceNames"] = json!([name]);
        named
    };
    let levels = named("injector-logging", &["get", "list", "watch"]);
    let last_good = named("injector-last-good", &["get", "update"]);
    let expected = json!([levels, right(&["list", "watch"]), last_good, right(&["create"])]);
    assert_eq!(json!(of_config_maps), expected);
}
