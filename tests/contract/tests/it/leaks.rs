//! The content of objects is never in logs, metrics or the messages of faults.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Full;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::PostParams;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::ClientConfig;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use vestibule_caller::{Hook, Review, ReviewBuilder};

use crate::client::{Client, Reply, trust};
use crate::collector::Collector;
use crate::process::{NAME, Process};

const OBJECT: &str = "canary-object";
const OLD: &str = "canary-old-object";
const USER: &str = "canary-authorization";
/// A token whose header names the key below.
const TOKEN: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6Im9uZSJ9.canary-authorization.AAAA";
/// RFC 7517 A.1.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"one",
    "x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
/// The text before `.data` is encoded.
const DATA: &str = "canary-secret-data";
/// The texts that the hooks send and add.
const WORDS: [&str; 4] = ["canary-denial", "canary-warning", "canary-audit", "canary-patch"];

const KINDS: [&str; 8] = ["secret", "dynamic", "meta", "value", "raw-object", "own", "chain", "raw"];

#[tokio::test]
async fn no_content_of_an_object_is_in_logs_metrics_or_faults() {
    let collector = Collector::start();
    let spans = [("VESTIBULE_OTLP_ENDPOINT", &*collector.address), ("VESTIBULE_TRACE_RATIO", "1")];
    let variables = spans.into_iter().chain([("RUST_LOG", "trace"), ("OTEL_BSP_SCHEDULE_DELAY", "20")]);
    let server = Process::start(&[], &variables.collect::<Vec<_>>());
    call_everything(&server).await;
    collector.taken(|spans| spans.iter().any(|span| span.name == "mutate raw")).await;
    collector.taken(|spans| spans.iter().any(|span| span.name == "convert raw-gadgets")).await;
    for canary in [OBJECT, OLD, USER, DATA, &base64(DATA)].into_iter().chain(WORDS) {
        assert!(!collector.holds(canary), "{canary} is in a span");
    }
    let log = assert_silent(&server, r#""level":"TRACE""#);
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()), "{line}");
    }
}

/// With every check of callers, and with spans.
#[tokio::test]
async fn no_credential_of_a_caller_is_in_logs_metrics_spans_or_faults() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let (known, unknown) = (authority(USER), authority(&format!("{USER} of another")));
    let flags = [
        format!("--token-keys={}", file("keys.json", KEYS)),
        format!("--client-ca={}", file("ca.crt", &known.pem())),
        "--token-issuer=https://issuer.example".to_owned(),
        "--token-audience=hook".to_owned(),
        "--client-name=api".to_owned(),
    ];
    for (authentication, status) in [("--client-auth=observe", 200), ("--client-auth=require", 401)] {
        let collector = Collector::start();
        let spans = [("VESTIBULE_OTLP_ENDPOINT", &*collector.address), ("VESTIBULE_TRACE_RATIO", "1")];
        let variables = spans.into_iter().chain([("RUST_LOG", "trace"), ("OTEL_BSP_SCHEDULE_DELAY", "20")]);
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain([authentication]).collect();
        let server = Process::start(&flags, &variables.collect::<Vec<_>>());
        let no_certificate = trust(&server);
        for (config, authorization) in [
            (no_certificate.clone(), format!("Bearer {TOKEN}")),
            (no_certificate.clone(), format!("Bearer {USER}")),
            (no_certificate.clone(), format!("Basic {USER}")),
            (showing(&no_certificate, &known), "none".to_owned()),
            (showing(&no_certificate, &unknown), "none".to_owned()),
        ] {
            let mut client = Client::trusting(&server, &config).await;
            let [create, ..] = reviews(&secret("change"));
            let body = create.build().unwrap().body().to_vec();
            let reply = post_as(&mut client, "/mutate/secret", body, &authorization).await;
            assert_eq!(reply.status, status, "{}", reply.body);
            assert_no_content_of_the_object(&reply);
        }
        let (_, metrics) = server.probe("/metrics");
        for told in ["signature", "unreadable", "name", "unknown_authority"] {
            let told = format!(r#"{{kind="invalid",reason="{told}"}} 1"#);
            assert!(metrics.contains(&told), "{told} in {metrics}");
        }
        if status == 200 {
            collector
                .taken(|spans| spans.iter().filter(|span| span.name == "mutate secret").count() == 5)
                .await;
        }
        for canary in [OBJECT, USER, DATA] {
            assert!(!collector.holds(canary), "{canary} is in a span");
        }
        let log = server.whole_log();
        assert!(
            log.contains(r#""level":"DEBUG""#) && log.contains("client identified"),
            "the log is heard: {log}"
        );
        assert_none(&log, &metrics, [OBJECT, USER, DATA]);
    }
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The same with a client certificate of an unexpected name.
fn showing(config: &ClientConfig, authority: &CertifiedIssuer<'static, KeyPair>) -> Arc<ClientConfig> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([format!("{USER}.example")]).unwrap();
    params.distinguished_name.push(DnType::CommonName, USER);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let chain = vec![params.signed_by(&key, authority).unwrap().der().clone()];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let certified = CertifiedKey::from_der(chain, key, config.crypto_provider()).unwrap();
    let mut config = config.clone();
    config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
    Arc::new(config)
}

/// With the log format for terminals.
#[tokio::test]
async fn no_content_of_an_object_is_in_the_log_on_a_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        return vestibule_testenv::leave_out("there is no `script` in PATH to provide a terminal");
    }
    let server = Process::on_a_terminal(&[("RUST_LOG", "trace"), ("NO_COLOR", "1")]);
    call_everything(&server).await;
    assert_silent(&server, " TRACE ");
}

