use std::sync::Mutex;
use std::time::SystemTime;

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection, SupportedProtocolVersion};

use super::*;
use crate::{Local, Status};

/// Presents the last certificate that it was given.
struct Given(Mutex<Option<Arc<Leaf>>>);

impl Identity for Given {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.0.lock().unwrap().clone()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        None
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

fn local() -> Local {
    Local::in_memory(&["localhost"], SystemTime::now()).unwrap()
}

/// A client that trusts these CAs.
fn client(trusted: &[&Local], version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for local in trusted {
        let bundle = local.ca_bundle().unwrap();
        roots.add(CertificateDer::from_pem_slice(bundle.as_bytes()).unwrap()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Both ends of a finished handshake, or what one of them had against it.
fn handshake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<(ClientConnection, ServerConnection), rustls::Error> {
    let mut client = ClientConnection::new(client.clone(), ServerName::try_from("localhost").unwrap())?;
    let mut server = ServerConnection::new(server.clone())?;
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets()?;
        let mut bytes = Vec::new();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok((client, server))
}

#[test]
fn each_handshake_meets_the_leaf_of_its_moment() {
    let (old, new) = (local(), local());
    let identity = Arc::new(Given(Mutex::new(old.present())));
    let server = server_config(identity.clone()).unwrap();
    for version in [&TLS12, &TLS13] {
        let client = client(&[&old, &new], version);
        for now in [&old, &new, &old] {
            *identity.0.lock().unwrap() = now.present();
            let (client, _) = handshake(&client, &server).unwrap();
            assert_eq!(client.peer_certificates().unwrap(), now.present().unwrap().chain);
            assert_eq!(client.alpn_protocol(), Some(&b"http/1.1"[..]));
            assert_eq!(client.protocol_version(), Some(version.version));
        }
    }
}

#[test]
fn without_a_leaf_the_handshake_fails_and_the_next_may_succeed() {
    let local = local();
    let identity = Arc::new(Given(Mutex::new(None)));
    let server = server_config(identity.clone()).unwrap();
    let client = client(&[&local], &TLS13);
    assert!(handshake(&client, &server).is_err());
    *identity.0.lock().unwrap() = local.present();
    assert!(handshake(&client, &server).is_ok());
}

#[test]
fn a_key_is_parsed_once_for_each_leaf() {
    let identity = Arc::new(Given(Mutex::new(local().present())));
    let resolver = Resolver { identity: identity.clone(), parsed: ArcSwapOption::empty() };
    let first = resolver.present().unwrap();
    assert!(Arc::ptr_eq(&first, &resolver.present().unwrap()));
    *identity.0.lock().unwrap() = local().present();
    assert!(!Arc::ptr_eq(&first, &resolver.present().unwrap()));
}

#[test]
fn a_leaf_that_is_replaced_is_not_held_on_to() {
    let identity = Arc::new(Given(Mutex::new(local().present())));
    let resolver = Resolver { identity: identity.clone(), parsed: ArcSwapOption::empty() };
    let first = Arc::downgrade(identity.0.lock().unwrap().as_ref().unwrap());
    assert!(resolver.present().is_some());
    *identity.0.lock().unwrap() = local().present();
    assert!(first.upgrade().is_none());
}

#[test]
fn no_session_is_kept() {
    let local = Arc::new(local());
    let server = server_config(local.clone()).unwrap();
    for version in [&TLS12, &TLS13] {
        let client = client(&[&local], version);
        for _ in 0..2 {
            let (client, _) = handshake(&client, &server).unwrap();
            assert_eq!(client.handshake_kind(), Some(rustls::HandshakeKind::Full));
            assert_eq!(client.tls13_tickets_received(), 0);
        }
    }
}
