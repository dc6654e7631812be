//! The conversion webhook: HTTP/1.1 over TLS, one path, and a probe.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kube::core::Status;
use kube::core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use vestibule_identity::Identity;

use crate::widget;

/// The longest timeout of an API server.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A list is converted in one request.
const LARGEST: usize = 64 * 1024 * 1024;

/// Answers on `listener` for ever. `/readyz` is 200 once the identity is ready; before there is a certificate no
/// handshake succeeds, which a probe takes for the same.
pub async fn serve(listener: TcpListener, tls: TlsAcceptor, identity: Arc<dyn Identity>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, tls.clone(), identity.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Usually too many files are open; some connections will have ended after the pause.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, tls: TlsAcceptor, identity: Arc<dyn Identity>) {
    let stream = match tokio::time::timeout(TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => TokioIo::new(stream),
        // The client knows the reason and does not send it, so it is not logged.
        Ok(Err(error)) => return tracing::debug!(%error, "a handshake failed"),
        Err(_) => return tracing::debug!("a client began a handshake and went on waiting"),
    };
    let service = service_fn(|request| answer(request, identity.clone()));
    // One request for each connection: a trust problem shows at once, not at the next reconnect.
    if let Err(error) = http1::Builder::new().keep_alive(false).serve_connection(stream, service).await {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn answer(
    request: Request<Incoming>,
    identity: Arc<dyn Identity>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/readyz") => match identity.status().waiting_for {
            None => text(StatusCode::OK, "ok".to_owned()),
            Some(what) => text(StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {what}")),
        },
        (&Method::POST, "/convert") => match Limited::new(request.into_body(), LARGEST).collect().await {
            Ok(body) => review(&body.to_bytes()),
            Err(_) => text(StatusCode::BAD_REQUEST, "the body cannot be read".to_owned()),
        },
        _ => text(StatusCode::NOT_FOUND, "there is /convert and /readyz".to_owned()),
    })
}

fn review(body: &[u8]) -> Response<Full<Bytes>> {
    let request = serde_json::from_slice::<ConversionReview>(body).ok().map(ConversionRequest::from_review);
    let Some(Ok(mut request)) = request else {
        return text(StatusCode::BAD_REQUEST, "no ConversionReview with a request".to_owned());
    };
    let objects = std::mem::take(&mut request.objects);
    let converted: Result<Vec<_>, _> =
        objects.into_iter().map(|object| widget::convert(object, &request.desired_api_version)).collect();
    let response = ConversionResponse::for_request(request);
    let response = match converted {
        Ok(objects) => response.success(objects),
        Err(reason) => response.failure(Status::failure(&reason, "Invalid")),
    };
    match serde_json::to_vec(&response.into_review()) {
        Ok(body) => {
            let mut response = Response::new(Full::from(body));
            let json = hyper::header::HeaderValue::from_static("application/json");
            response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}
