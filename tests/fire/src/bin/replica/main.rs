//! A webhook with a certificate that looks after itself, in seconds instead of months. It tells on standard output what
//! it does, one [`Fact`] to a line, and ends when its standard input does: so it never outlives a soak.

mod facts;
mod leaf_first;
mod ring;
mod serve;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use fire::{Fact, Order, Timing};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use vestibule_identity::Leaf;

#[derive(Parser)]
struct Arguments {
    /// The cluster, and as whom to speak to it
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The namespace of Service and Secret
    #[arg(long)]
    namespace: String,
    /// The Service in front of it
    #[arg(long)]
    service: String,
    /// The MutatingWebhookConfiguration that calls it
    #[arg(long)]
    registration: String,
    /// The Secret that replicas share
    #[arg(long)]
    secret: String,
    /// What is changed first when the CA is
    #[arg(long, value_enum, default_value_t = Order::Ring)]
    order: Order,
    #[command(flatten)]
    timing: Timing,
}

/// Where the certificate comes from, as the server needs it.
trait Source: Send + Sync + 'static {
    fn present(&self) -> Option<Arc<Leaf>>;
    /// [`None`] when ready.
    fn waiting_for(&self) -> Option<String>;
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).init();
    std::thread::spawn(end_with_input);
    let arguments = Arguments::parse();
    let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig).context("the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let source: Arc<dyn Source> = match arguments.order {
        Order::Ring => ring::start(client, &arguments)?,
        Order::LeafFirst => leaf_first::start(client, &arguments),
    };
    serve::run(source).await
}

/// Whoever started this process holds the other end.
#[expect(clippy::disallowed_methods, reason = "nobody is left to be told anything")]
fn end_with_input() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(1);
}

/// One line, at once.
fn tell(fact: &Fact) {
    use std::io::Write;
    let mut output = std::io::stdout().lock();
    let written = serde_json::to_string(fact).map(|line| writeln!(output, "{line}"));
    // Without a listener there is nobody to tell.
    let _ = (written, output.flush());
}
