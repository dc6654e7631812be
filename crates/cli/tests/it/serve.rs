//! `vestibule serve` as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vestibule_caller::{Admission, Caller, FailurePolicy, Hook, Review};

use crate::fixture::{Folder, REQUIRED, TARGET, target_in_namespaces};
use crate::served::{Server, get, serve};

/// The verdict of the hook `best-effort` on a pod in `default`.
fn admit(server: &Server, folder: &Folder, pod: Value) -> Admission {
    admit_in("default", server, folder, pod)
}

fn admit_in(namespace: &str, server: &Server, folder: &Folder, pod: Value) -> Admission {
    let ca = std::fs::read(folder.path().join("identity/ca.crt")).unwrap();
    let review = Review::create(pod).namespace(namespace).build().unwrap();
    let hook = Hook::mutating("best-effort", "/mutate/best-effort");
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let caller = Caller::new(server.address("address"), "localhost", &ca).unwrap();
        caller.admit(&review, &hook, FailurePolicy::Fail).await.unwrap()
    })
}

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
           "spec": {"containers": [{"name": "app", "env": [{"name": "SECRET", "value": "hunter2"}]}]}})
}

#[test]
fn the_first_line_has_address_names_and_hooks() {
    let folder = Folder::with(&[("rules.yaml", &format!("{TARGET}---\n{REQUIRED}"))]);
    let server = Server::start(&folder, "--dns injector.shop.svc");
    assert_eq!(server.start["message"], "serving");
    assert_eq!(server.start["names"], "injector.shop.svc");
    assert_eq!(server.start["hooks"], "/mutate/required,/mutate/best-effort");
    assert_ne!(server.address("address").port(), 0);
}

#[test]
fn a_review_is_answered_and_leaves_one_line_without_values() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let server = Server::start(&folder, "");
    let Admission::Admitted { object: Some(object), .. } = admit(&server, &folder, pod()) else {
        panic!("admitted")
    };
    assert_eq!(object["spec"]["containers"][0]["env"][0], json!({"name": "TARGET", "value": "hall"}));
    let rest = server.ended();
    assert!(!rest.join("\n").contains("hunter2") && !rest.join("\n").contains("hall"), "{rest:?}");
    let decisions: Vec<_> = rest.iter().filter(|line| line.contains("\"decided\"")).collect();
    assert_eq!(decisions.len(), 1, "{rest:?}");
}

/// Three nested loops over two hundred variables.
#[test]
fn a_rule_that_computes_too_much_is_left_out_and_no_other() {
    let loops = "variables.env.all(a, variables.env.all(b, variables.env.all(c, a.name + b.name != c.name)))";
    left_out_or_denied(loops, "ticks");
}

#[test]
fn a_rule_with_a_failing_expression_is_left_out_and_no_other() {
    left_out_or_denied("variables.env[2000].name == object.metadata.name", "matchConditions[c0]");
}

/// The condition of one of two rules fails: `onError` decides whether the rule is left out or the object denied, with `words`.
fn left_out_or_denied(condition: &str, words: &str) {
    let erring = format!(
        "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {{name: erring}}
spec:
  match: {{objectSelector: {{matchLabels: {{app: web}}}}}}
  variables: [{{name: env, expression: 'object.spec.containers[0].env'}}]
  matchConditions: [{{name: c0, expression: '{condition}'}}]
  pod: {{labels: {{erring: done}}}}
"
    );
    let folder = Folder::with(&[("rules.yaml", &format!("{erring}---\n{TARGET}"))]);
    let server = Server::start(&folder, "");
    let mut crowded = pod();
    let variables = (0..200).map(|index| json!({"name": format!("SETTING_{index}")}));
    crowded["spec"]["containers"][0]["env"] = variables.collect();
    let admission = admit(&server, &folder, crowded.clone());
    let Admission::Admitted { object: Some(object), warnings, failed_open: None, .. } = admission else {
        panic!("another answer")
    };
    assert_eq!(object["metadata"]["labels"], json!({"app": "web"}));
    assert_eq!(object["spec"]["containers"][0]["env"][0], json!({"name": "TARGET", "value": "hall"}));
    assert!(warnings.iter().any(|said| said.contains("erring") && said.contains(words)), "{warnings:?}");
    drop(server);

    let strict = erring.replace("spec:\n", "spec:\n  onError: deny\n");
    folder.write("rules.yaml", format!("{strict}---\n{TARGET}"));
    let admission = admit(&Server::start(&folder, ""), &folder, crowded);
    let Admission::Refused { code: 403, message, .. } = admission else { panic!("another answer") };
    assert!(message.contains("erring") && message.contains(words), "{message}");
}

#[test]
fn the_namespace_of_the_service_is_the_own_one() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let injected = |flags: &str| {
        let server = Server::start(&folder, &format!("--dns localhost {flags}"));
        matches!(admit_in("shop", &server, &folder, pod()), Admission::Admitted { object: Some(object), .. }
            if object["spec"]["containers"][0]["env"][0]["name"] == "TARGET")
    };
    assert!(injected("--service other/injector"));
    assert!(!injected("--service shop/injector"));
    assert!(injected("--service shop/injector --namespace other"));
}

#[test]
fn ctrl_c_ends_it_at_once_though_a_connection_is_open() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let mut server = Server::start(&folder, "");
    let idle = TcpStream::connect(server.address("address")).unwrap();
    let started = Instant::now();
    server.signal("-INT");
    server.said("stopping: SIGINT");
    assert!(server.child.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    drop(idle);
}

