//! A small server: two hooks that do the same, one of which closes the connection after each answer. Clients whose
//! connections stay open do not look at certificates, and hide what is wrong with them.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fire::{Fact, hook};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::facts::Presenter;
use crate::{Source, tell};

/// Longer than the balancer needs to learn that this replica is not ready.
const DRAIN_DELAY: Duration = Duration::from_secs(1);
/// Longer than the API server keeps idle connections.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(95);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

struct State {
    source: Arc<dyn Source>,
    draining: AtomicBool,
}

/// Serves until SIGTERM, and then until nobody is left.
pub(crate) async fn run(source: Arc<dyn Source>) -> anyhow::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let (hooks, probes) = (listen().await?, listen().await?);
    let process = std::process::id();
    tell(&Fact::Listening { process, hooks: hooks.local_addr()?, probes: probes.local_addr()? });
    let acceptor = acceptor(Arc::clone(&source))?;
    let state = Arc::new(State { source, draining: AtomicBool::new(false) });
    tokio::spawn(serve_probes(probes, Arc::clone(&state)));

    let mut connections = JoinSet::new();
    let accepting = async {
        while let Ok((stream, _)) = hooks.accept().await {
            connections.spawn(serve_hooks(stream, acceptor.clone(), Arc::clone(&state)));
            while connections.try_join_next().is_some() {}
        }
    };
    let until_drained = async {
        terminated.recv().await;
        state.draining.store(true, Ordering::SeqCst);
        sleep(DRAIN_DELAY).await;
    };
    tokio::select! {
        () = accepting => {}
        () = until_drained => {}
    }
    drop(hooks);
    let _ = timeout(DRAIN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn listen() -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
}

fn acceptor(source: Arc<dyn Source>) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Presenter::of(source)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve_hooks(stream: TcpStream, acceptor: TlsAcceptor, state: Arc<State>) {
    let _ = stream.set_nodelay(true);
    let stream = match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tell(&Fact::HandshakeFailed { reason: error.to_string() }),
        Err(_) => return tell(&Fact::HandshakeFailed { reason: "too slow".to_owned() }),
    };
    let answer = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(request, &state).await) }
    });
    // A client that goes away is no fact about certificates.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(request: Request<Incoming>, state: &State) -> Response<Full<Bytes>> {
    let closes = request.uri().path() != hook::KEEP || state.draining.load(Ordering::SeqCst);
    let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let mut response = match serde_json::from_slice::<Value>(&body) {
        Ok(review) => Response::new(Full::from(decide(&review).to_string())),
        Err(_) => status(StatusCode::BAD_REQUEST, String::new()),
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if closes {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Adds one annotation: an answer that did not come from here is noticed.
fn decide(review: &Value) -> Value {
    let patch =
        json!([{ "op": "add", "path": hook::ANNOTATION_POINTER, "value": std::process::id().to_string() }]);
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review.pointer("/request/uid"),
            "allowed": true,
            "patchType": "JSONPatch",
            "patch": k8s_openapi::ByteString(patch.to_string().into_bytes()),
        },
    })
}

/// `/readyz`, and nothing else.
async fn serve_probes(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let answer = service_fn(|_request: Request<Incoming>| {
                let waiting = if state.draining.load(Ordering::SeqCst) {
                    Some("draining".to_owned())
                } else {
                    state.source.waiting_for()
                };
                let response = match waiting {
                    None => status(StatusCode::OK, "ok".to_owned()),
                    Some(waiting) => status(StatusCode::SERVICE_UNAVAILABLE, waiting),
                };
                async move { Ok::<_, Infallible>(response) }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

fn status(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}
