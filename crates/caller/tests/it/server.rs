//! An HTTPS server that answers by script and tells what it saw.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use vestibule_caller::Caller;

use super::fixture::{UID, allowed};

pub(crate) const NAME: &str = "hook.shop.svc";

/// A server with these answers, and a caller that trusts it.
pub(crate) async fn served(answers: Vec<Scripted>) -> (Server, Caller) {
    let authority = Authority::new();
    let server = Server::start(&authority, NAME, answers).await;
    let caller = Caller::new(server.address, NAME, authority.bundle().as_bytes()).unwrap();
    (server, caller)
}

pub(crate) fn ok() -> Scripted {
    Some((200, vec![], allowed(json!({})).to_string()))
}

pub(crate) fn busy(seconds: &'static str) -> Scripted {
    Some((503, vec![("retry-after", seconds)], String::new()))
}

/// A certificate authority that lives as long as its test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("vestibule test")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn bundle(&self) -> String {
        self.0.pem()
    }

    fn server_config(&self, name: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.into()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// One request as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) sni: Option<String>,
    pub(crate) alpn: Option<Vec<u8>>,
    pub(crate) resumed: bool,
    pub(crate) target: String,
    pub(crate) method: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// One scripted answer: status, headers, body, in which the uid of the tests stands for that of the request. `None` never
/// answers.
pub(crate) type Scripted = Option<(u16, Vec<(&'static str, &'static str)>, String)>;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    state: watch::Sender<State>,
}

/// The script of a server, and its state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Answers wait for as long as this holds.
    pub(crate) is_held: bool,
    /// Requests whose answers wait.
    pub(crate) waiting: usize,
    /// Connections that are open.
    pub(crate) open: usize,
}

impl Server {
    /// Serves `answers` one after the other; the last one again and again.
    pub(crate) async fn start(authority: &Authority, name: &str, answers: Vec<Scripted>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let acceptor = TlsAcceptor::from(Arc::new(authority.server_config(name)));
        let script = Arc::new(Mutex::new(VecDeque::from(answers)));
        let state = watch::Sender::default();
        tokio::spawn(accept(listener, acceptor, script, Arc::clone(&seen), state.clone()));
        Self { address, seen, state }
    }

    /// Holds answers back, or gives them all.
    pub(crate) fn hold(&self, is_held: bool) {
        self.state.send_modify(|state| state.is_held = is_held);
    }

    /// Waits until the server is as it should be.
    pub(crate) async fn until(&self, holds: impl Fn(&State) -> bool) {
        let mut state = self.state.subscribe();
        let waited = timeout(Duration::from_secs(30), state.wait_for(|state| holds(state))).await;
        assert!(waited.is_ok(), "{:?}", *self.state.borrow());
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    script: Arc<Mutex<VecDeque<Scripted>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    state: watch::Sender<State>,
) {
    for connection in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, script, seen) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&seen));
        let state = state.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            state.send_modify(|state| state.open += 1);
            let tls = stream.get_ref().1;
            let first = Seen {
                connection,
                sni: tls.server_name().map(str::to_owned),
                alpn: tls.alpn_protocol().map(<[u8]>::to_vec),
                resumed: tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
                target: String::new(),
                method: String::new(),
                headers: HeaderMap::new(),
                body: Bytes::new(),
            };
            let service = service_fn(|request| answer(request, first.clone(), &script, &seen, &state));
            // A client that leaves in the middle is part of the tests.
            let _ended = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            state.send_modify(|state| state.open -= 1);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    connection: Seen,
    script: &Mutex<VecDeque<Scripted>>,
    seen: &Mutex<Vec<Seen>>,
    state: &watch::Sender<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let (target, method) = (head.uri.to_string(), head.method.to_string());
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let uid = review["request"]["uid"].as_str().unwrap_or_default().to_owned();
    seen.lock().unwrap().push(Seen { target, method, headers: head.headers, body, ..connection });
    let scripted = {
        let mut script = script.lock().unwrap();
        if script.len() > 1 { script.pop_front().unwrap() } else { script[0].clone() }
    };
    let Some((status, headers, body)) = scripted else { return std::future::pending().await };
    state.send_modify(|state| state.waiting += 1);
    state.subscribe().wait_for(|state| !state.is_held).await.unwrap();
    state.send_modify(|state| state.waiting -= 1);
    let mut response = Response::builder().status(status).header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::from(body.replace(UID, &uid))).unwrap())
}
