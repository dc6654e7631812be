//! Lookups of handlers on a real API server, with only the rights that the app's manifests grant.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::PartialObjectMeta;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;
use vestibule::Operation::Create;
use vestibule::identity::Source;
use vestibule::{App, Context, FailurePolicy, LookupError, Reject, Target, Watch, on};

use crate::cluster::Cluster;
use crate::samples::config_map;
use vestibule_manifests::Installation;

/// Longer than any wait takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Two hooks: `look` writes the results of lookups into the object's data, `free` looks up nothing. `refused` is notified when
/// `look` cannot answer yet.
fn app(refused: Arc<Notify>) -> App {
    let look = move |mut object: ConfigMap, context: Context| {
        let refused = Arc::clone(&refused);
        async move {
            let found = look(&object, &context).await;
            if let Err(LookupError::NotSynced { .. }) = found {
                refused.notify_one();
            }
            object.data.get_or_insert_default().extend(found?);
            Ok::<_, Reject>(object)
        }
    };
    let secrets = Watch::<Secret>::new()
        .labels("kept=yes")
        .slim(|secret| secret.data = None)
        .index("by-type", |secret| secret.type_.clone().into_iter().collect());
    App::new("lookups")
        .mutate(
            "look",
            on::<ConfigMap>([Create]).objects("look").timeout_seconds(30).failure_policy(FailurePolicy::Fail),
            look,
        )
        .mutate(
            "free",
            on::<ConfigMap>([Create]).objects("!look").failure_policy(FailurePolicy::Fail),
            async |object: ConfigMap, _: Context| Ok::<_, Reject>(object),
        )
        .watch(secrets)
        .watch(Watch::<PartialObjectMeta<Namespace>>::new().streaming_lists(true))
}

async fn look(object: &ConfigMap, context: &Context) -> Result<[(String, String); 4], LookupError> {
    let secrets = context.lookup::<Secret>();
    let namespace = context.lookup::<PartialObjectMeta<Namespace>>();
    let namespace = namespace.get(context.namespace().unwrap_or_default()).await?;
    let names = |found: Vec<Arc<Secret>>| {
        let slim =
            found.iter().all(|secret| secret.data.is_none() && secret.metadata.managed_fields.is_none());
        let names = found.iter().filter_map(|secret| secret.metadata.name.clone());
        format!("{} {slim}", names.collect::<Vec<_>>().join(","))
    };
    let wanted = object.metadata.labels.as_ref().and_then(|labels| labels.get("look"));
    let wanted = secrets.get(wanted.map_or("", String::as_str)).await?;
    let labels = namespace.as_ref().and_then(|namespace| namespace.metadata.labels.clone());
    let facts = [
        ("wanted", wanted.map_or_else(String::new, |secret| secret.metadata.uid.clone().unwrap_or_default())),
        ("listed", names(secrets.list()?)),
        ("indexed", names(secrets.by_index("by-type", "example.com/token")?)),
        ("team", labels.unwrap_or_default().remove("team").unwrap_or_default()),
    ];
    Ok(facts.map(|(key, value)| (key.to_owned(), value)))
}

fn secret(name: &str, kept: &str, of_type: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "labels": { "kept": kept } },
        "type": of_type, "stringData": { "key": "value" },
    })
}

fn looking_for(secret: &str) -> Value {
    let mut object = config_map(&format!("for-{secret}"));
    object["metadata"]["labels"] = json!({ "look": secret });
    object
}

#[tokio::test]
async fn lookups_find_objects_as_soon_as_rights_are_granted() {
    let Some(cluster) = Cluster::shared().await else { return };
    let refused = Arc::new(Notify::new());
    let app = app(Arc::clone(&refused));
    let mut webhook = cluster.webhook().await;
    let name = format!("{}-lookups", cluster.home.name());
    let client = cluster.environment.service_account(cluster.home.name(), &name).await.unwrap();
    let namespace = cluster.namespace(&[("team", "blue")]).await;
    let elsewhere = cluster.namespace(&[]).await;
    for (name, kept, of_type) in
        [("a", "yes", "example.com/token"), ("b", "yes", "Opaque"), ("c", "no", "example.com/token")]
    {
        namespace.create(&secret(name, kept, of_type)).await.object();
    }
    elsewhere.create(&secret("z", "yes", "example.com/token")).await.object();
    // The backoff grows while rights are missing, so the following steps must be quick.
    let replica = webhook.replica_beside(app.clone(), client).await;
    webhook.register(&cluster, &webhook.registration(&app), |_| {}).await;

    // Without any right: the hook without lookups is served, and readiness names the missing right.
    namespace.create(&config_map("free")).await.object();
    let right = r#"cannot list resource "secrets" in API group "" at the cluster scope"#;
    let told = async {
        while !replica.readiness().await.contains(right) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, told).await.unwrap();

    // The rights are granted while the API server calls and retries.
    let object = looking_for("a");
    let (first, ()) = tokio::join!(namespace.create(&object), async {
        refused.notified().await;
        let mut installation =
            Installation::of(&app, Target::service(&format!("{}/webhook", cluster.home.name())).unwrap());
        (installation.name, installation.identity) = (name.clone(), Source::Mounted(PathBuf::new()));
        let mut rights = installation.manifests(&app).unwrap();
        rights.retain(|object| object["apiVersion"] == "rbac.authorization.k8s.io/v1");
        drop(cluster.environment.install(rights).await.unwrap());
    });
    let found = first.object()["data"].clone();
    assert_eq!(found["listed"], "a,b true");
    assert_eq!(found["indexed"], "a true");
    assert_eq!(found["team"], "blue");
    let uid = |created: &Value| created["metadata"]["uid"].clone();
    assert_eq!(found["wanted"], uid(&namespace.read(&secret("a", "", "")).await.object()));
    let ready = async {
        while replica.readiness().await != "ok" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, ready).await.unwrap();

    // An object outside of the watch, a new one that the watch may not have yet, and a missing one.
    for (name, kept) in [("late", "no"), ("new-1", "yes"), ("new-2", "yes"), ("new-3", "yes")] {
        let created = namespace.create(&secret(name, kept, "Opaque")).await.object();
        let found = namespace.create(&looking_for(name)).await.object()["data"].clone();
        assert_eq!(found["wanted"], uid(&created), "{name}");
    }
    let found = namespace.create(&looking_for("z")).await.object()["data"].clone();
    assert_eq!(found["wanted"], "", "it is in another namespace");

    // Deleted objects are removed from memory too.
    namespace.delete(&secret("b", "", "")).await.object();
    let gone = async {
        let mut object = looking_for("none");
        object["metadata"].as_object_mut().unwrap().remove("name");
        object["metadata"]["generateName"] = json!("for-none-");
        while namespace.create(&object).await.object()["data"]["listed"] != "a,new-1,new-2,new-3 true" {}
    };
    timeout(TIMEOUT, gone).await.unwrap();
}
