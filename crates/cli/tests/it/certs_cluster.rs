//! `vestibule certs` on a real API server, as an ordinary user.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule::Options;
use vestibule::identity::{Identity, NamespacedName, SelfManaged, Settings};
use vestibule_injector::Namespaces;
use vestibule_testenv::shared_or_skip;

use crate::fixture::{Done, Folder, TARGET};
use crate::served::Server;

fn run(folder: &Folder, arguments: &str, kubeconfig: &Path) -> Done {
    folder.run(&format!("certs {arguments} --kubeconfig {}", kubeconfig.display()))
}

#[tokio::test]
async fn a_secret_of_new_is_taken_by_the_api_server() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let folder = Folder::with(&[]);
    let printed = folder.run(&format!("certs new --service {namespace}/hooks -o secret")).objects();
    let secret: Secret = serde_json::from_value(printed[0].clone()).unwrap();
    let secrets: Api<Secret> = Api::namespaced(env.admin().unwrap(), namespace.name());
    let stored = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(stored.type_.as_deref(), Some("kubernetes.io/tls"));
    assert_eq!(stored.metadata.name.as_deref(), Some("hooks-tls"));
    assert_eq!(stored.data.unwrap().into_keys().collect::<Vec<_>>(), ["ca.crt", "tls.crt", "tls.key"]);
}

#[tokio::test]
async fn the_ring_of_a_replica_is_shown_and_asked_to_rotate() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let admin = env.kubeconfig();
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let show = format!("show --service {namespace}/hooks --registration mutating/{namespace}-none");

    run(&folder, &show, &admin).exits(1).shows(format!("ring {namespace}/hooks-ring  there is none"));

    let serve = format!(
        "serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen off --namespace-labels a=b --identity self \
         --secret {namespace}/hooks-ring --service {namespace}/hooks --register-outside-cluster --registration mutating/{namespace}-none"
    );
    let mut serve = folder.command(&serve);
    let _replica = Server::spawn(serve.env("KUBECONFIG", &admin));
    let secrets: Api<Secret> = Api::namespaced(env.admin().unwrap(), namespace.name());
    let patience = tokio::time::timeout(Duration::from_secs(30), async {
        while secrets.get_opt("hooks-ring").await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    });
    patience.await.expect("a ring within 30 s");

    let done = run(&folder, &format!("{show} -o json"), &admin);
    // The configuration does not exist yet.
    done.exits(1);
    let shown = done.json();
    assert_eq!((&shown["state"], &shown["ring"]["rotationAsked"]), (&json!("known"), &json!(false)));
    let roles: Vec<_> =
        shown["ring"]["authorities"].as_array().unwrap().iter().map(|ca| &ca["role"]).collect();
    assert!(roles.contains(&&json!("active")) && roles.contains(&&json!("next")), "{roles:?}");
    assert_eq!(shown["registrations"][0]["differences"][0], "it does not exist");
    assert!(!done.out.contains("PRIVATE"));

    run(&folder, &format!("rotate --service {namespace}/hooks"), &admin).fails(2, "--yes");
    run(&folder, &format!("rotate --service {namespace}/hooks --yes"), &admin).exits(0).tells("too young");
    run(&folder, &show, &admin).shows("a rotation was requested and has not happened yet");
    run(&folder, &format!("rotate --service {namespace}/hooks --yes --wait --timeout 1s"), &admin)
        .fails(1, "The request stands");
}

/// The identity runs in this process, since no flag sets lifetimes as short as these. The binary waits for each change.
#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_is_shown_and_a_rotation_and_a_revocation_are_waited_for() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let (client, admin) = (env.admin().unwrap(), env.kubeconfig());
    let name = format!("{namespace}-hooks");
    register(&client, &name, &namespace).await;
    let mut settings =
        Settings::for_service(NamespacedName { namespace: namespace.clone(), name: "hooks".to_owned() });
    settings.registrations = vec![format!("mutating/{name}").parse().unwrap()];
    (settings.policy.hold, settings.policy.hold_cold) = (Duration::from_secs(2), Duration::from_secs(2));
    (settings.policy.recheck, settings.policy.switch_wait) = (Duration::from_secs(1), Duration::from_secs(1));
    let identity = SelfManaged::start(client, settings).unwrap();
    let rules = vestibule_injector::compile([("rules.yaml", TARGET)]).unwrap();
    let app = vestibule_injector::app(rules, Namespaces::unknown()).unwrap();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bound = app.bind(Options::new(listen, Arc::clone(&identity) as _)).await.unwrap();
    let address = bound.address();
    tokio::spawn(bound.serve());
    tokio::time::timeout(Duration::from_secs(30), identity.ready()).await.expect("ready within 30 s");

    let folder = Folder::with(&[]);
    let certs = |arguments: &str| run(&folder, &format!("{arguments} --service {namespace}/hooks"), &admin);
    let show = certs(&format!("show --address {address}"));
    show.exits(0);
    for part in [
        format!("ring {namespace}/hooks-ring  generation 1, "),
        format!("mutating/{name}  in sync, generation 1, "),
        format!("leaf at {address}  accepted\n  hooks.{namespace}.svc, "),
    ] {
        show.shows(&part);
    }
    let json = certs(&format!("show --address {address} -o json")).exits(0).json();
    assert_eq!(json["leaf"]["refusals"], json!([]));

    // Without a server at the address, the rest is shown.
    let gone = certs("show --address 127.0.0.1:1");
    assert_eq!((gone.code(), gone.out.contains("in sync")), (3, true), "{}{}", gone.out, gone.err);
    gone.tells("connection refused");
    assert_eq!(certs("show --address 127.0.0.1").code(), 2);

    certs("rotate --yes --wait --timeout 1m").exits(0).tells("done: another CA signs now");
    certs("revoke --yes --wait --timeout 1m")
        .exits(0)
        .tells("done: none of the former CAs is trusted any more");
    let after = certs("show -o json").json();
    let ids = |shown: &Value| -> Vec<String> {
        let authorities = shown["ring"]["authorities"].as_array().unwrap();
        authorities.iter().map(|ca| ca["id"].to_string()).collect()
    };
    assert!(ids(&json).iter().all(|id| !ids(&after).contains(id)), "{json}{after}");
}

/// A configuration that never calls.
async fn register(client: &Client, name: &str, namespace: &str) {
    let configuration = json!({ "metadata": { "name": name }, "webhooks": [{
        "name": "hooks.example.com",
        "clientConfig": { "service": { "namespace": namespace, "name": "hooks" } },
        "objectSelector": { "matchLabels": { "never": "matches" } },
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }]});
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = serde_json::from_value(configuration).unwrap();
    configurations.create(&PostParams::default(), &configuration).await.unwrap();
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let kubeconfig = env.api_server().user_kubeconfig(&format!("{namespace}-nobody")).unwrap();
    let folder = Folder::with(&[]);
    for command in ["show", "rotate --yes", "revoke --yes"] {
        let done = run(&folder, &format!("{command} --secret ring -n {namespace}"), &kubeconfig);
        done.exits(2);
        let right = format!("get secrets/ring in namespace {namespace}");
        done.tells(&right);
    }
    let nowhere = env.kubeconfig();
    let text = std::fs::read_to_string(&nowhere).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
    folder.write("nowhere", config.to_string());
    run(&folder, "show --secret demo/ring", Path::new("nowhere")).exits(3);
    run(&folder, "show --secret demo/ring", Path::new("missing")).exits(2);
    run(&folder, "show --secret demo/Not_a_name", &nowhere)
        .fails(2, "`Not_a_name` cannot be an object's name");
}
