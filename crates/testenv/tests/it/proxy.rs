use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use vestibule_testenv::{Proxy, shared_or_skip};

use crate::objects::{client_of, create, url_and_user_of};

const PATIENCE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn delayed_bytes_arrive_later_and_in_order() {
    let proxy = Proxy::before(echo().await).unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut stream, b"at once").await.unwrap(), b"at once");

    proxy.delay(PATIENCE);
    let start = Instant::now();
    stream.write_all(b"one, ").await.unwrap();
    stream.write_all(b"two").await.unwrap();
    let mut heard = [0; 8];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"one, two");
    assert!(start.elapsed() >= PATIENCE, "{:?}", start.elapsed());

    // The change applies to bytes in the proxy too.
    proxy.delay(Duration::from_secs(3600));
    stream.write_all(b"x").await.unwrap();
    assert!(timeout(PATIENCE, stream.read_u8()).await.is_err());
    proxy.delay(Duration::ZERO);
    assert_eq!(stream.read_u8().await.unwrap(), b'x');

    // The connection is closed after all bytes have arrived.
    proxy.delay(PATIENCE);
    stream.write_all(b"last").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"last");
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn a_held_connection_stays_open_and_a_cut_one_is_closed() {
    let proxy = Proxy::before(echo().await).unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut stream, b"hello").await.unwrap();
    assert_eq!(proxy.connections(), 1);

    proxy.hold();
    assert!(timeout(PATIENCE, exchange(&mut stream, b"held")).await.is_err());
    let mut other = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(timeout(PATIENCE, exchange(&mut other, b"held")).await.is_err());
    proxy.resume();
    let mut heard = [0; 4];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"held");

    // A cut that ends at once closes the connections too.
    proxy.cut();
    proxy.resume();
    assert!(exchange(&mut stream, b"gone").await.is_err());
    proxy.cut();
    let mut refused = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(exchange(&mut refused, b"gone").await.is_err());
    assert_eq!((proxy.accepted(), proxy.refused()), (2, 1));
    proxy.resume();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut stream, b"hello").await.unwrap();

    let address = proxy.address();
    drop(proxy);
    assert!(exchange(&mut stream, b"gone").await.is_err());
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn one_connection_is_cut_in_the_middle_of_a_message_and_others_are_not() {
    let proxy = Proxy::before(echo().await).unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let mut other = TcpStream::connect(proxy.address()).await.unwrap();
    proxy.cut_after(9);
    assert_eq!(exchange(&mut other, b"hello").await.unwrap(), b"hello");
    stream.write_all(b"cut off").await.unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"cut ");
    assert_eq!(exchange(&mut other, b"hello").await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_replica_loses_the_api_server_and_reconnects() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let (proxy, server) = env.api_server().proxied().unwrap();
    let robot = server.service_account_kubeconfig(namespace.name(), "robot").await.unwrap();
    let (url, user) = url_and_user_of(&robot).await;
    assert_eq!(url, format!("https://{}/", proxy.address()));
    assert_eq!(user, format!("system:serviceaccount:{namespace}:robot"));

    let (_, client) = client_of(&server.kubeconfig().unwrap()).await;
    create(client.clone(), namespace.name()).await.unwrap();
    proxy.cut();
    create(client.clone(), namespace.name()).await.expect_err("the API is gone");
    create(env.admin().unwrap(), namespace.name()).await.expect("other replicas are not affected");
    server
        .service_account_kubeconfig(namespace.name(), "other")
        .await
        .expect("a token is requested past the proxy");
    proxy.resume();
    create(client, namespace.name()).await.unwrap();
}

/// Sends `word`, and returns the same number of bytes of the answer.
async fn exchange(stream: &mut TcpStream, word: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(word).await?;
    let mut heard = vec![0; word.len()];
    stream.read_exact(&mut heard).await?;
    Ok(heard)
}

/// A server that echoes.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    address
}
