//! The binary as a process, with a certificate in files as the tests of Kubernetes make it.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use vestibule_caller::{Caller, Hook, Outcome, Review, judge};

const NAME: &str = "e2e-test-webhook.demo.svc";

/// A process of the binary, which ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    address: SocketAddr,
    authority: String,
    _folder: TempDir,
}

impl Process {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf =
            CertificateParams::new(vec![NAME.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (certificate_file, key_file) = (folder.path().join("a.crt"), folder.path().join("b.key"));
        std::fs::write(&certificate_file, leaf.pem() + &authority.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();

        let mut command = Command::new(env!("CARGO_BIN_EXE_agnhost"));
        command.args(["webhook", "--port", "0", "--tls-cert-file"]).arg(certificate_file);
        command.arg("--tls-private-key-file").arg(key_file).args(flags);
        let mut child = command.env("NO_COLOR", "1").stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let serving = lines.find(|line| line.contains("0.0.0.0:")).expect("it serves");
        // The process must not block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let port = serving.split("0.0.0.0:").nth(1).unwrap();
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()));
        Self { child, address, authority: authority.pem(), _folder: folder }
    }

    /// The result of the answer in kube-apiserver.
    pub(crate) async fn outcome(&self, review: &Review, hook: &Hook) -> Outcome {
        let caller = Caller::new(self.address, NAME, self.authority.as_bytes()).unwrap();
        judge(review, hook, &caller.call(review, hook).await.unwrap())
    }

    /// Status line and body.
    pub(crate) async fn exchange(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\n");
        let head = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
