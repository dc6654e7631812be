//! The maximum age of a connection, by which no call is lost.

use std::time::Duration;

use http::StatusCode;
use tokio::task::JoinSet;
use vestibule_server::Settings;

use crate::harness::{Client, Running, serve_limited};

async fn aged(age: Option<Duration>) -> Running {
    serve_limited(|settings| settings.connection_age = age).await
}

#[tokio::test]
async fn with_an_age_of_zero_each_answer_is_the_last_one() {
    let server = aged(Some(Duration::ZERO)).await;
    for _ in 0..3 {
        let mut client = server.connect().await;
        let reply = client.review().await;
        assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
        assert!(!client.is_usable().await);
    }
}

#[tokio::test]
async fn a_connection_below_its_age_is_kept() {
    for age in [Settings::default().connection_age, Some(Duration::MAX), None] {
        let mut client = aged(age).await.connect().await;
        for _ in 0..20 {
            assert_eq!(client.review().await.header("connection"), "");
        }
    }
}

/// Callers as kube-apiserver: a connection is used again unless the answer said otherwise, a failed call stays failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_by_age() {
    const CONNECTIONS: usize = 3;
    // Longer than eight handshakes at a time take on a busy machine: they are part of a connection's age.
    let server = aged(Some(Duration::from_millis(300))).await;
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (address, config) = (server.address, server.client_config());
        callers.spawn(async move {
            let mut kept = 0;
            for _ in 0..CONNECTIONS {
                let mut client = Client::connect(address, config.clone()).await;
                loop {
                    let reply = client.review().await;
                    assert_eq!(reply.status, StatusCode::OK);
                    if reply.header("connection") == "close" {
                        break;
                    }
                    kept += 1;
                }
            }
            kept
        });
    }
    let kept: usize = callers.join_all().await.into_iter().sum();
    assert!(kept > CONNECTIONS, "only {kept} answers left their connection open");
}
