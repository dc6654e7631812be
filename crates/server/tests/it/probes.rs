//! The plain port: liveness, readiness and metrics; and servers that cannot start.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use vestibule_admission::Hook;
use vestibule_server::{BindError, CertificateCell, Server, Settings};

use crate::harness::{Client, HOOK, TIMEOUT, allow, serve, serve_limited, serve_with};

#[tokio::test]
async fn the_probe_port_answers_probes_only() {
    let server = serve(allow()).await;
    let mut client = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    for (method, path, status) in [
        (Method::GET, "/livez", StatusCode::OK),
        (Method::HEAD, "/readyz", StatusCode::OK),
        (Method::GET, "/readyz?verbose", StatusCode::OK),
        (Method::GET, "/metrics", StatusCode::NOT_FOUND),
        (Method::GET, HOOK, StatusCode::NOT_FOUND),
        (Method::POST, "/livez", StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let reply = client.method(method, path).await;
        assert_eq!(reply.status, status, "{path}");
        let allowed = if status == StatusCode::METHOD_NOT_ALLOWED { "GET, HEAD" } else { "" };
        assert_eq!(reply.header("allow"), allowed, "{path}");
    }
}

/// Three times the limit: silent connections, some in the middle of a head, and some that are idle after an answer.
#[tokio::test]
async fn idle_connections_to_the_probe_port_delay_no_probe() {
    let server = serve(allow()).await;
    let connect = || async { TcpStream::connect(server.probes.unwrap()).await.unwrap() };
    let come_and_ask = async {
        let (mut idle, mut resting) = (Vec::new(), Vec::new());
        for _ in 0..64 {
            idle.push(connect().await);
            let mut slow = connect().await;
            slow.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
            idle.push(slow);
            let mut probe = Client::over(connect().await).await;
            assert_eq!(probe.method(Method::GET, "/livez").await.status, StatusCode::OK);
            resting.push(probe);
        }
        (idle, resting)
    };
    let longest = Settings::default().idle_timeout / 2;
    assert!(timeout(longest, come_and_ask).await.is_ok(), "a probe was not answered beside idle connections");
}

#[tokio::test]
async fn readiness_names_what_is_missing() {
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings.probes = Some(settings.listen);
    let server = Server::new(settings, Arc::new(CertificateCell::default()))
        .hooks_ready_when("namespaces", || Some(String::new()))
        .bind()
        .await
        .unwrap();
    let probes = server.probes_address().unwrap();
    tokio::spawn(server.serve());
    let mut client = Client::over(TcpStream::connect(probes).await.unwrap()).await;
    let reply = client.method(Method::GET, "/readyz").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.body, "not ready: namespaces, a serving certificate");
    assert_eq!(client.method(Method::GET, "/livez").await.status, StatusCode::OK);
}

#[tokio::test]
async fn probe_conditions_fail_readyz_and_no_hook() {
    let missing = || Some("the first list of Pod".to_owned());
    let hook = Hook::mutating("hook", allow());
    let build = |server: Server| server.route(HOOK, hook, TIMEOUT).probes_ready_when("lookups", missing);
    let server = serve_with(|_| {}, build).await;
    let mut probes = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    let reply = probes.method(Method::GET, "/readyz").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.body, "not ready: the first list of Pod");
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
}

#[tokio::test]
async fn each_condition_says_since_when_and_why_not() {
    let is_there = Arc::new(AtomicBool::new(false));
    let looked = Arc::clone(&is_there);
    let server = serve_with(
        |_| {},
        |server| {
            let why_not = move || (!looked.load(Ordering::SeqCst)).then(|| "3 of 5".to_owned());
            server.hooks_ready_when("prices", why_not).report(|| vec!["rules: 7".to_owned()])
        },
    )
    .await;
    let mut client = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    let reply = client.method(Method::GET, "/readyz?verbose").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    let lines: Vec<_> = reply.body.lines().collect();
    assert_eq!(lines[0], "not ready: prices (3 of 5)");
    assert!(lines[1].starts_with("[-]prices since 2") && lines[1].ends_with("Z: 3 of 5"), "{}", lines[1]);
    assert!(lines[2].starts_with("[+]certificate ok since 2"), "{}", lines[2]);
    assert!(lines[3].starts_with("[+]drain ok since 2"), "{}", lines[3]);
    assert_eq!(lines[4..], ["rules: 7"]);

    // A process that answers is alive; its line says since when.
    let reply = client.method(Method::GET, "/livez?verbose").await;
    assert_eq!(reply.status, StatusCode::OK);
    let (answer, line) = reply.body.split_once('\n').unwrap();
    assert!(answer == "ok" && line.starts_with("[+]process ok since 2") && line.ends_with('Z'), "{line}");

    // Not yet, then for good: neither what comes later nor the end takes it back.
    let reply = client.method(Method::GET, "/startupz?verbose").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.body.starts_with("not started: prices (3 of 5)\n[-]prices since "), "{}", reply.body);
    is_there.store(true, Ordering::SeqCst);
    assert_eq!(client.method(Method::GET, "/startupz").await.body, "ok");
    is_there.store(false, Ordering::SeqCst);
    server.shutdown.drain();
    let mut client = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    let reply = client.method(Method::GET, "/startupz?verbose").await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.body.contains("[-]prices since ") && reply.body.contains("Z: draining"), "{}", reply.body);
}

