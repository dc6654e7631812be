//! Custom resources that nest deeper than any type decodes.

use http::{Method, Request as HttpRequest};
use kube::client::Body;
use serde_json::json;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Change, Context, FailurePolicy, Reject, Rule, on_rules};
use vestibule_admission::Decision;

use crate::cluster::{Cluster, Reply};
use crate::widget::Widget;

/// kube-apiserver accepts 10,000 levels if a definition preserves unknown fields, and repeats them in `managedFields`.
#[tokio::test]
async fn an_undeclared_object_of_600_levels_is_changed_and_validated() {
    async fn grow(mut widget: Widget, _: Context) -> Result<Widget, Reject> {
        widget.spec.size = 7;
        Ok(widget)
    }
    async fn look(_: Change<Widget>, _: Context) -> Result<(), Reject> {
        Ok(())
    }
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let widgets = || {
        on_rules([Rule::new("cluster.test/v1", "widgets", [Create, Update])])
            .failure_policy(FailurePolicy::Fail)
    };
    let app = App::new("deep").mutate("grow", widgets(), grow).validate("look", widgets(), look);
    let webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let levels = 600;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let object = json!({
        "apiVersion": "cluster.test/v1",
        "kind": "Widget",
        "metadata": { "name": "deep" },
        "spec": { "size": 1, "deep": "DEEP" },
    });
    let send = async |method: Method, name: &str, media_type: &str, body: String| {
        let uri = format!("/apis/cluster.test/v1/namespaces/{}/widgets{name}", namespace.name());
        let request = HttpRequest::builder().method(method).uri(uri).header("content-type", media_type);
        let body = Body::from(body.into_bytes());
        Reply::read(cluster.client().send(request.body(body).unwrap()).await.unwrap()).await
    };
    let body = object.to_string().replace(r#""DEEP""#, &deep);
    let created = send(Method::POST, "", "application/json", body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert!(created.text.contains(r#""size":7"#) && created.text.contains(&deep), "{}", created.text);
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1), Decision::Allowed]);

    let patch = json!({ "spec": { "size": 1 } }).to_string();
    let updated = send(Method::PATCH, "/deep", "application/merge-patch+json", patch).await;
    assert_eq!(updated.status, 200, "{}", updated.text);
    assert!(updated.text.contains(r#""size":7"#) && updated.text.contains(&deep), "{}", updated.text);
}
