//! A real run under a real Prometheus. `cargo xtask watching` builds and runs it.
//!
//! An injector and a webhook serve a kube-apiserver, healthy at first and then with every trouble that has an alert. Prometheus
//! scrapes them each second. Then every query of `deploy/dashboard.json` must have data, every alert of `deploy/alerts.yaml` must
//! have fired, and the commands of the pages about alerts are run. Start reading at [`run`], then in `troubles.rs`.

// The output is for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod alerts;
mod api;
mod app;
mod cluster;
mod load;
mod page;
mod panels;
mod picture;
mod pods;
mod prometheus;
mod runbooks;
mod troubles;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::time::sleep;

use self::cluster::Cluster;
use self::load::Load;
use self::page::Run;
use self::prometheus::Prometheus;

/// Runs an injector and a webhook under Prometheus, and checks the dashboard, the alerts and their pages
#[derive(Parser)]
#[command(name = "watching")]
struct Options {
    /// Write the page and the picture into docs/reference
    #[arg(long)]
    write: bool,
    /// Seconds of load before the troubles begin
    #[arg(long, default_value_t = 45)]
    healthy: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    // The webhook of the run is this program too, as a process of its own.
    if let Some("serve" | "manifests") = std::env::args().nth(1).as_deref() {
        return vestibule_command::run(app::app()).await;
    }
    match run(&Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("watching: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every query had data, every alert fired and every command did what its page says.
async fn run(options: &Options) -> anyhow::Result<bool> {
    say("starting kube-apiserver, an injector and a webhook");
    let mut cluster = Cluster::start().await?;
    let prometheus = Prometheus::start(&cluster).await?;
    say(&format!("healthy for {} s", options.healthy));
    let load = Load::start(&cluster);
    sleep(Duration::from_secs(options.healthy / 3)).await;
    cluster.change_rule().await?;
    cluster.rotate("webhook")?;
    sleep(Duration::from_secs(options.healthy * 2 / 3)).await;

    say("trouble");
    let trouble = prometheus.now();
    load.trouble();
    let background = troubles::make(&mut cluster, &prometheus).await?;
    let fired = alerts::wait(&prometheus, trouble).await?;
    say("queries of the dashboard");
    let panels = panels::ask(&prometheus).await?;
    say("commands of the pages");
    let commands = runbooks::run(&cluster, &prometheus).await?;
    drop((background, load));

    let date = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let run = Run { date, version: prometheus.version().await?, trouble, fired, panels, commands };
    println!("{run}");
    if options.write && !run.is_good() {
        say("nothing is written, because the run is not good");
    } else if options.write {
        let folder = root().join("docs/reference");
        std::fs::write(folder.join("watching-run.md"), run.page())?;
        std::fs::write(folder.join("watching-run.svg"), picture::draw(&run.panels, trouble, &run.date))?;
        say("docs/reference/watching-run.md and its picture are written");
    }
    Ok(run.is_good())
}

fn say(what: &str) {
    eprintln!("watching: {what}");
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
