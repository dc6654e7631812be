//! `certs show`: the ring, and the bundles that it is in.

mod json;
pub(super) mod ring_report;
mod table;

use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use vestibule_identity::{NamespacedName, RegistrationName};

use self::ring_report::{RingReport, Selection};
use super::check::not_probed;
use super::print;
use super::probe::{Probe, Probed};
use super::ring_arguments::RingArguments;
use crate::CommandError;
use crate::colour::When;

/// Shows the CA ring of a webhook, and the bundle of each configuration: CAs, their ends, differences.
///
/// Exit code: 0 all in sync, 1 something differs, 2 bad input or a missing right, 3 cluster or server not reachable. Keys
/// are never shown. Needs the right to get the Secret and the configurations; to list them where they are not named.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule certs show --service demo/hooks
  vestibule certs show --secret demo/hooks-ring --registration mutating/hooks -o json
  vestibule certs show --service demo/hooks --address 127.0.0.1:8443   # after kubectl port-forward")]
pub(super) struct Arguments {
    #[command(flatten)]
    ring: RingArguments,
    /// A configuration to look at; may be given several times. Default: the ones that the ring's replicas have written.
    #[arg(long, env = "VESTIBULE_REGISTRATION", value_delimiter = ',')]
    #[arg(value_name = "[mutating/|validating/|crd/|apiservice/]NAME")]
    registration: Vec<RegistrationName>,
    /// A server to ask for its certificate, which is checked against the ring's bundle. With --service.
    #[arg(long, value_name = "HOST:PORT", requires = "service")]
    address: Option<String>,
    /// A table for people, or JSON.
    #[arg(long, short, value_enum, default_value = "text")]
    output: Output,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

impl Arguments {
    pub(super) async fn run(&self) -> Result<ExitCode, CommandError> {
        let ring = self.ring.connect().await?;
        let now = SystemTime::now();
        let selection = Selection {
            secret: ring.secret.clone(),
            service: ring.service.clone(),
            registrations: self.registration.clone(),
        };
        let report = RingReport::read(&selection, &ring.objects(), now).await;
        let report = report.map_err(|error| ring.failed(error))?;
        let probed = match (&self.address, &ring.service) {
            (Some(address), Some(service)) => Some(probe(address, service, &report, now).await),
            _ => None,
        };
        let leaf = probed.as_ref().and_then(|probed| probed.as_ref().ok());
        // A ring without a configuration is not in sync.
        let is_in_sync = report.is_in_sync() && !report.registrations.is_empty();
        match self.output {
            Output::Text => print(&table::write(&report, leaf, now, self.color.palette()))?,
            Output::Json => print(&json::write(&report, leaf, is_in_sync))?,
        }
        // The report is printed already.
        let leaf = probed.transpose()?;
        if report.registrations.is_empty() && !report.notes.is_empty() {
            return Err(CommandError::input(
                "no configuration could be looked at: grant what the notes say, or name one with --registration",
            ));
        }
        let accepted = leaf.is_none_or(|leaf| leaf.refusals.is_empty());
        Ok(if is_in_sync && accepted { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

async fn probe(
    address: &str,
    service: &NamespacedName,
    report: &RingReport,
    now: SystemTime,
) -> Result<Probed, CommandError> {
    let name = format!("{}.{}.svc", service.name, service.namespace);
    let probe = Probe::new(address, &name, &report.bundle);
    let probed = tokio::task::spawn_blocking(move || probe.run(now)).await.map_err(CommandError::running)?;
    probed.map_err(not_probed)
}
