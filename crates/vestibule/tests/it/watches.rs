//! Lookups of a served app in a fake cluster.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod};
use kube::api::PartialObjectMeta;
use serde_json::{Value, json};
use tokio::sync::Notify;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Lookup, LookupError, Reject, Watch, on};
use vestibule_caller::{Hook, Outcome};

use crate::fake_cluster::{FakeCluster, status};
use crate::served::{Served, review, until};

const CLAIMS: &str = "/api/v1/namespaces/shop/persistentvolumeclaims";
type Claims = PersistentVolumeClaim;

fn path(name: &str) -> String {
    format!("{CLAIMS}/{name}")
}

fn claim(node: &str) -> Value {
    json!({"metadata": {"labels": {"node": node}}, "spec": {"volumeName": "s3cret"}})
}

fn app<F>(handler: impl Fn(Pod, Context) -> F + Send + Sync + 'static) -> App
where
    F: Future<Output = Result<Pod, Reject>> + Send + 'static,
{
    App::new("demo").mutate("look", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), handler)
}

/// Runs `body` in a handler; a fault fails the test.
async fn within<F>(
    cluster: &FakeCluster,
    app: impl FnOnce(App) -> App,
    body: impl Fn(Context) -> F + Send + Sync + 'static,
) where
    F: Future<Output = Result<(), Reject>> + Send + 'static,
{
    let handler = move |pod: Pod, context: Context| {
        let body = body(context);
        async move { body.await.map(|()| pod) }
    };
    let served = Served::beside(app(self::app(handler)), cluster.client()).await;
    let outcome = served.outcome(&review(), &look()).await;
    if let Outcome::Failed(failed) = &outcome {
        panic!("{}", failed.message);
    }
    assert!(matches!(outcome, Outcome::Allowed(_)));
    served.stop().await;
}

fn look() -> Hook {
    Hook::mutating("look", "/mutate/look").timeout(Duration::from_secs(30))
}

fn claims(context: &Context) -> Lookup<Claims> {
    context.lookup()
}

fn names(found: &[Arc<Claims>]) -> Vec<&str> {
    found.iter().map(|claim| claim.metadata.name.as_deref().unwrap()).collect()
}