#[tokio::test]
async fn metrics_are_the_text_of_the_callback() {
    let server =
        serve_with(|_| {}, |server| server.metrics("application/openmetrics-text", || "# EOF\n".to_owned()))
            .await;
    let mut client = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    let reply = client.method(Method::GET, "/metrics").await;
    assert_eq!(
        (reply.body.as_str(), reply.header("content-type")),
        ("# EOF\n", "application/openmetrics-text")
    );
}

#[tokio::test]
async fn the_probe_port_can_be_off() {
    let server = serve_with(|settings| settings.probes = None, |server| server).await;
    assert_eq!(server.probes, None);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let bind = |settings, paths: &[&str]| {
        let server = Server::new(settings, Arc::new(CertificateCell::default()));
        let add = |server: Server, path: &&str| server.route(*path, Hook::mutating("hook", allow()), TIMEOUT);
        paths.iter().fold(server, add).bind()
    };
    let settings = || {
        let mut settings = Settings::default();
        settings.listen = "127.0.0.1:0".parse().unwrap();
        settings
    };
    let error = bind(settings(), &["/a", "/a"]).await.err().unwrap();
    assert!(matches!(&error, BindError::Path { path } if path == "/a"), "{error}");
    let error = bind(settings(), &["a"]).await.err().unwrap();
    assert!(matches!(&error, BindError::Relative { path } if path == "a"), "{error}");
    let first = bind(settings(), &[]).await.unwrap();
    let mut taken = settings();
    taken.listen = first.address();
    let error = bind(taken, &[]).await.err().unwrap();
    assert!(error.to_string().contains(&first.address().to_string()), "{error}");
}

#[tokio::test]
async fn probes_are_served_over_https_if_the_settings_say_so() {
    let server = serve_limited(|settings| settings.probes_over_https = true).await;
    let mut client = server.connect().await;
    for path in ["/livez", "/readyz", "/startupz"] {
        let reply = client.method(Method::GET, path).await;
        assert_eq!((reply.status, &*reply.body), (StatusCode::OK, "ok"), "{path}");
    }
    assert_eq!(client.method(Method::GET, "/metrics").await.status, StatusCode::NOT_FOUND);
    server.shutdown.drain();
    assert_eq!(client.method(Method::GET, "/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);

    let plain = serve(allow()).await;
    assert_eq!(plain.connect().await.method(Method::GET, "/readyz").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_unspecified_ipv6_address_also_accepts_ipv4() {
    let server = serve_with(
        |settings| {
            settings.listen = "[::]:0".parse().unwrap();
            settings.probes = Some(settings.listen);
        },
        |server| server,
    )
    .await;
    let probes = server.probes.unwrap();
    // A machine without IPv6 has IPv4 alone.
    let hosts = if probes.is_ipv6() { &["127.0.0.1", "::1"][..] } else { &["127.0.0.1"] };
    for host in hosts {
        let mut client = Client::over(TcpStream::connect((*host, probes.port())).await.unwrap()).await;
        assert_eq!(client.method(Method::GET, "/livez").await.status, StatusCode::OK, "{host}");
    }

    // A port that is taken is taken, and not had by IPv4 instead.
    let mut settings = Settings::default();
    settings.listen = probes;
    let taken = Server::new(settings, Arc::new(CertificateCell::default())).bind().await;
    assert!(matches!(taken.err(), Some(BindError::Listen { address, .. }) if address == probes));
}
