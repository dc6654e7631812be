//! Which connection a call is made on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use vestibule_caller::Pool;

use super::server::{ok, served};
use super::{allowed, mutating, review};

#[tokio::test]
async fn at_most_25_connections_wait_however_many_were_in_use() {
    let (server, caller) = served(vec![ok()]).await;
    let caller = Arc::new(caller);
    // As kube-apiserver in a burst of 60: 60 handshakes, and 35 for the next one.
    for opened in [60, 95] {
        server.hold(true);
        let mut calls = JoinSet::new();
        for _ in 0..60 {
            let caller = Arc::clone(&caller);
            calls.spawn(async move { caller.call(&review(), &mutating()).await.is_ok() });
        }
        server.until(|state| state.waiting == 60).await;
        assert_eq!(caller.idle(), 0);
        server.hold(false);
        assert!(calls.join_all().await.into_iter().all(|answered| answered));
        assert_eq!((caller.idle(), caller.opened()), (25, opened));
        server.until(|state| state.open == 25).await;
    }
}

#[tokio::test]
async fn a_connection_that_waited_for_long_enough_is_closed_without_another_call() {
    let (server, caller) = served(vec![ok()]).await;
    let caller = caller.pool(Pool { idle_time: Duration::from_millis(50), ..Pool::default() });
    for opened in 1..=2 {
        caller.call(&review(), &mutating()).await.unwrap();
        server.until(|state| state.open == 0).await;
        assert_eq!((caller.idle(), caller.opened()), (0, opened));
    }
}

#[tokio::test]
async fn a_redirect_is_followed_as_go_follows_it() {
    let there = |status| Some((status, vec![("location", "/there?timeout=10s")], String::new()));
    let (server, caller) = served(vec![there(307), ok(), there(302), ok()]).await;
    for method in ["POST", "GET"] {
        caller.call(&review(), &mutating()).await.unwrap();
        let last = server.seen().pop().unwrap();
        assert_eq!((last.method.as_str(), last.target.as_str()), (method, "/there?timeout=10s"));
        assert_eq!(last.body.is_empty(), method == "GET");
    }

    let (server, caller) = served(vec![there(307)]).await;
    let answer = caller.call(&review(), &mutating()).await.unwrap();
    assert_eq!((answer.status, server.seen().len()), (307, 10));
    let elsewhere = (302, vec![("location", "https://other.shop.svc/")], allowed(json!({})).to_string());
    let (server, caller) = served(vec![Some(elsewhere)]).await;
    let answer = caller.call(&review(), &mutating()).await.unwrap();
    assert_eq!((answer.status, server.seen().len()), (302, 1));
}
