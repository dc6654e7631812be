//! Background work.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use tokio::sync::{mpsc, oneshot};
use vestibule::Operation::Create;
use vestibule::identity::Local;
use vestibule::{App, Context, FailurePolicy, Reject, ServeError, Watch, on};

use crate::fake_cluster::FakeCluster;
use crate::served::{NAME, Served, options};

fn app() -> App {
    async fn unchanged(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }
    App::new("demo").mutate("unchanged", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), unchanged)
}

#[tokio::test]
async fn work_begins_when_the_app_is_ready_and_is_dropped_with_it() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let work = move |_: kube::Client| {
        let (held, dropped) = oneshot::channel::<()>();
        began.send(dropped).unwrap();
        async move {
            let _held = held;
            std::future::pending::<()>().await;
        }
    };
    let cluster = FakeCluster::new();
    let served =
        Served::beside(app().watch(Watch::<Namespace>::new()).background(work), cluster.client()).await;
    // The first list is due.
    let (status, why) = served.probe("/readyz").await;
    assert!(status.contains("503") && why.contains("first list of Namespace"), "{status} {why}");
    assert!(begins.is_empty());

    cluster.answer_lists();
    let dropped = begins.recv().await.unwrap();
    assert!(served.probe("/readyz").await.0.contains("200"));
    served.stop().await;
    dropped.await.unwrap_err();
    assert!(begins.recv().await.is_none(), "it begins once");
}

/// Regression: the end was only logged, and the replica stayed ready for ever with a dead operator.
#[tokio::test]
async fn work_that_panics_or_ends_ends_the_process_with_an_error() {
    let served = |app: App| Served::beside(app, FakeCluster::open().client());
    let ends = served(app().background(|_| async {})).await.fails().await;
    assert!(matches!(ends, ServeError::WorkEnded), "{ends}");
    let panics = async |_| panic!("on purpose");
    for app in [app().background(panics), app().background_once(panics)] {
        let error = served(app).await.fails().await;
        assert!(matches!(error, ServeError::WorkPanicked), "{error}");
    }
}

#[tokio::test]
async fn background_work_that_may_end_does_not_end_the_webhook() {
    let (ended, mut ends) = mpsc::unbounded_channel::<()>();
    let work = move |_: kube::Client| {
        let _ended = ended.clone();
        async {}
    };
    let served = Served::beside(app().background_once(work), FakeCluster::open().client()).await;
    // The app has dropped its sender, and so has the work, which is over.
    assert!(ends.recv().await.is_none());
    assert!(served.probe("/readyz").await.0.contains("200"));
    served.stop().await;
}

/// An operator that notices the shutdown by itself may end.
#[tokio::test]
async fn work_that_ends_in_a_shutdown_is_no_error() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let work = move |_: kube::Client| {
        let (end, ends) = oneshot::channel::<()>();
        began.send(end).unwrap();
        async { ends.await.unwrap() }
    };
    let served = Served::beside(app().background(work), FakeCluster::open().client()).await;
    let end = begins.recv().await.unwrap();
    served.shutdown.drain();
    end.send(()).unwrap();
    served.stop().await;
}

#[tokio::test]
async fn background_work_without_a_client_is_refused() {
    let identity = Local::in_memory(&[NAME], std::time::SystemTime::now()).unwrap();
    let app = app().background(|_| async {});
    let Err(error) = app.bind(options(Arc::new(identity))).await else { panic!("it is served") };
    assert!(error.to_string().contains("set `Options::client`"), "{error}");
}
