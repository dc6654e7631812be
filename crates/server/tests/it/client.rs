//! Authentication of clients: off, observed and required, with each kind of certificate and token.

mod shown;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vestibule_admission::Hook;
use vestibule_server::ClientAuthentication::{self, Observe, Off, Require};
use vestibule_server::{
    ClientAuthorities, ClientAuthoritiesError, Clients, CredentialError, Server, VerifyToken,
};

use self::shown::{Issuer, Shown, shown_by};
use crate::harness::{Client, HOOK, NAME, Running, TIMEOUT, allow, handshake, review, serve_with};

const API_SERVER: &str = "kube-apiserver";

async fn serve(clients: Clients) -> Running {
    let build =
        |server: Server| server.route(HOOK, Hook::mutating("hook", allow()), TIMEOUT).clients(clients);
    serve_with(|settings| settings.probes_over_https = true, build).await
}

fn certificates(authentication: ClientAuthentication, issuer: &Issuer, names: &[&str]) -> Clients {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let authorities = ClientAuthorities::new(&[issuer.certificate()], names).unwrap();
    Clients::new(authentication).with_certificates(Arc::new(authorities))
}

/// All credentials of clients, with their judgements.
fn everything(issuer: &Issuer) -> Vec<(Shown, &'static str)> {
    let unknown = Issuer::new();
    let mut garbage = issuer.client(API_SERVER);
    garbage.chain = vec![vec![0x30, 0x03, 0x01, 0x02].into()];
    let mut empty = issuer.client(API_SERVER);
    empty.chain = vec![Vec::new().into()];
    let mut stolen = issuer.client(API_SERVER);
    stolen.key = Issuer::new().client(API_SERVER).key;
    let mut long = issuer.client(API_SERVER);
    long.chain.extend(vec![unknown.certificate(); 10]);
    vec![
        (Shown::default(), "none "),
        (issuer.client(API_SERVER), "certificate "),
        (issuer.client_by_alternative(API_SERVER), "certificate "),
        (long, "certificate "),
        (issuer.client("kubelet"), "invalid name"),
        (unknown.client(API_SERVER), "invalid unknown_authority"),
        (issuer.server(API_SERVER), "invalid purpose"),
        (issuer.client_until(API_SERVER, 2001), "invalid expired"),
        (issuer.client_from(API_SERVER, 2101), "invalid not_yet_valid"),
        (garbage, "invalid unreadable"),
        (empty, "invalid unreadable"),
        (stolen, "invalid signature"),
    ]
}

#[tokio::test]
async fn a_required_client_is_refused_with_the_reason_and_probes_stay_open() {
    let issuer = Issuer::new();
    let mut server = serve(certificates(Require, &issuer, &["api", API_SERVER])).await;
    for version in [&TLS12, &TLS13] {
        for (shown, thought) in everything(&issuer) {
            let config = shown_by(&shown, server.authority.roots(), version);
            let stream = handshake(server.address, config, NAME).await.unwrap();
            let mut client = Client::over(stream).await;
            for path in ["/livez", "/readyz"] {
                assert_eq!(client.method(Method::GET, path).await.status, StatusCode::OK, "{thought}");
            }
            let reply = client.review().await;
            assert_eq!(server.event().await, format!("client {thought}"));
            if thought.starts_with("certificate") {
                assert_eq!(reply.status, StatusCode::OK);
                assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
                continue;
            }
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{thought}");
            assert_eq!(reply.header("www-authenticate"), "Bearer");
            assert!(reply.body.contains("client") && !reply.body.contains('\n'), "{}", reply.body);
            assert_eq!(server.event().await, "refused unauthenticated");
        }
    }
}

#[tokio::test]
async fn an_observed_client_is_served_with_any_certificate() {
    let issuer = Issuer::new();
    let mut server = serve(certificates(Observe, &issuer, &[API_SERVER])).await;
    for (shown, thought) in everything(&issuer) {
        let config = shown_by(&shown, server.authority.roots(), &TLS13);
        let reply = Client::connect(server.address, config).await.review().await;
        assert_eq!(reply.status, StatusCode::OK, "{thought}");
        assert_eq!(server.event().await, format!("client {thought}"));
        assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
    }
}

#[tokio::test]
async fn without_authentication_no_client_is_judged() {
    let issuer = Issuer::new();
    let tokens = Arc::new(Tokens);
    let mut server = serve(certificates(Off, &issuer, &[]).with_tokens(tokens)).await;
    for (shown, _) in everything(&issuer) {
        let config = shown_by(&shown, server.authority.roots(), &TLS13);
        let mut client = Client::connect(server.address, config).await;
        assert_eq!(client.send(with_token("Bearer canary-wrong")).await.status, StatusCode::OK);
        assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
    }
}

