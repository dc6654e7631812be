//! A webhook whose certificates are renewed and rotated within seconds instead of months. It writes a [`ReplicaEvent`] per
//! line to standard output.

mod crash;
mod events;
mod leaf_first;
mod ring;
mod serve;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use fire::{Order, ReplicaEvent, Timing};
use kube::Config;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use vestibule_identity::Identity;
use vestibule_pki::ring::Algorithm;

use self::crash::CrashPoint;

#[derive(Parser)]
#[command(args_override_self = true)]
struct Arguments {
    /// The kubeconfig of the cluster
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The namespace of Service and Secret
    #[arg(long)]
    namespace: String,
    /// The name of the Service
    #[arg(long)]
    service: String,
    /// The webhook configuration, such as mutating/NAME
    #[arg(long)]
    registration: String,
    /// The Secret that replicas share
    #[arg(long)]
    secret: String,
    /// Order of changes in a rotation
    #[arg(long, value_enum, default_value_t = Order::Ring)]
    order: Order,
    /// Key algorithm of new CAs
    #[arg(long, default_value_t)]
    algorithm: Algorithm,
    /// A DNS name or IP address for the certificate, instead of the Service's names
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    crash: CrashPoint,
    #[command(flatten)]
    timing: Timing,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig).context("the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = ClientBuilder::try_from(config)?.with_layer(&arguments.crash).build();
    let identity: Arc<dyn Identity> = match arguments.order {
        Order::Ring => ring::start(client, &arguments)?,
        Order::LeafFirst => leaf_first::start(client, &arguments),
    };
    serve::run(identity).await
}

/// Writes an event and flushes it.
fn print_event(event: &ReplicaEvent) {
    use std::io::Write;
    let mut output = std::io::stdout().lock();
    let written = serde_json::to_string(event).map(|line| writeln!(output, "{line}"));
    // The parent may have closed the pipe.
    let _ = (written, output.flush());
}
