//! A webhook that authenticates its callers, and a kube-apiserver that presents credentials by AdmissionConfiguration: a client
//! certificate, and a token of a ServiceAccount. The token stands in for the tokens of KEP-6060, which API servers do not issue
//! yet.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use vestibule::Operation::Create;
use vestibule::server::ClientAuthentication::{Observe, Require};
use vestibule::{App, ClientSettings, Context, FailurePolicy, Reject, TokenSettings, on};
use vestibule_caller::{Caller, Hook, Outcome, Review};
use vestibule_testenv::{Options, start_or_skip};

use crate::cluster::{Cluster, Namespace};
use crate::samples::config_map;
use crate::webhook::{Replica, Webhook};

/// `--service-account-issuer` of the environment.
const ISSUER: &str = "https://testenv.invalid";

async fn mark(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
    object.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    Ok(object)
}

fn app() -> App {
    App::new("guarded").mutate(
        "marks",
        on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(5),
        mark,
    )
}

/// Starts one replica that accepts `clients`, and registers it for the namespace.
async fn serve(cluster: &Cluster, webhook: &mut Webhook, clients: ClientSettings) -> Replica {
    let replica = webhook.replica_for(app(), clients, cluster.client()).await;
    webhook.wait_for_replicas(1).await;
    let registration = webhook.registration(&app());
    webhook.register(cluster, &registration, |_| {}).await;
    replica
}

async fn assert_marked(namespace: &Namespace, name: &str) {
    let made = namespace.create(&config_map(name)).await.object();
    assert_eq!(made["metadata"]["labels"]["seen"], "true", "{made}");
}

/// Calls without credentials are refused.
async fn assert_unauthenticated_calls_are_refused(webhook: &Webhook, replica: &Replica) {
    let caller = Caller::new(replica.address(), &webhook.host(), webhook.ca_bundle().as_bytes()).unwrap();
    let review = Review::create(config_map("strange")).namespace("default").build().unwrap();
    let hook = Hook::mutating("marks.guarded.vestibule.dev", "/mutate/marks").timeout(Duration::from_secs(5));
    let answer = caller.call(&review, &hook).await.unwrap();
    assert_eq!(answer.status, 401);
    let judged = vestibule_caller::judge(&review, &hook, &answer);
    assert!(matches!(judged, Outcome::Failed(_)), "the failure policy decides");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authenticated_api_server_is_accepted_and_other_clients_are_refused() {
    let Some(environment) = start_or_skip(&Options::default().shows_credentials()).await else { return };
    let cluster = Cluster::of(environment).await;
    by_certificate(&cluster).await;
    by_token(&cluster).await;
}

async fn by_certificate(cluster: &Cluster) {
    let mut clients = ClientSettings::new(Require);
    clients.authorities = Some(cluster.environment.client_authority());
    clients.names = vec![cluster.environment.client_name().to_owned()];
    let namespace = cluster.namespace(&[]).await;
    let mut webhook = cluster.webhook().await;
    let replica = serve(cluster, &mut webhook, clients.clone()).await;
    assert_marked(&namespace, "by-certificate").await;
    assert_unauthenticated_calls_are_refused(&webhook, &replica).await;
    assert!(
        replica
            .metrics()
            .await
            .contains("vestibule_client_identity_total{kind=\"certificate\",reason=\"\"} ")
    );
    webhook.drain(replica).await;

    // With another required name, the API server's certificate is refused.
    clients.names = vec!["somebody-else".to_owned()];
    let replica = webhook.replica_for(app(), clients.clone(), cluster.client()).await;
    webhook.wait_for_replicas(1).await;
    let message = namespace.create(&config_map("refused")).await.refusal(500);
    // The message of a 401 for the user.
    assert_eq!(
        message,
        "Internal error occurred: failed calling webhook \"marks.guarded.vestibule.dev\": failed to call webhook: the server \
         has asked for the client to provide credentials"
    );
    webhook.drain(replica).await;

    // In observe mode the call is served.
    clients.authentication = Observe;
    let replica = webhook.replica_for(app(), clients, cluster.client()).await;
    webhook.wait_for_replicas(1).await;
    assert_marked(&namespace, "observed").await;
    let metrics = replica.metrics().await;
    assert!(
        metrics.contains("vestibule_client_identity_total{kind=\"invalid\",reason=\"name\"} 1"),
        "{metrics}"
    );
    webhook.drain(replica).await;
}

async fn by_token(cluster: &Cluster) {
    let (namespace, mut webhook) = (cluster.namespace(&[]).await, cluster.webhook_behind("tokens").await);
    let (audience, account) = (webhook.url(), "api-server");
    let token = cluster.environment.token(cluster.home.name(), account, &audience).await.unwrap();
    cluster.environment.show_token(&token).unwrap();
    let mut clients = ClientSettings::new(Require);
    clients.names = vec![format!("system:serviceaccount:{}:{account}", cluster.home.name())];
    clients.tokens = Some(TokenSettings::new(ISSUER, vec![audience]));
    // The keys are read by a user with only the rights of every authenticated user.
    let asks: Client = cluster.environment.service_account(cluster.home.name(), "webhook").await.unwrap();
    let replica = webhook.replica_for(app(), clients, asks).await;
    webhook.wait_for_replicas(1).await;
    let registration = webhook.registration(&app());
    webhook.register(cluster, &registration, |_| {}).await;
    assert_marked(&namespace, "by-token").await;
    assert_unauthenticated_calls_are_refused(&webhook, &replica).await;
    assert!(replica.metrics().await.contains("vestibule_client_identity_total{kind=\"token\",reason=\"\"} "));
    webhook.drain(replica).await;
}
