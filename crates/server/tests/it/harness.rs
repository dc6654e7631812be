//! A server on loopback, and a client that shares no code with it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vestibule_admission::{Handler, HandlerFuture, Hook, Request as Review, Verdict};
use vestibule_server::{
    CertificateCell, ClientIdentity, CloseReason, Converted, Decided, Observer, PresentCertificate, Refusal,
    Server, ServingCertificate, Settings, Shutdown, Usage,
};

pub(crate) const NAME: &str = "hooks.demo.svc";
pub(crate) const HOOK: &str = "/hook";
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// The CA that a client trusts, and the certificate that is presented to it.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn issue(&self) -> ServingCertificate {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![NAME.to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let chain = vec![params.signed_by(&key, &self.0).unwrap().der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ServingCertificate::new(chain, &key).unwrap()
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.0.der().to_vec())).unwrap();
        roots
    }
}

/// A server that runs, and everything a test wants of it.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) probes: Option<SocketAddr>,
    pub(crate) shutdown: Shutdown,
    pub(crate) certificate: Arc<CertificateCell>,
    pub(crate) authority: Authority,
    pub(crate) events: mpsc::UnboundedReceiver<String>,
    pub(crate) closed: mpsc::UnboundedReceiver<CloseReason>,
    pub(crate) usage: Usage,
    pub(crate) ended: JoinHandle<usize>,
}

pub(crate) async fn serve(handler: impl Handler) -> Running {
    serve_hook(|_| {}, Hook::mutating("hook", handler)).await
}

/// A server of one hook that allows everything.
pub(crate) async fn serve_limited(change: impl FnOnce(&mut Settings)) -> Running {
    serve_hook(change, Hook::mutating("hook", allow())).await
}

pub(crate) async fn serve_hook(change: impl FnOnce(&mut Settings), hook: Hook) -> Running {
    serve_with(change, |server| server.route(HOOK, hook, TIMEOUT)).await
}

pub(crate) async fn serve_with(
    change: impl FnOnce(&mut Settings),
    build: impl FnOnce(Server) -> Server,
) -> Running {
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings.probes = Some(settings.listen);
    change(&mut settings);
    let authority = Authority::new();
    let certificate = Arc::new(CertificateCell::new(authority.issue()));
    let ((sender, events), (closing, closed)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let present = Arc::clone(&certificate) as Arc<dyn PresentCertificate>;
    let server =
        build(Server::new(settings, present)).observer(Recorder(sender, closing)).bind().await.unwrap();
    Running {
        address: server.address(),
        probes: server.probes_address(),
        shutdown: server.shutdown(),
        certificate,
        authority,
        events,
        closed,
        usage: server.usage(),
        ended: tokio::spawn(server.serve()),
    }
}

impl Running {
    pub(crate) fn client_config(&self) -> ClientConfig {
        client_config(self.authority.roots())
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address, self.client_config()).await
    }

    pub(crate) async fn tls(&self) -> TlsStream<TcpStream> {
        handshake(self.address, self.client_config(), NAME).await.unwrap()
    }

    /// Everything the server says to these bytes until it closes the connection.
    pub(crate) async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        exchange(self.tls().await, bytes).await
    }

    pub(crate) async fn event(&mut self) -> String {
        self.events.recv().await.unwrap()
    }

    /// Why the next connection ended.
    pub(crate) async fn closed(&mut self) -> CloseReason {
        self.closed.recv().await.unwrap()
    }

    pub(crate) fn held(&self, what: &str) -> (u64, u64) {
        let held = self.usage.now().into_iter().find(|held| held.what == what).unwrap();
        (held.now, held.limit)
    }
}

pub(crate) fn client_config(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

pub(crate) async fn handshake(
    address: SocketAddr,
    config: ClientConfig,
    name: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    secure(TcpStream::connect(address).await?, config, name).await
}

pub(crate) async fn secure(
    stream: TcpStream,
    config: ClientConfig,
    name: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(name).unwrap(), stream).await
}

/// Everything the server says to these bytes until it closes the connection.
pub(crate) async fn exchange(stream: TlsStream<TcpStream>, bytes: impl AsRef<[u8]>) -> String {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut said = Vec::new();
    let write = async {
        // After a refusal the connection may be closed.
        let _shut = writer.write_all(bytes.as_ref()).await;
        let _shut = writer.flush().await;
    };
    let (_, read) = tokio::join!(write, reader.read_to_end(&mut said));
    read.unwrap();
    String::from_utf8(said).unwrap()
}

