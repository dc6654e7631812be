//! TLS: names, versions, handshakes that stall, and certificates that are replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use rustls::version::TLS12;
use rustls::{ClientConfig, ProtocolVersion};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use vestibule_server::{CertificateError, CloseReason, ServingCertificate, TlsVersion};

use crate::harness::{
    Authority, Client, NAME, Running, allow, client_config, handshake, serve, serve_limited, serve_with,
};

fn tls12(server: &Running) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_root_certificates(server.authority.roots())
        .with_no_client_auth()
}

#[tokio::test]
async fn the_certificate_fits_the_name_of_the_service_and_an_address_without_a_name() {
    let server = serve(allow()).await;
    for name in [NAME, "127.0.0.1"] {
        let stream = handshake(server.address, server.client_config(), name).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
        assert_eq!(Client::over(stream).await.review().await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn http_1_1_is_spoken_whether_it_is_negotiated_or_not() {
    let server = serve(allow()).await;
    for (offered, agreed) in [
        (vec![], None),
        (vec![b"http/1.1".to_vec()], Some(b"http/1.1".as_slice())),
        (vec![b"h2".to_vec(), b"http/1.1".to_vec()], Some(b"http/1.1".as_slice())),
    ] {
        let mut config = server.client_config();
        config.alpn_protocols = offered;
        let stream = handshake(server.address, config, NAME).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), agreed);
        assert_eq!(Client::over(stream).await.review().await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn no_session_is_resumed() {
    let server = serve(allow()).await;
    for config in [server.client_config(), tls12(&server)] {
        for _ in 0..3 {
            let stream = handshake(server.address, config.clone(), NAME).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(rustls::HandshakeKind::Full));
            assert_eq!(Client::over(stream).await.review().await.status, StatusCode::OK);
        }
    }
}

#[tokio::test]
async fn tls_1_2_is_taken_unless_1_3_is_asked_for() {
    let server = serve(allow()).await;
    let stream = handshake(server.address, tls12(&server), NAME).await.unwrap();
    assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_2));

    let mut strict = serve_with(|settings| settings.tls_min = TlsVersion::V1_3, |server| server).await;
    assert!(handshake(strict.address, tls12(&strict), NAME).await.is_err());
    assert!(strict.event().await.starts_with("handshake "));
}

/// A ClientHello (RFC 4346 7.4.1.2) of an old version, with one of its cipher suites, one group and one point format.
fn old_hello(version: [u8; 2]) -> Vec<u8> {
    let extensions = [0x00, 0x0a, 0, 4, 0, 2, 0, 23, 0x00, 0x0b, 0, 2, 1, 0];
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0xc0, 0x13, 1, 0, 0, u8::try_from(extensions.len()).unwrap()]);
    hello.extend(extensions);
    let length = u8::try_from(hello.len()).unwrap();
    let mut record = vec![22, 3, 1, 0, length + 4, 1, 0, 0, length];
    record.extend(hello);
    record
}

#[tokio::test]
async fn a17_tls_1_0_and_1_1_are_refused() {
    let mut server = serve(allow()).await;
    for version in [[3, 1], [3, 2]] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&old_hello(version)).await.unwrap();
        let mut alert = [0; 7];
        stream.read_exact(&mut alert).await.unwrap();
        assert_eq!((alert[0], alert[5]), (21, 2), "an alert, and a fatal one");
        assert!(server.event().await.starts_with("handshake "));
        assert_eq!(server.closed().await, CloseReason::Handshake);
    }
}

#[tokio::test]
async fn a17_every_server_name_gets_the_same_certificate() {
    let server = serve(allow()).await;
    // Which name it is for, the client judges.
    let asked = handshake(server.address, server.client_config(), "other.demo.svc").await;
    assert!(asked.err().unwrap().to_string().contains("not valid for name"));
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
}

#[tokio::test]
async fn a17_a_client_of_http_2_only_is_refused_in_the_handshake() {
    let mut server = serve(allow()).await;
    let mut config = server.client_config();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let error = handshake(server.address, config, NAME).await.unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    assert_eq!(server.closed().await, CloseReason::Handshake);
}

#[tokio::test]
async fn a17_garbage_ends_its_own_handshake_only() {
    let mut server = serve(allow()).await;
    for garbage in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![0; 1000], vec![0xff; 70_000], {
        let mut begun = old_hello([3, 3]);
        begun.truncate(20);
        begun.extend([22, 3, 3, 0xff, 0xff]);
        begun.extend(vec![0x80; 70_000]);
        begun
    }] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // It may have had enough before all is sent.
        let _shut = stream.write_all(&garbage).await;
        let _end = stream.read_to_end(&mut Vec::new()).await;
        assert_eq!(server.closed().await, CloseReason::Handshake);
    }
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_distrusts_the_certificate_is_noted() {
    let mut server = serve(allow()).await;
    let unknown_ca = client_config(Authority::new().roots());
    assert!(handshake(server.address, unknown_ca, NAME).await.is_err());
    assert!(server.event().await.starts_with("handshake "));
}

#[tokio::test]
async fn a_handshake_that_stalls_ends_and_delays_no_other() {
    let mut server = serve_limited(
        // Others make their handshakes within half of it.
        |settings| settings.handshake_timeout = Duration::from_secs(4),
    )
    .await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
    assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
    assert_eq!(server.event().await, "handshake timeout: no byte of the handshake arrived");
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_replaced_under_load_without_a_failed_handshake() {
    let server = serve(allow()).await;
    let (address, config) = (server.address, server.client_config());
    let mut kept = server.connect().await;
    let done = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let (config, done) = (config.clone(), Arc::clone(&done));
        callers.spawn(async move {
            let mut calls = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(
                    Client::connect(address, config.clone()).await.review().await.status,
                    StatusCode::OK
                );
                calls += 1;
            }
            calls
        });
    }
    for _ in 0..100 {
        server.certificate.replace(server.authority.issue());
        assert_eq!(kept.review().await.status, StatusCode::OK);
    }
    let last = server.authority.issue();
    server.certificate.replace(last);
    done.store(true, Ordering::Relaxed);
    assert!(callers.join_all().await.iter().all(|calls| *calls > 0));
    assert!(kept.is_usable().await, "a connection that is open goes on");
}

#[tokio::test]
async fn the_next_handshake_gets_the_new_certificate() {
    let server = serve(allow()).await;
    let presented = async || {
        let stream = server.tls().await;
        stream.get_ref().1.peer_certificates().unwrap().to_vec()
    };
    let first = presented().await;
    assert_eq!(presented().await, first);
    server.certificate.replace(server.authority.issue());
    assert_ne!(presented().await, first);
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (one, other) = (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
    let params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let chain = vec![params.self_signed(&one).unwrap().der().clone()];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(other.serialize_der()));
    assert!(matches!(ServingCertificate::new(chain, &key), Err(CertificateError::Chain(_))));
    let good = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(one.serialize_der()));
    assert!(matches!(ServingCertificate::new(Vec::new(), &good), Err(CertificateError::Chain(_))));
    let garbage = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(vec![0; 10]));
    assert!(matches!(ServingCertificate::new(Vec::new(), &garbage), Err(CertificateError::Key(_))));
}
