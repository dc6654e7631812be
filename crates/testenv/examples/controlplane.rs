//! Finds or builds the control plane of the tests, kubectl and helm, with progress on standard error.
//!
//! `cargo run -p vestibule-testenv --example controlplane` prints where the programs are;
//! `... -- openapi FOLDER` starts them and writes the OpenAPI v3 documents into the folder;
//! `... -- run` starts them until Ctrl-C, to experiment with.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

use vestibule_testenv::{Binaries, Environment, Tools};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => find(),
        ["openapi", folder] => openapi(Path::new(folder)),
        ["run"] => run(),
        _ => {
            eprintln!("usage: controlplane [run | openapi FOLDER]");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn find() -> Outcome {
    let binaries = Binaries::find()?;
    println!("etcd            {}", binaries.etcd.display());
    println!("kube-apiserver  {}", binaries.kube_apiserver.display());
    match Tools::find() {
        Ok(Tools { kubectl, helm3, helm4, .. }) => {
            for (name, path) in [("kubectl", kubectl), ("helm 3", helm3), ("helm 4", helm4)] {
                println!("{name:15} {}", path.display());
            }
        }
        // Optional, because few tests need them.
        Err(error) => eprintln!("{error}"),
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn openapi(folder: &Path) -> Outcome {
    let documents = Environment::start().await?.openapi().await?;
    std::fs::create_dir_all(folder)?;
    for (path, document) in &documents {
        let file = folder.join(format!("{}_openapi.json", path.replace('/', "__")));
        std::fs::write(file, serde_json::to_string_pretty(document)?)?;
    }
    println!("{} documents in {}", documents.len(), folder.display());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Outcome {
    let environment = Environment::start().await?;
    println!("export KUBECONFIG={}", environment.kubeconfig().display());
    // All processes and files are removed when this process ends.
    std::future::pending().await
}
