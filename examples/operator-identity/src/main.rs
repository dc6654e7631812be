//! Runs the operator, or prints what it needs: `operator-identity --help`.

#![allow(clippy::print_stdout, reason = "manifests are printed")]

use clap::{Parser, Subcommand};
use kube::Client;
use operator_identity::manifests;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use vestibule_identity::{NamespacedName, Source, cluster_config};

/// A small operator whose conversion webhook maintains its own certificate.
#[derive(Parser)]
struct Arguments {
    /// The source of the certificate.
    #[arg(
        long,
        env = "IDENTITY",
        default_value = "self",
        value_name = "self|mounted:DIR|local:DIR|off",
        global = true
    )]
    identity: Source,
    /// The namespace to work in. Unless given and not empty, the ServiceAccount's or the kubeconfig context's.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE", global = true)]
    namespace: Option<String>,
    /// The Service in front of the operator.
    #[arg(long, default_value = "widgets", value_name = "NAME", global = true)]
    service: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves conversions and reconciles widgets.
    Run {
        /// The address to serve conversions on.
        #[arg(long, default_value = "0.0.0.0:10250")]
        listen: String,
    },
    /// Prints the custom resource's definition and the operator's rights, for `kubectl apply -f -`.
    Manifests,
}

/// Resolves at SIGTERM or Ctrl-C.
fn signalled() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let Arguments { identity, namespace, service, command } = Arguments::parse();
    let namespace = match namespace.filter(|text| !text.is_empty()) {
        Some(namespace) => namespace,
        None => cluster_config(None, None).await?.default_namespace,
    };
    let service = NamespacedName { namespace: namespace.clone(), name: service };
    match command {
        Command::Run { listen } => {
            let settings = operator_identity::settings(service);
            let listener =
                if identity == Source::Off { None } else { Some(TcpListener::bind(listen).await?) };
            let identity = identity.open(&settings, None).await?;
            let client = Client::try_default().await?;
            // Also while it waits for its certificate, and as the first process of a container.
            tokio::select! {
                ended = operator_identity::run(client, identity, listener, &namespace) => ended?,
                () = signalled()? => tracing::info!("ended by a signal"),
            }
        }
        Command::Manifests => {
            let objects = manifests::manifests(&identity, &service, 443);
            println!("{:#}", manifests::list(&objects));
        }
    }
    Ok(())
}