#[tokio::test]
async fn no_content_of_looked_up_objects_is_in_logs_metrics_or_faults() {
    let Some(environment) = vestibule_testenv::shared_or_skip().await else { return };
    let namespace = environment.namespace(&[]).await.unwrap().name().to_owned();
    let admin = environment.admin().unwrap();
    let mut credentials = secret("change");
    credentials["metadata"]["name"] = json!("credentials");
    credentials["metadata"]["namespace"] = json!(namespace);
    let mut odd = credentials.clone();
    odd["kind"] = json!("ConfigMap");
    odd["data"] = json!({"x": DATA, "y": OBJECT});
    let credentials = serde_json::from_value(credentials).unwrap();
    let odd = serde_json::from_value(odd).unwrap();
    let secrets = Api::<Secret>::namespaced(admin.clone(), &namespace);
    secrets.create(&PostParams::default(), &credentials).await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(admin, &namespace);
    maps.create(&PostParams::default(), &odd).await.unwrap();

    let kubeconfig = environment.kubeconfig();
    let flags = ["--kubeconfig", kubeconfig.to_str().unwrap()];
    let server = Process::start(&flags, &[("RUST_LOG", "trace"), ("CONTRACT_LOOKS_UP", "1")]);
    let caller = server.caller();
    for (hook, status) in [("lookup", 200), ("lookup-odd", 500), ("lookup-odd-fresh", 500)] {
        let review = Review::create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}))
            .namespace(&namespace)
            .build()
            .unwrap();
        let hook = Hook::mutating(hook, &format!("/mutate/{hook}")).timeout(Duration::from_secs(10));
        let answer = caller.call(&review, &hook).await.unwrap();
        let body = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, status, "{body}");
        for canary in [DATA, &base64(DATA), OBJECT] {
            assert!(!body.contains(canary), "{canary} in {body}");
        }
    }
    let (_, metrics) = server.probe("/metrics");
    let log = server.whole_log();
    assert!(log.contains(r#""level":"TRACE""#) && log.contains("decided"), "the log is heard: {log}");
    let token = std::fs::read_to_string(&kubeconfig).unwrap();
    let token = token
        .split_once("token")
        .map(|(_, rest)| rest.trim_matches([':', '"', ' ']).split(['"', '\n', ' ']).next().unwrap());
    let token = token.filter(|token| token.len() > 5).expect("a token to look for");
    assert_none(&log, &metrics, [OBJECT, DATA, token]);
}

#[tokio::test]
async fn a_first_start_logs_no_error_for_any_certificate_source() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    for (file, text) in
        [("tls.crt", certificate.pem()), ("tls.key", key.serialize_pem()), ("ca.crt", certificate.pem())]
    {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let mounted = format!("mounted:{}", folder.path().display());
    for flags in [&[] as &[&str], &["--identity", &mounted]] {
        let server = Process::start(flags, &[("RUST_LOG", "trace")]);
        assert_eq!(server.probe("/readyz").0, "HTTP/1.1 200 OK");
        let log = server.log();
        assert!(log.contains(r#""level":"INFO""#) && !log.contains(r#""level":"ERROR""#), "{log}");
    }
}

/// Calls every kind of handler with every behaviour and operation, and sends bodies that are not reviews.
async fn call_everything(server: &Process) {
    let config = trust(server);
    let mut client = Client::trusting(server, &config).await;
    let mut waiting = Vec::new();
    for path in KINDS.iter().flat_map(|kind| [format!("/mutate/{kind}"), format!("/validate/{kind}-guard")]) {
        for behaviour in ["change", "deny", "fail", "panic"] {
            for review in reviews(&secret(behaviour)) {
                let reply = send(&mut client, &path, review).await;
                assert!([200, 500].contains(&reply.status.as_u16()), "{path} {behaviour}: {}", reply.body);
                assert_no_content_of_the_object(&reply);
            }
        }
        let mut undecodable = secret("change");
        undecodable["data"] = json!(OBJECT);
        undecodable["metadata"]["annotations"] = json!([OBJECT]);
        let [create, ..] = reviews(&undecodable);
        assert_no_content_of_the_object(&send(&mut client, &path, create).await);
        let config = &config;
        waiting.push(async move {
            let [create, ..] = reviews(&secret("wait"));
            let mut client = Client::trusting(server, config).await;
            let reply = send(&mut client, &format!("{path}?timeout=5s"), create).await;
            assert!(reply.body.contains("no verdict"), "{}", reply.body);
            assert_no_content_of_the_object(&reply);
        });
    }
    join_all(waiting).await;
    for size in [json!("1"), json!(OBJECT), json!("panic"), json!({OBJECT: DATA})] {
        let body = conversion(&size).to_string();
        for path in ["/convert/gadgets", "/convert/raw-gadgets"] {
            let reply = post(&mut client, path, body.clone()).await;
            let failed = reply.response()["result"]["status"] == "Failure";
            assert_eq!(failed, size != json!("1"));
            if failed {
                assert_no_content_of_the_object(&reply);
            }
        }
    }
    for body in
        [format!(r#"{{"request":{{"object":"{OBJECT}""#), format!(r#"["{OBJECT}"]"#), OBJECT.to_owned()]
    {
        assert_no_content_of_the_object(&post(&mut client, "/mutate/secret", body).await);
    }
    let mut unknown = Client::trusting(server, &config).await;
    assert_eq!(post(&mut unknown, &format!("/{OBJECT}?{OLD}"), OBJECT).await.status, 404);
}

fn secret(behaviour: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "web", "namespace": "demo", "labels": {"x": OBJECT}, "annotations": {"do": behaviour, "x": OBJECT}},
        "data": {"password": base64(DATA), OBJECT: base64(OBJECT)},
        "stringData": {"x": DATA},
        OBJECT: {"x": [OBJECT]},
    })
}

fn conversion(size: &Value) -> Value {
    let gadget = json!({
        "apiVersion": "contract.example/v1", "kind": "Gadget",
        "metadata": {"name": "web", "namespace": "demo", "labels": {"x": OBJECT}}, "spec": {"size": size},
    });
    json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "1", "desiredAPIVersion": "contract.example/v2", "objects": [gadget]},
    })
}

