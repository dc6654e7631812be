use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vestibule_testenv::{Environment, Options, Recorder, shared_or_skip, start_or_skip};

use crate::objects::configuration;

#[tokio::test]
async fn a_service_reference_is_called_by_name_over_http_1_1() {
    let Some(env) = shared_or_skip().await else { return };
    assert!(env.service("default", "probe").await.unwrap().address().ip().to_string().starts_with("127."));
    expect_call_by_name(&env).await;
}

#[tokio::test]
async fn a_service_reference_is_called_by_name_with_one_loopback_address() {
    let Some(env) = start_or_skip(&Options::default().external_names()).await else { return };
    assert!(env.url().starts_with("https://127.0.0.1:"));
    expect_call_by_name(&env).await;
}

async fn expect_call_by_name(env: &Environment) {
    let namespace = env.namespace(&[]).await.unwrap();
    let service = env.service(namespace.name(), "webhook").await.unwrap();
    let recorder = Recorder::allowing(&[&service.host()]).unwrap();
    service.add_replica(recorder.address(), None).unwrap();
    let client_config = json!({ "service": service.reference("/hook"), "caBundle": recorder.ca_bundle() });
    let name = format!("{namespace}-by-name");
    let object = configuration("ValidatingWebhookConfiguration", &name, namespace.name(), &client_config);
    let _installed = env.install([object]).await.unwrap();

    let metadata = ObjectMeta { name: Some("any".to_owned()), ..ObjectMeta::default() };
    let object = ConfigMap { metadata, ..ConfigMap::default() };
    let api: Api<ConfigMap> = Api::namespaced(env.admin().unwrap(), namespace.name());
    api.create(&PostParams::default(), &object).await.unwrap();

    let [seen] = &recorder.recorded()[..] else { panic!("one review") };
    assert_eq!(seen.server_name.as_deref(), Some(service.host().as_str()));
    assert_eq!(seen.protocol, "HTTP/1.1");
    assert_eq!(seen.host, format!("{}:{}", service.host(), service.port()));
    assert_eq!(seen.path, "/hook");
}

#[tokio::test]
async fn connections_are_spread_over_the_replicas_that_are_ready() {
    let Some(env) = shared_or_skip().await else { return };
    let service = env.service("default", "spread").await.unwrap();
    let (one, other) = (Replica::start(b'1').await, Replica::start(b'2').await);
    for replica in [&one, &other] {
        service.add_replica(replica.address, Some(replica.readiness)).unwrap();
    }
    service.wait_for_replicas(2).await.unwrap();
    assert_eq!(answers(service.address(), 10).await, BTreeSet::from([Some(b'1'), Some(b'2')]));

    one.ready.store(false, Ordering::SeqCst);
    service.wait_for_replicas(1).await.unwrap();
    assert_eq!(service.routed(), [other.address]);
    assert_eq!(answers(service.address(), 10).await, BTreeSet::from([Some(b'2')]));

    one.ready.store(true, Ordering::SeqCst);
    service.wait_for_replicas(2).await.unwrap();
    service.remove_replica(other.address);
    assert_eq!(answers(service.address(), 10).await, BTreeSet::from([Some(b'1')]));
    service.remove_replica(one.address);
    assert_eq!(answers(service.address(), 2).await, BTreeSet::from([None]), "there is no replica");
}

#[tokio::test]
async fn both_ports_of_a_replica_are_added_and_removed_together() {
    let Some(env) = shared_or_skip().await else { return };
    let service = env.two_port_service("default", "twice").await.unwrap();
    let (one, other) = (Replica::start(b'1').await, Replica::start(b'2').await);
    service.add_two_port_replica([one.address, other.address], Some(one.readiness)).unwrap();
    service.wait_for_replicas(1).await.unwrap();
    let second = service.second_reference("/hook").unwrap()["port"].as_u64().unwrap();
    let second = SocketAddr::new(service.address().ip(), second.try_into().unwrap());
    assert_eq!(answers(service.address(), 2).await, BTreeSet::from([Some(b'1')]));
    assert_eq!(answers(second, 2).await, BTreeSet::from([Some(b'2')]));
    service.remove_replica(one.address);
    assert_eq!(answers(second, 2).await, BTreeSet::from([None]), "there is no replica");
}

#[tokio::test]
async fn changes_of_a_replica_take_effect_after_the_delay() {
    const DELAY: Duration = Duration::from_secs(3);
    let Some(env) = shared_or_skip().await else { return };
    let service = env.service("default", "slow").await.unwrap();
    let replica = Replica::start(b'1').await;
    service.add_replica(replica.address, None).unwrap();
    assert_eq!(service.routed(), [replica.address], "no delay at first");

    service.set_propagation_delay(DELAY);
    let start = Instant::now();
    service.remove_replica(replica.address);
    assert_eq!(answers(service.address(), 2).await, BTreeSet::from([Some(b'1')]), "it is still routed");
    service.wait_for_replicas(0).await.unwrap();
    assert!(start.elapsed() >= DELAY);
}

/// A server that answers with a letter, and one that reports its readiness.
struct Replica {
    address: SocketAddr,
    readiness: SocketAddr,
    ready: Arc<AtomicBool>,
}

impl Replica {
    async fn start(letter: u8) -> Self {
        let ready = Arc::new(AtomicBool::new(true));
        let state = ready.clone();
        let address = serve(move || vec![letter]).await;
        let readiness = serve(move || {
            let status = if state.load(Ordering::SeqCst) { "200 OK" } else { "503 Service Unavailable" };
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes()
        })
        .await;
        Self { address, readiness, ready }
    }
}

async fn serve(answer: impl Fn() -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(&answer()).await;
        }
    });
    address
}

/// The letters of the replicas that answer `count` new connections.
async fn answers(address: SocketAddr, count: usize) -> BTreeSet<Option<u8>> {
    let mut all = BTreeSet::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        all.insert(stream.read_u8().await.ok());
    }
    all
}
