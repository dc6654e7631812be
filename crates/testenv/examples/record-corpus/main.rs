//! Records the AdmissionReviews that a real kube-apiserver sends, for tests without an API server.
//!
//! `cargo run -p vestibule-testenv --example record-corpus` replaces the reviews in `tests/corpus`.
//!
//! `calls.yaml` lists the calls, `record.rs` makes them and writes the reviews, `normalize.rs` removes what differs from run to run.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod calls;
mod normalize;
mod record;

use std::path::Path;
use std::process::ExitCode;

use record::Corpus;
use vestibule_testenv::Environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    match record(&folder).await {
        Ok(count) => {
            println!("{count} reviews in {}", folder.canonicalize().unwrap_or(folder).display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn record(folder: &Path) -> anyhow::Result<usize> {
    let environment = Environment::start().await?;
    let mut corpus = Corpus::start(&environment, folder).await?;
    for call in calls::all()? {
        corpus.make(&call).await?;
    }
    corpus.finish().await
}