fn reviews(secret: &Value) -> [ReviewBuilder; 3] {
    let mut old = secret.clone();
    old["metadata"]["labels"]["x"] = json!(OLD);
    [
        Review::create(secret.clone()).options(json!({"kind": "CreateOptions", "fieldManager": OBJECT})),
        Review::update(old.clone(), secret.clone()),
        Review::delete(old),
    ]
}

async fn send(client: &mut Client, path: &str, review: ReviewBuilder) -> Reply {
    post(client, path, review.build().unwrap().body().to_vec()).await
}

async fn post(client: &mut Client, path: &str, body: impl Into<Bytes>) -> Reply {
    post_as(client, path, body, &format!("Bearer {USER}")).await
}

async fn post_as(client: &mut Client, path: &str, body: impl Into<Bytes>, authorization: &str) -> Reply {
    let request =
        Request::post(path).header("authorization", authorization).header("content-type", "application/json");
    client.send(request.body(Full::new(body.into())).unwrap()).await
}

/// The message of a fault goes to the user and into the API server's log.
fn assert_no_content_of_the_object(reply: &Reply) {
    for canary in [OBJECT, OLD, USER, DATA] {
        assert!(!reply.body.contains(canary), "{canary} in {}", reply.body);
    }
}

fn assert_silent(server: &Process, heard: &str) -> String {
    let (_, metrics) = server.probe("/metrics");
    let log = server.whole_log();
    assert!(
        log.contains(heard) && log.contains("decided") && log.contains("panic"),
        "the log is heard: {log}"
    );
    assert!(
        metrics.contains(r#"reason="panic""#) && metrics.contains(r#"reason="undecodable""#),
        "{metrics}"
    );
    assert_none(&log, &metrics, [OBJECT, OLD, USER, DATA].into_iter().chain(WORDS));
    log
}

/// Looks for the canaries as text, as base64 and as lists of bytes.
fn assert_none<'c>(log: &str, metrics: &str, canaries: impl IntoIterator<Item = &'c str>) {
    for canary in canaries {
        let bytes = format!("{:?}", canary.as_bytes());
        for shape in [canary, base64(canary).trim_end_matches('='), bytes.trim_matches(['[', ']'])] {
            let hits: Vec<_> =
                log.lines().chain(metrics.lines()).filter(|line| line.contains(shape)).collect();
            assert!(hits.is_empty(), "{canary} is there: {hits:?}");
        }
    }
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}