/// Waits until a condition holds that no event reports.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    /// Longer than any test takes, so that a condition that never holds fails the test instead of hanging it.
    const PATIENCE: Duration = Duration::from_secs(60);
    let waits = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waits).await.expect("it has not come about");
}

/// One connection.
pub(crate) struct Client(SendRequest<Full<Bytes>>);

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, config: ClientConfig) -> Self {
        Self::over(handshake(address, config, NAME).await.unwrap()).await
    }

    pub(crate) async fn over(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> Reply {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Full::new(body.into())).unwrap()).await
    }

    pub(crate) async fn review(&mut self) -> Reply {
        self.post(HOOK, review("1")).await
    }

    pub(crate) async fn method(&mut self, method: Method, path: &str) -> Reply {
        self.send(Request::builder().method(method).uri(path).body(Full::default()).unwrap()).await
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Reply {
        self.try_send(request).await.unwrap()
    }

    pub(crate) async fn try_send(&mut self, mut request: Request<Full<Bytes>>) -> hyper::Result<Reply> {
        request.headers_mut().insert("host", NAME.parse().unwrap());
        self.0.ready().await?;
        let (head, body) = self.0.send_request(request).await?.into_parts();
        let body = String::from_utf8(body.collect().await?.to_bytes().to_vec()).unwrap();
        Ok(Reply { status: head.status, headers: head.headers, body })
    }

    /// Whether the server lets the connection be used again.
    pub(crate) async fn is_usable(&mut self) -> bool {
        self.0.ready().await.is_ok()
    }
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) fn review(uid: &str) -> String {
    review_of("v1", uid, r#""name":"web""#, "{}")
}

pub(crate) fn review_of(version: &str, uid: &str, name: &str, object: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/{version}","kind":"AdmissionReview","request":{{"uid":"{uid}",
        "kind":{{"group":"","version":"v1","kind":"Pod"}},
        "resource":{{"group":"","version":"v1","resource":"pods"}},{name},"namespace":"demo",
        "operation":"CREATE","userInfo":{{"username":"alice"}},"object":{object},"oldObject":null,
        "dryRun":false,"options":null}}}}"#
    )
}

/// A handler made of a function.
pub(crate) struct Do<F>(pub(crate) F);

impl<F, R> Handler for Do<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Verdict> + Send + 'static,
{
    fn handle<'a>(&'a self, _request: &'a Review<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        Box::pin((self.0)())
    }
}

pub(crate) fn allow() -> impl Handler {
    Do(|| async { Verdict::allowed() })
}

/// A handler that says when it was entered and goes on when it is told to.
pub(crate) fn patient() -> (impl Handler, Arc<Notify>, Arc<Notify>) {
    patient_with(Verdict::allowed)
}

/// The same with another verdict.
pub(crate) fn patient_with(verdict: fn() -> Verdict) -> (impl Handler, Arc<Notify>, Arc<Notify>) {
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let notifies = (Arc::clone(&entered), Arc::clone(&go_on));
    let handler = Do(move || {
        let (entered, go_on) = notifies.clone();
        async move {
            entered.notify_one();
            go_on.notified().await;
            verdict()
        }
    });
    (handler, entered, go_on)
}

struct Recorder(mpsc::UnboundedSender<String>, mpsc::UnboundedSender<CloseReason>);

impl Recorder {
    fn note(&self, event: String) {
        // A test that does not look at events has dropped the receiver.
        drop(self.0.send(event));
    }
}

impl Observer for Recorder {
    fn decided(&self, decided: &Decided<'_>) {
        let request = decided.request;
        let name = request.display_name().unwrap_or_default();
        self.note(format!(
            "{} {} {} {}/{name} {}",
            decided.hook,
            request.uid,
            request.operation,
            request.namespace.as_deref().unwrap_or_default(),
            decided.decision.as_str()
        ));
    }

    fn converted(&self, converted: &Converted<'_>) {
        let Converted { hook, request, decision, .. } = converted;
        self.note(format!("{hook} {} {} {}", request.uid, request.desired_api_version, decision.as_str()));
    }

    fn refused(&self, refusal: Refusal) {
        self.note(format!("refused {}", refusal.as_str()));
    }

    fn identified(&self, client: ClientIdentity) {
        let error = client.error().map_or("", |error| error.as_str());
        self.note(format!("client {} {error}", client.as_str()));
    }

    fn abandoned(&self, hook: &str) {
        self.note(format!("abandoned {hook}"));
    }

    fn closed(&self, reason: CloseReason) {
        let _unread = self.1.send(reason);
    }

    fn handshake_failed(&self, _peer: SocketAddr, reason: &str) {
        self.note(format!("handshake {reason}"));
    }
}
