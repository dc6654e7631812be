use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use http::{Request, Response};
use k8s_openapi::api::core::v1::Pod;
use kube::client::Body;
use tokio::runtime::Builder;

use super::*;
use crate::lookup::watch::drop_managed_fields;

/// Reads pods from an API server that does not answer the first `lost` requests.
fn pods(lost: usize) -> Arc<Live<Pod>> {
    let asked = AtomicUsize::new(0);
    let answer = tower::service_fn(move |_: Request<Body>| {
        let is_lost = asked.fetch_add(1, Ordering::Relaxed) < lost;
        async move {
            if is_lost {
                std::future::pending::<()>().await;
            }
            let pod = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web"}}"#;
            Ok::<_, Infallible>(Response::new(Body::from(pod.to_vec())))
        }
    });
    live(Client::new(answer, "default"))
}

fn live(client: Client) -> Arc<Live<Pod>> {
    Arc::new(Live {
        client,
        kind: Kind::of::<Pod>(),
        slim: Arc::new(drop_managed_fields),
        pending: Mutex::default(),
        gets: Semaphore::new(MAX_GETS),
    })
}

/// Regression: an API server that has the group and version, but not the kind, seemed to have no such object.
#[tokio::test]
async fn a_kind_that_the_api_server_does_not_serve_is_an_error_and_no_missing_object() {
    let get = async |message: &'static str, details: &'static str| {
        let answer = tower::service_fn(move |_: Request<Body>| async move {
            let status = format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}",
                "reason":"NotFound","details":{details},"code":404}}"#
            );
            let response = Response::builder().status(404).body(Body::from(status.into_bytes()));
            Ok::<_, Infallible>(response.unwrap())
        });
        live(Client::new(answer, "default")).get("shop", "web", Joins::Found).await
    };
    let missing = get("pods \\\"web\\\" not found", r#"{"name":"web","kind":"pods"}"#).await;
    assert_eq!(missing, Ok(None));
    let why = "the server could not find the requested resource";
    assert_eq!(get(why, "{}").await, Err(Failure { code: Some(404), why: why.to_owned() }));
}

#[tokio::test(start_paused = true)]
async fn a_get_without_an_answer_does_not_block_later_calls() {
    let live = pods(1);
    let request = |second| {
        let live = Arc::clone(&live);
        async move {
            tokio::time::sleep(Duration::from_secs(second)).await;
            timeout(Duration::from_secs(4), live.get("shop", "web", Joins::Found)).await
        }
    };
    // At every moment a call waits.
    let answers = futures_util::future::join_all((0..60).map(request)).await;
    let lost = answers.iter().filter(|answer| answer.is_err()).count();
    assert!((1..15).contains(&lost), "{lost}");
    assert!(answers.last().unwrap().as_ref().unwrap().as_ref().unwrap().is_some());
    assert!(live.pending.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn gets_beyond_the_most_at_a_time_wait() {
    let answer = tower::service_fn(|_: Request<Body>| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, Infallible>(Response::new(Body::from(b"{}".to_vec())))
    });
    let live = live(Client::new(answer, "default"));
    let names: Vec<_> = (0..3 * MAX_GETS).map(|name| name.to_string()).collect();
    let began = tokio::time::Instant::now();
    futures_util::future::join_all(names.iter().map(|name| live.get("shop", name, Joins::Found))).await;
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[test]
fn a_call_is_answered_while_the_runtime_shuts_down() {
    let (told, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        let _entered = handle.enter();
        let live = pods(0);
        drop(runtime);
        told.send(live.get("shop", "web", Joins::Found).now_or_never().map(|answer| answer.map(drop)))
    });
    let answer = answer.recv_timeout(Duration::from_secs(20)).expect("it hangs");
    assert_eq!(answer, Some(Err(Failure::cancelled())));
}
