use kube::Api;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use vestibule_testenv::{Answer, ApiServer, Environment, Options, Recorder, start_or_skip};

use crate::objects::{configuration, create, doors, url_and_user_of};

#[tokio::test]
async fn two_api_servers_on_one_etcd() {
    let Some(env) = start_or_skip(&Options::default().second_api_server()).await else { return };
    assert_ne!(env.url(), env.second().unwrap().url());
    installed_configurations_are_live_on_both(&env).await;
    both_know_the_same_users(&env).await;
}

async fn installed_configurations_are_live_on_both(env: &Environment) {
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::start(&[], |_| Answer::Deny("not here".to_owned())).unwrap();
    let client_config = json!({ "url": recorder.url("/"), "caBundle": recorder.ca_bundle() });
    for round in 0..5 {
        let name = format!("{namespace}-{round}");
        let kind = "ValidatingWebhookConfiguration";
        let installed =
            env.install([configuration(kind, &name, namespace.name(), &client_config)]).await.unwrap();
        for server in servers(env) {
            let refusal =
                create(server.admin().unwrap(), namespace.name()).await.expect_err("the hook is live");
            assert!(refusal.to_string().contains("not here"), "{}: {refusal}", server.url());
        }
        installed.uninstall().await.unwrap();
        for server in servers(env) {
            create(server.admin().unwrap(), namespace.name()).await.expect("the hook is gone");
        }
    }

    let _installed = env.install([doors("two.example.dev")]).await.unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("two.example.dev", "v1", "Door"));
    for server in servers(env) {
        let doors: Api<DynamicObject> = Api::all_with(server.admin().unwrap(), &resource);
        assert!(doors.list(&Default::default()).await.is_ok(), "{}", server.url());
    }
}

async fn both_know_the_same_users(env: &Environment) {
    let second = env.second().unwrap();
    let namespace = env.namespace(&[]).await.unwrap();
    let robot = second.service_account_kubeconfig(namespace.name(), "robot").await.unwrap();
    let paths = [
        (second.kubeconfig().unwrap(), "admin".to_owned()),
        (second.user_kubeconfig("alice").unwrap(), "alice".to_owned()),
        (robot, format!("system:serviceaccount:{namespace}:robot")),
    ];
    for (path, name) in paths {
        let (url, user) = url_and_user_of(&path).await;
        assert_eq!((url.trim_end_matches('/'), user.as_str()), (second.url(), name.as_str()));
    }
}

fn servers(env: &Environment) -> [&ApiServer; 2] {
    [env.api_server(), env.second().unwrap()]
}
