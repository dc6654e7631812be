//! One TLS server per process, and connections to it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::{PrivateKeyDer, UnixTime};
use vestibule_admission::{Handler, HandlerFuture, Hook, Request, Verdict};
use vestibule_pki::Authority;
use vestibule_server::{CertificateCell, Server, ServingCertificate, Settings};

const NAME: &str = "hook.shop.svc";
/// Longer than every timeout of the server.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) type Stream = StreamOwned<ClientConnection, TcpStream>;

struct TestServer {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
}

pub(super) fn connect() -> io::Result<Stream> {
    static SERVER: OnceLock<TestServer> = OnceLock::new();
    let server = SERVER.get_or_init(start);
    let tcp = TcpStream::connect(server.address)?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    let name = ServerName::try_from(NAME).expect("a name");
    let tls = ClientConnection::new(Arc::clone(&server.tls), name).expect("a client");
    Ok(StreamOwned::new(tls, tcp))
}

struct Allow;

impl Handler for Allow {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        Box::pin(async { Verdict::allowed() })
    }
}

/// Starts the server on a thread that runs until the process ends.
fn start() -> TestServer {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
    let now = UnixTime::since_unix_epoch(now);
    let authority = Authority::new("hostile", now, Duration::from_secs(86_400)).expect("a CA");
    let leaf = authority.issue(&[NAME], now, Duration::from_secs(86_400)).expect("a leaf");
    let chain = leaf.chain_pem();
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(|der| der.expect("PEM").into_owned());
    let key = PrivateKeyDer::from_pem_slice(leaf.key_pem().as_bytes()).expect("a key");
    let serving = ServingCertificate::new(chain.collect(), &key).expect("a certificate");

    let mut settings = Settings::default();
    settings.listen = (Ipv4Addr::LOCALHOST, 0).into();
    settings.max_body = 64 << 10;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server = Server::new(settings, Arc::new(CertificateCell::new(serving)))
                .route("/mutate", Hook::mutating("mutate", Allow), Duration::from_secs(1))
                .bind()
                .await
                .expect("a port");
            sender.send(server.address()).expect("a receiver");
            server.serve().await;
        });
    });
    let address = receiver.recv().expect("an address");
    TestServer { address, tls: trusting(authority.certificate_pem()) }
}

fn trusting(authority: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).expect("PEM")).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(config.expect("TLS").with_root_certificates(roots).with_no_client_auth())
}
