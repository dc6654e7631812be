//! The floor: the least that any webhook on hyper and rustls does. It reads the body and answers a constant of the size of an
//! injector's answer.

// A program tells its failure on the terminal.
#![allow(clippy::print_stderr)]

use std::convert::Infallible;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The size of an answer with a patch of three operations in base64, in bytes.
const ANSWER: usize = 1_037;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-floor: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (address, folder) = (arguments.next().context("ADDRESS")?, arguments.next().context("FOLDER")?);
    let acceptor = acceptor(Path::new(&folder))?;
    let listener = TcpListener::bind(address).await?;
    let answer = Bytes::from(format!("{{\"filler\":\"{}\"}}", "x".repeat(ANSWER - 13)));
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, answer) = (acceptor.clone(), answer.clone());
        tokio::spawn(async move {
            stream.set_nodelay(true).ok()?;
            let stream = acceptor.accept(stream).await.ok()?;
            let service = service_fn(move |request| respond(request, answer.clone()));
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok()
        });
    }
}

fn acceptor(folder: &Path) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_file_iter(folder.join("tls.crt"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // kube-apiserver never resumes a session, so tickets would be waste.
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Reads the body without keeping it.
async fn respond(request: Request<Incoming>, answer: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut body = pin!(request.into_body());
    let mut response = Response::new(Full::new(answer));
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            break;
        }
    }
    Ok(response)
}
