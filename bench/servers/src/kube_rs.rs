//! The webhook as it is commonly written in Rust: axum, the review types of kube, and a difference of two trees.

// A program tells its failure on the terminal.
#![allow(clippy::print_stderr)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use axum::{Json, Router};
use axum_server::tls_rustls::RustlsConfig;
use bench_servers::sidecar;
use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};

/// axum's own limit is smaller than the largest review.
const LARGEST: usize = 16 << 20;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-kube-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().context("ADDRESS")?.parse()?;
    let folder = PathBuf::from(arguments.next().context("FOLDER")?);
    let tls = RustlsConfig::from_pem_file(folder.join("tls.crt"), folder.join("tls.key")).await?;
    let app = Router::new()
        .route("/mutate", post(mutate))
        .route("/validate", post(validate))
        .route("/deny", post(deny))
        .layer(DefaultBodyLimit::max(LARGEST));
    axum_server::bind_rustls(address, tls).serve(app.into_make_service()).await?;
    Ok(())
}

async fn mutate(Json(review): Json<AdmissionReview<Pod>>) -> Json<AdmissionReview<DynamicObject>> {
    let request: AdmissionRequest<Pod> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return Json(AdmissionResponse::invalid(error).into_review()),
    };
    let mut response = AdmissionResponse::from(&request);
    if let Some(pod) = request.object {
        response = match change(response, &pod) {
            Ok(response) => response,
            Err(error) => AdmissionResponse::invalid(error),
        };
    }
    Json(response.into_review())
}

fn change(response: AdmissionResponse, pod: &Pod) -> anyhow::Result<AdmissionResponse> {
    let mut changed = pod.clone();
    if let Some(spec) = &mut changed.spec {
        sidecar::add(&mut changed.metadata, spec);
    }
    let patch = json_patch::diff(&serde_json::to_value(pod)?, &serde_json::to_value(&changed)?);
    Ok(response.with_patch(patch)?)
}

/// Allows every pod that has a container.
async fn validate(Json(review): Json<AdmissionReview<Pod>>) -> Json<AdmissionReview<DynamicObject>> {
    let request: AdmissionRequest<Pod> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return Json(AdmissionResponse::invalid(error).into_review()),
    };
    let mut response = AdmissionResponse::from(&request);
    let spec = request.object.as_ref().and_then(|pod| pod.spec.as_ref());
    if spec.is_some_and(|spec| spec.containers.is_empty()) {
        response = response.deny("a pod needs a container");
    }
    Json(response.into_review())
}

/// Denies every pod.
async fn deny(Json(review): Json<AdmissionReview<Pod>>) -> Json<AdmissionReview<DynamicObject>> {
    let request: AdmissionRequest<Pod> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return Json(AdmissionResponse::invalid(error).into_review()),
    };
    Json(AdmissionResponse::from(&request).deny("no pod today").into_review())
}