#[tokio::test]
async fn before_the_first_list_only_calls_that_look_up_are_answered_503() {
    let cluster = FakeCluster::new();
    cluster.put(&path("data"), claim("one"));
    let refused = Arc::new(Notify::new());
    let told = Arc::clone(&refused);
    let look_up = move |pod: Pod, context: Context| {
        let told = Arc::clone(&told);
        async move {
            let found = claims(&context).get("data").await;
            if matches!(found, Err(LookupError::NotSynced { .. })) {
                told.notify_one();
            }
            assert!(found?.is_some());
            Ok(pod)
        }
    };
    let app = app(look_up).watch(Watch::<Claims>::new()).mutate(
        "free",
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
        async |pod: Pod, _: Context| Ok::<_, Reject>(pod),
    );
    let served = Served::beside(app, cluster.client()).await;
    let (status, body) = served.probe("/readyz").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(body, "not ready: the first list of PersistentVolumeClaim");
    let (_, metrics) = served.probe("/metrics").await;
    assert!(metrics.contains(r#"vestibule_store_ready{kind="PersistentVolumeClaim"} 0"#), "{metrics}");

    let free = Hook::mutating("free", "/mutate/free");
    assert!(matches!(served.outcome(&review(), &free).await, Outcome::Allowed(_)));
    let (review, look) = (review(), look());
    let (outcome, ()) = tokio::join!(served.outcome(&review, &look), async {
        refused.notified().await;
        cluster.answer_lists();
    });
    assert!(matches!(outcome, Outcome::Allowed(_)), "in the same call");
    assert_eq!(served.probe("/readyz").await.0, "HTTP/1.1 200 OK");
    let (_, metrics) = served.probe("/metrics").await;
    for line in ["vestibule_store_ready", "vestibule_store_objects"] {
        assert!(metrics.contains(&format!(r#"{line}{{kind="PersistentVolumeClaim"}} 1"#)), "{metrics}");
    }
    assert!(
        metrics.contains(r#"vestibule_watch_broken_seconds{kind="PersistentVolumeClaim"} 0"#),
        "{metrics}"
    );
    assert!(cluster.asked(&path("data")).is_empty(), "it was in memory");

    assert!(cluster.is_watched());
    served.stop().await;
    cluster.until_no_watch_is_open().await;
}

#[tokio::test]
async fn calls_that_miss_the_same_object_share_one_get() {
    let cluster = FakeCluster::new();
    cluster.answer_lists();
    let body = {
        let cluster = cluster.clone();
        move |context: Context| {
            let cluster = cluster.clone();
            async move {
                synced(&context).await;
                cluster.put(&path("new"), claim("one"));
                // These calls start before the GET is sent, so they may share a negative answer.
                for (name, there, times) in [("new", true, 200), ("none", false, 20)] {
                    let lookups: Vec<_> = (0..times).map(|_| claims(&context)).collect();
                    let asked = join_all(lookups.iter().map(|claims| claims.get(name)));
                    let (found, ()) = tokio::join!(asked, async {
                        cluster.until_asked(&path(name), 1).await;
                        cluster.answer_gets();
                    });
                    for found in found {
                        assert_eq!(found?.is_some(), there);
                    }
                    assert_eq!(cluster.asked(&path(name)).len(), 1, "{name}");
                }
                assert!(claims(&context).get("none").await?.is_none());
                assert_eq!(cluster.asked(&path("none")).len(), 2, "that there is none is not kept");
                assert!(claims(&context).cached("new")?.is_none(), "nor does an answer count as seen");
                Ok(())
            }
        }
    };
    within(&cluster, |app| app.watch(Watch::<Claims>::new()), body).await;
}

#[tokio::test]
async fn a_negative_answer_to_an_older_get_is_not_used() {
    let cluster = FakeCluster::new();
    let body = {
        let cluster = cluster.clone();
        move |context: Context| {
            let cluster = cluster.clone();
            async move {
                let claims = claims(&context);
                let (path, mut early) = (path("new"), std::pin::pin!(claims.get("new")));
                // The GET has arrived; its answer will be negative.
                tokio::select! {
                    _ = &mut early => panic!("answered"),
                    () = cluster.until_asked(&path, 1) => {}
                }
                cluster.put(&path, claim("one"));
                let late = async {
                    let (get, fresh) = (claims.get("new"), claims.fresh("new"));
                    let (get, fresh) = tokio::join!(get, fresh);
                    Ok::<_, LookupError>((get?, fresh?))
                };
                let (early, late, ()) = tokio::join!(early, late, async {
                    tokio::task::yield_now().await;
                    cluster.answer_gets();
                });
                assert!(early?.is_none());
                let (get, fresh) = late?;
                assert!(get.is_some() && fresh.is_some());
                assert_eq!(cluster.asked(&path).len(), 2);
                Ok(())
            }
        }
    };
    within(&cluster, App::read::<Claims>, body).await;
}

#[tokio::test]
async fn a_get_ends_before_the_deadline_of_the_call_and_is_cancelled() {
    let cluster = FakeCluster::new();
    let look_up = async |_: Pod, context: Context| {
        let error = claims(&context).get("slow").await.err().unwrap();
        assert!(matches!(error, LookupError::Late { .. }), "{error}");
        assert!(context.remaining() > Duration::from_millis(100));
        Err::<Pod, Reject>(error.into())
    };
    let served = Served::beside(app(look_up).read::<Claims>(), cluster.client()).await;
    for questions in 1..3 {
        let hook = look().timeout(Duration::from_secs(3));
        let Outcome::Failed(failed) = served.outcome(&review(), &hook).await else { panic!("an answer") };
        let words = "PersistentVolumeClaim shop/slow could not be read within";
        assert!(failed.message.contains(words) && failed.ignorable, "{}", failed.message);
        assert_eq!(cluster.asked(&path("slow")).len(), questions, "no caller waits for an old one");
    }
    served.stop().await;
}

#[tokio::test]
async fn the_store_follows_the_watch() {
    let cluster = FakeCluster::open();
    cluster.put(&path("a"), claim("one"));
    cluster.put(&path("b"), claim("two"));
    let body = {
        let cluster = cluster.clone();
        move |context: Context| {
            let cluster = cluster.clone();
            async move {
                synced(&context).await;
                let on_node = |node: &str| claims(&context).by_index("by-node", node);
                assert_eq!(names(&on_node("one")?), ["a"]);
                cluster.until_asked("watch=true", 1).await;
                while !cluster.is_watched() {
                    tokio::task::yield_now().await;
                }
                cluster.put(&path("a"), claim("two"));
                cluster.put(&path("c"), claim("two"));
                for (what, name) in [("MODIFIED", "a"), ("ADDED", "c"), ("DELETED", "b")] {
                    cluster.tell(what, &path(name));
                }
                until(|| names(&claims(&context).list().unwrap()) == ["a", "c"]).await;
                assert_eq!(names(&on_node("two")?), ["a", "c"]);
                assert!(on_node("one")?.is_empty());
                assert!(claims(&context).get("a").await?.unwrap().spec.is_none(), "slim");
                cluster.delete(&path("a"));
                cluster.put(&path("d"), claim("one"));
                cluster.forget();
                until(|| names(&claims(&context).list().unwrap()) == ["b", "c", "d"]).await;
                assert_eq!(names(&on_node("one")?), ["d"]);
                Ok(())
            }
        }
    };
    let watch = Watch::<Claims>::new().slim(|claim| claim.spec = None).index("by-node", |claim| {
        claim.metadata.labels.iter().flatten().map(|(_, node)| node.clone()).collect()
    });
    within(&cluster, |app| app.watch(watch), body).await;
}

#[tokio::test]
async fn a_watch_of_metadata_in_one_namespace_requests_only_that() {
    let cluster = FakeCluster::open();
    cluster.put("/api/v1/namespaces/shop", json!({"metadata": {"labels": {"team": "blue"}}}));
    let body = async |context: Context| {
        synced(&context).await;
        let namespace = context.lookup::<PartialObjectMeta<Namespace>>().fresh("shop").await?.unwrap();
        assert_eq!(namespace.metadata.labels.as_ref().unwrap()["team"], "blue");
        Ok(())
    };
    let watch = Watch::<Claims>::new().namespace("shop").labels("a=b").fields("c=d").streaming_lists(true);
    within(&cluster, |app| app.watch(watch).watch(Watch::<PartialObjectMeta<Namespace>>::new()), body).await;
    cluster.until_asked("/api/v1/namespaces?", 1).await;
    let metadata = "application/json;as=PartialObjectMetadata";
    for asked in
        cluster.asked("GET /api/v1/namespaces?").iter().chain(&cluster.asked("GET /api/v1/namespaces/shop "))
    {
        assert!(asked.contains(metadata), "{asked}");
    }
    // This API server does not stream lists: a plain list is read.
    let [streamed, list, ..] = &*cluster.asked(CLAIMS) else { panic!("not listed") };
    assert!(streamed.contains("sendInitialEvents=true"), "{streamed}");
    assert!(list.contains("labelSelector=a%3Db") && list.contains("fieldSelector=c%3Dd"), "{list}");
}

#[tokio::test]
async fn a_watch_that_is_forbidden_names_the_missing_right() {
    let cluster = FakeCluster::open();
    let words = "persistentvolumeclaims is forbidden: User hook cannot list resource persistentvolumeclaims";
    cluster.refuse(Some(status(403, "Forbidden", words)));
    let look_up = async |_: Pod, context: Context| -> Result<Pod, Reject> {
        until(|| claims(&context).cached("a").err().unwrap().to_string().contains("cannot list")).await;
        Err(Reject::fault(claims(&context).get("a").await.err().unwrap()))
    };
    let served = Served::beside(app(look_up).watch(Watch::<Claims>::new()), cluster.client()).await;
    let Outcome::Failed(failed) = served.outcome(&review(), &look()).await else { panic!("an answer") };
    assert!(failed.message.contains(words), "{}", failed.message);
    let (_, body) = served.probe("/readyz").await;
    assert_eq!(body, format!("not ready: the first list of PersistentVolumeClaim ({words})"));
    served.stop().await;
}

#[tokio::test]
async fn an_object_that_does_not_fit_is_left_out_and_its_values_are_not_logged() {
    let cluster = FakeCluster::open();
    cluster.put(&path("a"), claim("one"));
    cluster.put(&path("odd"), json!({"metadata": {}, "spec": {"volumeName": ["s3cret"]}}));
    let body = async |context: Context| {
        synced(&context).await;
        assert_eq!(names(&claims(&context).list()?), ["a"]);
        let error = claims(&context).get("odd").await.err().unwrap();
        assert!(matches!(error, LookupError::Api { code: None, .. }), "{error}");
        assert!(error.to_string().contains("does not fit the type") && !error.to_string().contains("s3cret"));
        Ok(())
    };
    within(&cluster, |app| app.watch(Watch::<Claims>::new()), body).await;
}

#[tokio::test]
async fn names_that_no_object_can_have_are_not_requested() {
    let cluster = FakeCluster::open();
    let body = async |context: Context| {
        for name in ["", ".", "..", "../secrets/s3cret", "a/b", "a%2fb"] {
            assert!(claims(&context).get(name).await?.is_none(), "{name}");
        }
        assert!(claims(&context).within("../x").get("a").await?.is_none());
        assert!(claims(&context).get("a?b #").await?.is_none());
        Ok(())
    };
    within(&cluster, App::read::<Claims>, body).await;
    assert_eq!(cluster.asked("").len(), 1);
    assert!(cluster.asked("").concat().contains(&path("a%3Fb%20%23")));
}

#[tokio::test]
async fn the_store_is_unusable_after_its_watch_has_ended() {
    let cluster = FakeCluster::open();
    cluster.put(&path("a"), claim("one"));
    let app = app(async |pod: Pod, _: Context| Ok::<_, Reject>(pod));
    let app = app.watch(Watch::<Claims>::new().slim(|_| panic!("s3cret")));
    let served = Served::beside(app, cluster.client()).await;
    let ended = async { while !served.probe("/readyz").await.1.contains("(its watch has ended)") {} };
    tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
    served.stop().await;
}

async fn synced(context: &Context) {
    until(|| !matches!(claims(context).cached("a"), Err(LookupError::NotSynced { .. }))).await;
}
