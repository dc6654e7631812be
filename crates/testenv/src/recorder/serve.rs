//! The server of a recorder: TLS and HTTP/1.1, as a Service's backend has them.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::{Answer, Recorded, Records};

/// Serves one connection. Errors are ignored: the client sees them.
pub(super) async fn serve(stream: TcpStream, tls: TlsAcceptor, records: Arc<Records>) {
    let Ok(stream) = tls.accept(stream).await else { return };
    let server_name = stream.get_ref().1.server_name().map(str::to_owned);
    let service = service_fn(|request| record(request, server_name.clone(), &records));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn record(
    request: Request<Incoming>,
    server_name: Option<String>,
    records: &Records,
) -> Result<Response<Full<Bytes>>, HungUp> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Err(HungUp) };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let answer = records.record(Recorded {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        server_name,
        protocol: format!("{:?}", head.version),
        host: host.unwrap_or_default().to_owned(),
        body: body.to_bytes(),
        headers: head.headers,
    });
    match answer {
        Answer::Http { status, headers, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Full::from(body)).map_err(|_| HungUp)
        }
        Answer::Silence => std::future::pending().await,
        _ => Err(HungUp),
    }
}

/// Ends the connection without an answer.
#[derive(Debug, Error)]
#[error("the recorder ends the connection")]
struct HungUp;