#[test]
fn sigterm_drains() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let mut server = Server::start(&folder, "--drain-delay 60s");
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    server.signal("-TERM");
    server.said("draining: SIGTERM");
    while !get(&server, "/readyz").starts_with("HTTP/1.1 503") {}
    // While it drains, the Service sends no calls, and a call that arrives is answered.
    assert!(matches!(admit(&server, &folder, pod()), Admission::Admitted { .. }));
    server.signal("-TERM");
    server.said("ending at once: a second signal");
    assert!(server.child.wait().unwrap().success());
}

/// In a container the signal was lost, and the pod served until it was killed.
#[cfg(target_os = "linux")]
#[test]
fn sigterm_during_the_start_ends_it() {
    use std::os::unix::fs::DirBuilderExt;

    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let identity = folder.path().join("identity");
    std::fs::DirBuilder::new().mode(0o700).create(&identity).unwrap();
    // The start waits for the lock of the CA's folder.
    let lock = std::fs::File::open(&identity).unwrap();
    lock.lock().unwrap();
    let mut child = serve(&folder, "--drain-delay 0s").spawn().unwrap();
    let id = child.id().to_string();
    let has_handler = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
    };
    let start = Instant::now();
    while !has_handler() {
        assert!(start.elapsed() < Duration::from_secs(60), "SIGTERM has no handler during the start");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    drop(lock);
    assert!(child.wait().unwrap().success());
}

#[test]
fn after_the_drain_it_ends() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let mut server = Server::start(&folder, "--drain-delay 0s");
    assert!(matches!(admit(&server, &folder, pod()), Admission::Admitted { .. }));
    server.signal("-TERM");
    server.said("stopped");
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn rules_that_ask_for_namespaces_do_not_start_without() {
    let rules = target_in_namespaces("team: blue");
    let folder = Folder::with(&[("rules.yaml", &rules)]);
    folder
        .run("serve --rules rules.yaml --listen 127.0.0.1:0 --identity local:identity")
        .fails(2, "target; say them with --namespace-labels k=v,...")
        .tells("--kubeconfig");
    Server::start(&folder, "--namespace-labels team=blue");
}

#[test]
fn flags_that_a_certificate_source_cannot_use_are_refused() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for (flags, words) in [
        ("--identity off", "operators whose webhooks are switched off"),
        ("--identity local:identity --secret shop/ring", "--secret is for `--identity self`"),
        ("--identity local:identity --leaf-life 2d", "--leaf-life is for `--identity self`"),
        ("--identity self -n shop", "--service NS/NAME"),
        (
            "--identity local:identity --mounted-key a",
            "--mounted-key is for `--identity mounted:DIR`, and the identity is `local:identity`",
        ),
        ("--identity local:identity --cluster-domain a.b", "--service"),
        (
            "--identity self --service shop/a --leaf-life 10m",
            "--leaf-life: the leaf life 10 min is shorter than 1 h",
        ),
        ("--identity self --service shop/a --key-algorithm rsa", "use p256 or p384"),
        ("--identity self --service shop/a --quarantine 1d", "--quarantine"),
        ("--identity self --service shop/a --unknown-ca lose", "`keep` or `drop`"),
        ("--identity self --service shop/a --registration pod/a", "mutating/NAME"),
        ("--identity self --service shop/a --kubeconfig absent", "absent"),
    ] {
        folder.run(&format!("serve --rules rules.yaml --listen 127.0.0.1:0 {flags}")).fails(2, words);
    }
    assert!(!folder.path().join("identity").exists());
}

/// The command of certificates.md on a laptop registered a Service without pods under `failurePolicy: Fail`.
#[test]
fn outside_a_cluster_a_service_is_registered_only_with_a_flag() {
    let kubeconfig = "{clusters: [{name: c, cluster: {server: 'https://prod.example.com:6443'}}], users: [{name: u, user: {}}], \
                      contexts: [{name: x, context: {cluster: c, user: u, namespace: shop}}], current-context: x}";
    let folder = Folder::with(&[("rules.yaml", TARGET), ("config", kubeconfig)]);
    let serve = |flags: &str| {
        let line =
            format!("serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 {flags}");
        let mut command = folder.command(&line);
        command.env_remove("KUBERNETES_SERVICE_HOST").env("KUBECONFIG", "config");
        command
    };
    for more in ["", " --kubeconfig config", " --registration-mode managed"] {
        let output = serve(&format!("--identity self --service shop/injector{more}")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{more}");
        let told = String::from_utf8(output.stderr).unwrap();
        for words in [
            "outside the cluster https://prod.example.com:6443",
            "the pods of Service shop/injector:443",
            "--register-outside-cluster",
            "--url",
        ] {
            assert!(told.contains(words), "{more}: {told}");
        }
    }
    // A process that registers nothing, or has the flag, serves.
    for flags in [
        "--identity self --service shop/injector --registration-mode static",
        "--identity self --service shop/injector --register-outside-cluster",
        "--identity self --url https://127.0.0.1:10250 --registration-mode managed",
        "--identity local:identity --service shop/injector",
    ] {
        let mut server = serve(flags).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
        let serving = log.by_ref().any(|line| line.contains("\"serving\""));
        server.kill().and_then(|()| server.wait()).unwrap();
        assert!(serving, "{flags}");
    }
}

#[test]
fn a_bad_kubeconfig_is_named() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("config", "clusters: 3")]);
    folder
        .run("serve --rules rules.yaml --listen 127.0.0.1:0 --identity local:identity --kubeconfig config")
        .fails(2, "the kubeconfig config cannot be used");
}
