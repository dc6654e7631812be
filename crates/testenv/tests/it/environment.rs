use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use vestibule_testenv::{Environment, Options, shared_or_skip, start_or_skip};

#[tokio::test]
async fn a_namespace_has_its_labels_and_a_service_account() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[("injection", "enabled")]).await.unwrap();
    let other = env.namespace(&[]).await.unwrap();
    assert_ne!(namespace, other);

    let client = env.admin().unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let labels = namespaces.get(namespace.name()).await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["injection"], "enabled");
    let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace.name());
    assert!(accounts.get("default").await.is_ok());
}

#[tokio::test]
async fn ordinary_users_and_service_accounts_have_no_rights() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let names = [
        (env.api_server().user("alice").unwrap(), "User \"alice\"".to_owned()),
        (
            env.service_account(namespace.name(), "robot").await.unwrap(),
            format!("User \"system:serviceaccount:{namespace}:robot\""),
        ),
    ];
    for (client, name) in names {
        let refusal = list(client, namespace.name()).await.unwrap_err();
        assert!(matches!(&refusal, kube::Error::Api(status) if status.is_forbidden()), "{refusal}");
        assert!(refusal.to_string().contains(&name), "{refusal}");
    }
    assert!(list(env.admin().unwrap(), namespace.name()).await.is_ok());
}

#[tokio::test]
async fn other_programs_can_use_the_kubeconfigs() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let account = env.service_account_kubeconfig(namespace.name(), "robot").await.unwrap();
    let user = env.api_server().user_kubeconfig("alice").unwrap();
    for (path, allowed) in [(env.kubeconfig(), true), (account, false), (user, false)] {
        let kubeconfig = Kubeconfig::read_from(path).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let answer = list(Client::try_from(config).unwrap(), namespace.name()).await;
        assert_eq!(answer.is_ok(), allowed);
    }
}

#[tokio::test]
async fn two_environments_run_side_by_side_and_leave_nothing_behind() {
    let Some(env) = shared_or_skip().await else { return };
    let Some(other) = start_or_skip(&Options::default().controller_manager()).await else { return };
    assert_ne!(env.url(), other.url());
    assert_eq!(pods_of_a_job(&other).await, 2);
    let namespace = env.namespace(&[("only", "here")]).await.unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(other.admin().unwrap());
    let found = namespaces.list(&ListParams::default().labels("only=here")).await.unwrap();
    assert!(found.items.is_empty(), "{namespace} is in both");

    let folder = other.folder().to_owned();
    assert!(folder.exists());
    drop(other);
    assert!(!folder.exists());
    assert!(!crate::killed::any_process_in(&folder));
}

#[tokio::test]
async fn the_error_for_a_control_plane_that_does_not_start_gives_the_reason() {
    if shared_or_skip().await.is_none() {
        return;
    }
    let options = Options::default().api_server_flag("--no-such-flag");
    let Err(error) = Environment::start_with(&options).await else { panic!("it started") };
    assert!(error.to_string().contains("unknown flag: --no-such-flag"), "{error}");
}

#[tokio::test]
async fn the_openapi_documents_name_list_keys() {
    let Some(env) = shared_or_skip().await else { return };
    let documents = env.openapi().await.unwrap();
    let ports =
        &documents["api/v1"]["components"]["schemas"]["io.k8s.api.core.v1.Container"]["properties"]["ports"];
    assert_eq!(ports["x-kubernetes-list-map-keys"], serde_json::json!(["containerPort", "protocol"]));
    assert!(documents.contains_key("apis/apps/v1"));
}

/// The number of pods that the controllers of `env` make for a Job with two.
async fn pods_of_a_job(env: &Environment) -> usize {
    let namespace = env.namespace(&[]).await.unwrap();
    let job = json!({
        "metadata": { "name": "once" },
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "app", "image": "app" }] } },
        },
    });
    let jobs: Api<Job> = Api::namespaced(env.admin().unwrap(), namespace.name());
    jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(env.admin().unwrap(), namespace.name());
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let made = pods.list(&ListParams::default()).await.unwrap().items.len();
        if made >= 2 {
            return made;
        }
        assert!(Instant::now() < end, "{}", env.controller_manager_log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn list(client: Client, namespace: &str) -> kube::Result<()> {
    Api::<ConfigMap>::namespaced(client, namespace).list(&ListParams::default()).await.map(drop)
}
