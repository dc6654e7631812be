//! The same webhook on hyper alone, which ends by hyper's `graceful_shutdown` of every connection. It loses calls in a
//! roll-out, and the control row of F01 checks that the rig detects them.

// The address goes to stderr, where `rig::Process` reads it.
#![allow(clippy::print_stderr)]

use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use vestibule_identity::{Identity, Local};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    fire::rig::end_with_stdin();
    let folder = PathBuf::from(std::env::args().nth(1).context("the folder of the CA")?);
    let acceptor = acceptor(&Local::open(&folder, &[fire::rig::NAME], SystemTime::now())?)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let (end, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    eprintln!("{}", json!({ "message": "serving", "address": listener.local_addr()?.to_string() }));
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                connections.spawn(serve(stream, acceptor.clone(), ended.clone()));
            }
            _ = terminated.recv() => break,
        }
    }
    drop(listener);
    end.send_replace(true);
    while connections.join_next().await.is_some() {}
    Ok(())
}

fn acceptor(identity: &Local) -> anyhow::Result<TlsAcceptor> {
    let leaf = identity.present().context("a certificate")?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(leaf.chain.clone(), leaf.key.clone_key())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, mut ended: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = &mut connection => return,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Allows every request after 100 ms, like the hook `wait` of the other webhook.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let review: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": true },
    });
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}