#[tokio::test]
async fn without_names_every_client_of_the_authorities_may_call() {
    let issuer = Issuer::new();
    let server = serve(certificates(Require, &issuer, &[])).await;
    let config = shown_by(&issuer.client("anybody"), server.authority.roots(), &TLS13);
    assert_eq!(Client::connect(server.address, config).await.review().await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_certificate_chain_over_the_limit_fails_the_handshake() {
    let issuer = Issuer::new();
    let mut server = serve(certificates(Observe, &issuer, &[])).await;
    let mut shown = issuer.client(API_SERVER);
    shown.chain.extend(vec![issuer.certificate(); 100]);
    let config = shown_by(&shown, server.authority.roots(), &TLS12);
    assert!(handshake(server.address, config, NAME).await.is_err());
    assert!(server.event().await.starts_with("handshake "));
}

#[tokio::test]
async fn authorities_are_replaced_for_connections_that_are_open_too() {
    let (old, new) = (Issuer::new(), Issuer::new());
    let authorities = Arc::new(ClientAuthorities::new(&[old.certificate()], Vec::new()).unwrap());
    let mut server = serve(Clients::new(Observe).with_certificates(Arc::clone(&authorities))).await;
    let config = shown_by(&new.client(API_SERVER), server.authority.roots(), &TLS13);
    let mut client = Client::connect(server.address, config).await;
    for (now, thought) in [
        (vec![&old], "client invalid unknown_authority"),
        (vec![&old, &new], "client certificate "),
        (vec![&old], "client invalid unknown_authority"),
        (vec![&new], "client certificate "),
    ] {
        let now: Vec<_> = now.iter().map(|issuer| issuer.certificate()).collect();
        authorities.replace(&now).unwrap();
        assert_eq!(client.review().await.status, StatusCode::OK);
        assert_eq!(server.event().await, thought);
        assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
    }
    assert!(authorities.replace(&[]).is_err());
    client.review().await;
    assert_eq!(server.event().await, "client certificate ", "what cannot be used replaces nothing");
}

#[test]
fn a_certificate_that_is_no_ca_is_an_error() {
    let issuer = Issuer::new();
    let failure = |authorities: &[_]| ClientAuthorities::new(authorities, Vec::new()).err();
    assert_eq!(failure(&[]), Some(ClientAuthoritiesError::Empty));
    let own = issuer.client(API_SERVER).chain.remove(0);
    let not_its_own = Some(ClientAuthoritiesError::NoAuthority { number: 2 });
    assert_eq!(failure(&[issuer.certificate(), own]), not_its_own);
    let garbage = failure(&[vec![1, 2, 3].into()]);
    assert!(matches!(garbage, Some(ClientAuthoritiesError::Unreadable { number: 1, .. })), "{garbage:?}");
    assert_eq!(failure(&[issuer.certificate()]), None);
}

#[tokio::test]
async fn a_token_is_as_good_as_a_certificate() {
    for (authentication, refused) in [(Observe, StatusCode::OK), (Require, StatusCode::UNAUTHORIZED)] {
        let mut server = serve(Clients::new(authentication).with_tokens(Arc::new(Tokens))).await;
        for (authorization, status, thought) in [
            ("Bearer canary-right", StatusCode::OK, "token "),
            ("bearer canary-right", StatusCode::OK, "token "),
            ("Bearer canary-elsewhere", refused, "invalid audience"),
            ("Bearer canary-wrong", refused, "invalid signature"),
            ("Basic cmlnaHQ=", refused, "none "),
            ("canary-right", refused, "none "),
        ] {
            let reply = server.connect().await.send(with_token(authorization)).await;
            assert_eq!(reply.status, status, "{authorization}");
            assert_eq!(server.event().await, format!("client {thought}"));
            server.event().await;
            assert!(!reply.body.contains("canary"), "{}", reply.body);
        }
        assert_eq!(server.connect().await.review().await.status, refused);
        let long = format!("Bearer {}", "a".repeat(20_000));
        assert_eq!(server.connect().await.send(with_token(&long)).await.status, refused);
    }
}

#[tokio::test]
async fn a_valid_token_suffices_with_an_invalid_certificate() {
    let issuer = Issuer::new();
    let clients = certificates(Require, &issuer, &[API_SERVER]).with_tokens(Arc::new(Tokens));
    let mut server = serve(clients).await;
    for (shown, authorization, thought) in [
        (issuer.client(API_SERVER), "Bearer canary-wrong", "client certificate "),
        (issuer.client("kubelet"), "Bearer canary-right", "client token "),
        (issuer.client("kubelet"), "Bearer canary-wrong", "client invalid signature"),
        (issuer.client("kubelet"), "Basic x", "client invalid name"),
        (Shown::default(), "Bearer canary-right", "client token "),
    ] {
        let config = shown_by(&shown, server.authority.roots(), &TLS13);
        Client::connect(server.address, config).await.send(with_token(authorization)).await;
        assert_eq!(server.event().await, thought);
        server.event().await;
    }
}

#[tokio::test]
async fn no_body_of_an_unknown_client_is_read_and_no_path_is_revealed() {
    let server = serve(Clients::new(Require).with_tokens(Arc::new(Tokens))).await;
    for path in [HOOK, "/unknown"] {
        let mut stream = server.tls().await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: {NAME}\r\ncontent-length: 1000000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![0; 1024];
        let length = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
}

/// Accepts one token, and rejects all others.
struct Tokens;

impl VerifyToken for Tokens {
    fn verify<'a>(
        &'a self,
        token: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), CredentialError>> + Send + 'a>> {
        Box::pin(async move {
            match token {
                "canary-right" => Ok(()),
                "canary-elsewhere" => Err(CredentialError::Audience),
                _ => Err(CredentialError::Signature),
            }
        })
    }
}

fn with_token(authorization: &str) -> Request<Full<Bytes>> {
    let request = Request::post(HOOK).header("authorization", authorization);
    request.body(Full::new(review("1").into())).unwrap()
}
