//! The writes of replicas, `caBundle`, managed entries and status, are no difference for a tool that applies the same objects again.

use std::time::{Duration, Instant};

use kube::Client;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use vestibule_testenv::until;

use super::fixture::{Cluster, serve_as};
use super::gitops::{ARGO_CD, FLUX, apply, differences, installation, read, rule};
use super::{NAMESPACE, manifests};
use crate::api;

const MANAGERS: [&str; 3] = [ARGO_CD, FLUX, "vestibule-install"];

/// The longest time for a replica to write.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tools, which have applied `objects`.
struct Tools {
    client: Client,
    objects: Vec<Value>,
}

impl Tools {
    /// One comparison of all objects each second, by each manager. Definitions, which are large and which no replica
    /// writes, are compared by one manager a second.
    async fn compare(&self, rounds: usize) {
        let mut clock = interval(Duration::from_secs(1));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for round in 0..rounds {
            clock.tick().await;
            for object in &self.objects {
                let large = object["kind"] == "CustomResourceDefinition";
                let managers = if large { &MANAGERS[round % 3..][..1] } else { &MANAGERS[..] };
                let seen = differences(&self.client, managers, object).await;
                assert!(seen.is_empty(), "round {round}: {}", seen.join("\n"));
            }
        }
    }

    async fn live(&self, kind: &str) -> Value {
        let object = self.objects.iter().find(|object| object["kind"] == kind).unwrap();
        read(&self.client, object).await.object()
    }

    /// The bundle of the first entry; null before the first write.
    async fn bundle(&self) -> Value {
        self.live("ValidatingWebhookConfiguration").await["webhooks"][0]["clientConfig"]["caBundle"].clone()
    }

    /// The names of the entries that call the injector for pods.
    async fn entries(&self) -> Vec<Value> {
        let webhooks = self.live("MutatingWebhookConfiguration").await["webhooks"].clone();
        webhooks.as_array().into_iter().flatten().map(|entry| entry["name"].clone()).collect()
    }

    /// The sentence in the rule's status about the replicas that have it.
    async fn in_force(&self) -> String {
        let found = self.live("Injection").await;
        let mut conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        let condition = conditions.find(|condition| condition["type"] == "InForce");
        condition.map(|condition| condition["message"].to_string()).unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_sees_a_difference_for_a_minute() {
    let Some(cluster) = Cluster::start().await else { return };
    let service = cluster.service().await;
    let client = cluster.environment.admin().unwrap();
    let mut tools = Tools { client, objects: installation() };
    for object in &tools.objects {
        for manager in MANAGERS {
            apply(&tools.client, manager, object, false).await;
        }
    }
    let definition = "crd/injections.vestibule.dev";
    cluster.run(&format!("kubectl wait --for=condition=Established --timeout=60s {definition}")).exits(0);
    let printed = manifests(NAMESPACE, "").objects();
    let (_first, _) = serve_as("first", &cluster, &service, printed.clone()).await;
    until("a bundle", PATIENCE, async || !tools.bundle().await.is_null()).await.unwrap();
    for manager in MANAGERS {
        apply(&tools.client, manager, &rule("labelled"), false).await;
    }
    tools.objects.push(rule("labelled"));
    until("the rule in force", PATIENCE, async || tools.in_force().await.contains("1 of 1 replicas"))
        .await
        .unwrap();

    // A third of the minute before these writes, one beside them, and one after them.
    let changes = async {
        let (second, _) = serve_as("second", &cluster, &service, printed).await;
        until("both replicas in the status", PATIENCE, async || {
            tools.in_force().await.contains("2 of 2 replicas")
        })
        .await
        .unwrap();
        let before = tools.bundle().await;
        api::ask_for_rotation(&tools.client, NAMESPACE).await;
        until("a rotation", PATIENCE, async || tools.bundle().await != before).await.unwrap();
        let before = tools.entries().await;
        let mut more = rule("required");
        more["spec"]["required"] = json!(true);
        more["spec"]["match"]["namespaceSelector"] = json!({"matchLabels": {"team": "blue"}});
        apply(&tools.client, "kubectl", &more, false).await;
        until("another entry", PATIENCE, async || tools.entries().await != before).await.unwrap();
        second
    };
    let began = Instant::now();
    tools.compare(20).await;
    let (_second, ()) = tokio::join!(changes, tools.compare(20));
    tools.compare(20).await;
    assert!(began.elapsed() >= Duration::from_secs(57), "a round a second");

    // The apply itself changes nothing that a controller would act on, such as a roll-out of the pods.
    for object in &tools.objects {
        let live = read(&tools.client, object).await.object();
        let content = |object: &Value| [&object["spec"], &object["metadata"]["generation"]].map(Value::clone);
        for manager in MANAGERS {
            let applied = apply(&tools.client, manager, object, false).await;
            assert_eq!(content(&applied), content(&live), "{manager}");
        }
    }
}
