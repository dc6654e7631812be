//! A TLS connection for arbitrary bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A connection that is reused, and reopened after the server has closed it.
pub struct Connection {
    stream: Stream,
    open: Box<dyn Fn() -> Stream + Send>,
    name: &'static str,
}

impl Connection {
    /// Connects to `name` at this address and verifies its certificate by `bundle`.
    pub fn to(address: SocketAddr, name: &'static str, bundle: &[u8]) -> Self {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle) {
            roots.add(root.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let open = Box::new(move || {
            let tcp = TcpStream::connect(address).unwrap();
            tcp.set_nodelay(true).unwrap();
            tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let name = ServerName::try_from(name).unwrap();
            StreamOwned::new(ClientConnection::new(Arc::clone(&config), name).unwrap(), tcp)
        });
        Self { stream: open(), open, name }
    }

    /// Sends a request; returns the status and the body of the response.
    pub fn post(&mut self, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let head = self.head(path, &format!("content-length: {}", body.len()));
        self.send(&[head.as_bytes(), body].concat());
        self.answer()
    }

    /// The head of a request with this length header.
    pub fn head(&self, path: &str, length: &str) -> String {
        let name = self.name;
        format!(
            "POST {path}?timeout=10s HTTP/1.1\r\nhost: {name}:443\r\ncontent-type: application/json\r\n{length}\r\n\r\n"
        )
    }

    /// Sends a part of a request.
    pub fn send(&mut self, part: &[u8]) {
        self.stream.write_all(part).unwrap();
        self.stream.flush().unwrap();
    }

    /// Reads a response; returns its status and body.
    pub fn answer(&mut self) -> (u16, Vec<u8>) {
        let mut answer = Vec::new();
        let mut part = [0; 16 << 10];
        loop {
            let read = self.stream.read(&mut part).unwrap();
            assert_ne!(read, 0, "the connection ends after {:?}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&part[..read]);
            let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&answer[..end]).unwrap().to_lowercase();
            let header = |name: &str| {
                head.lines()
                    .filter_map(|line| line.split_once(": "))
                    .find(|(known, _)| *known == name)
                    .map(|it| it.1)
            };
            let length: usize = header("content-length").unwrap().parse().unwrap();
            if answer.len() < end + 4 + length {
                continue;
            }
            let status = head[9..12].parse().unwrap();
            if header("connection") == Some("close") {
                self.stream = (self.open)();
            }
            return (status, answer[end + 4..].to_vec());
        }
    }
}
