//! The API server accepts and stores injected pods: checked with generated pods and rules.

#[path = "../../../../crates/rules/tests/it/laws/distinct_ports.rs"]
mod distinct_ports;
#[path = "../../../../crates/rules/tests/it/laws/removable.rs"]
mod removable;
#[path = "../../../../crates/rules/tests/it/laws/requests.rs"]
mod requests;
#[path = "../../../../crates/rules/tests/it/laws/generated.rs"]
mod strategies;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use vestibule_injector::compile;

use crate::cluster::Cluster;
use requests::Request;

/// The object after these rules; `None` if they change nothing or deny it.
fn injected(request: &Request, pod: &Value, specs: &[String]) -> Option<Value> {
    let head = |name: usize| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: rule-{name}}}\nspec:\n  match: \
             {{objectSelector: {{matchLabels: {{app: web}}}}}}\n"
        )
    };
    let body = |spec: &String| spec.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let documents: Vec<String> =
        specs.iter().enumerate().map(|(name, spec)| head(name) + &body(spec)).collect();
    let rules = compile([("rules.yaml", &*documents.join("---\n"))]).unwrap_or_else(|all| panic!("{all:?}"));
    let object = pod.to_string();
    let decision = rules.evaluate(&request.creation(&object)).unwrap();
    let mut document = vestibule_patch::Document::parse(&object).unwrap();
    document.apply_all(decision.patch()).unwrap();
    (!decision.changes().is_empty()).then(|| serde_json::from_str(&document.to_json()).unwrap())
}

/// The pod without a name: the API server generates one, so that many pods can exist at once.
fn unnamed(mut pod: Value) -> Value {
    let metadata = pod["metadata"].as_object_mut().unwrap();
    metadata.remove("name").unwrap();
    metadata.insert("generateName".to_owned(), "web-".into());
    pod
}

#[tokio::test]
async fn the_api_server_accepts_two_hundred_injected_generated_pods() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let mut runner = TestRunner::deterministic();
    let (mut taken, mut refused) = (0, 0);
    while taken < 200 {
        let request = strategies::requests().new_tree(&mut runner).unwrap().current();
        let pod = unnamed(request.pod.clone());
        let specs = strategies::specs().new_tree(&mut runner).unwrap().current();
        let Some(result) = injected(&request, &pod, &specs) else { continue };
        let reply = namespace.create(&result).await;
        if reply.status < 300 {
            let made = reply.object();
            assert_eq!(namespace.read(&made).await.object(), made, "it is there");
            taken += 1;
            continue;
        }
        // The API server refuses some generated pods even without rules.
        let before = namespace.create_dry_run(&pod).await;
        assert!(before.status >= 300, "{}\n{pod}\n{specs:#?}\n{result}", reply.json()["message"]);
        refused += 1;
        assert!(refused < 200, "the generator makes no pods: {}", before.json()["message"]);
    }
}
