//! The validating hook without a cluster; hook and operator on a real API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::wait::await_condition;
use my_operator::{Greeting, GreetingSpec};
use vestibule_test::{Cluster, call};

fn greeting(text: &str) -> Greeting {
    Greeting::new("hello", GreetingSpec { text: text.to_owned() })
}

#[tokio::test]
async fn a_greeting_without_words_is_refused() {
    let app = my_operator::app();
    let outcome = call(&app, "words").create(greeting(" ")).await;
    outcome.assert_denied("a greeting needs words").assert_cause("spec.text", "no word");
    call(&app, "words").create(greeting("Good morning")).await.assert_allowed();
}

#[tokio::test]
async fn a_greeting_gets_a_config_map() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(my_operator::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let greetings: Api<Greeting> = Api::namespaced(cluster.client(), &namespace);

    let refused = greetings.create(&Default::default(), &greeting(" ")).await.unwrap_err();
    assert!(refused.to_string().contains("a greeting needs words"), "{refused}");
    greetings.create(&Default::default(), &greeting("Good morning")).await.unwrap();

    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);
    let has_text = |found: Option<&ConfigMap>| {
        found.is_some_and(|map| map.data.as_ref().is_some_and(|data| data["text"] == "Good morning"))
    };
    let written = await_condition(config_maps, "hello", has_text);
    tokio::time::timeout(Duration::from_secs(60), written).await.expect("the operator writes it").unwrap();
}
