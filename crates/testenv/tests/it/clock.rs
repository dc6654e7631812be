use std::time::Duration;

use futures_util::StreamExt;
use hyper::header::DATE;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::fmt::rfc2822::DateTimeParser;
use kube::api::{Api, WatchEvent, WatchParams};
use kube::client::Body;
use vestibule_testenv::shared_or_skip;

use crate::objects::{client_of, create, url_and_user_of};

#[tokio::test]
async fn a_clock_shifts_the_date_of_an_api_server() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let (clock, server) = env.api_server().with_clock().unwrap();
    let kubeconfig = server.service_account_kubeconfig(namespace.name(), "robot").await.unwrap();
    assert_eq!(url_and_user_of(&kubeconfig).await.1, format!("system:serviceaccount:{namespace}:robot"));

    let (_, client) = client_of(&server.kubeconfig().unwrap()).await;
    for ahead in [0, 3600, -86_400] {
        clock.ahead_by(ahead);
        let request = hyper::Request::get("/version").body(Body::empty()).unwrap();
        let response = client.send(request).await.unwrap();
        let told = DateTimeParser::new().parse_timestamp(&response.headers()[DATE]).unwrap();
        let error = told.as_second() - ahead - Timestamp::now().as_second();
        assert!(error.abs() <= 10, "{told} is {error} s off");
    }

    // A watch passes through, event by event.
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace.name());
    let events = maps.watch(&WatchParams::default().disable_bookmarks(), "0").await.unwrap();
    let mut events = std::pin::pin!(events);
    for _ in 0..2 {
        let made = create(client.clone(), namespace.name()).await.unwrap();
        let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await.unwrap();
        let WatchEvent::Added(seen) = event.unwrap().unwrap() else { panic!("not added") };
        assert_eq!(seen.metadata.name, made.metadata.name);
    }
}
