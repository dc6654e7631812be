//! A reload run: an environment, the injector as its manifests install it, and the changes of its rules.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use vestibule_testenv::{Child, Environment, Service};

use super::{Figures, InjectorFixture, RuleChanges, versions};
use crate::rig::Installed;

/// Changes rules under load on a real kube-apiserver, judges every pod, and counts the creates that fail
#[derive(Clone, Debug, Parser)]
#[command(name = "reload")]
pub struct Options {
    /// Number of good versions, and of bad versions between them. Half of the bad ones are refused by validation; the
    /// other half is stored with validation off
    #[arg(long, default_value_t = 100)]
    pub versions: usize,
    /// Creates per second, by two clients
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// Number of replicas
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub replicas: u16,
    /// Time in each mode, in seconds
    #[arg(long, default_value_t = 3)]
    pub stay: u64,
}

/// Starts an API server and the injector `program`, and changes its rules; `say` gets progress lines.
///
/// # Errors
/// A process does not start, or a rule version or mode does not have its effect. Wrong pods and failed creates are in the
/// figures.
pub async fn run(options: &Options, program: &Path, say: fn(&str)) -> anyhow::Result<Figures> {
    say("starting an API server");
    let environment = Environment::start().await?;
    let (fixture, _service, replicas) = install(&environment, options, program).await?;
    say("replicas are ready");
    let clients = vec![environment.admin()?, environment.admin()?];
    let mut changes = RuleChanges::begin(&fixture, clients, options.rate).await?;
    let done = versions_and_switches(&mut changes, options, say).await;
    let mut figures = changes.end().await;
    figures.due = options.rate;
    if let Err(error) = done {
        let logs: Vec<_> = replicas.iter().map(Child::log).collect();
        return Err(error.context(format!("{}\n{figures}", logs.join("\n"))));
    }
    Ok(figures)
}

async fn versions_and_switches(
    changes: &mut RuleChanges<'_>,
    options: &Options,
    say: fn(&str),
) -> anyhow::Result<()> {
    for _ in 0..options.versions / 2 {
        changes.write_refused().await?;
        changes.write_good().await?;
    }
    say("validation is off");
    changes.stop_validation().await?;
    for _ in options.versions / 2..options.versions {
        changes.write_stored().await?;
        changes.write_good().await?;
    }
    say("modes");
    changes.switch_modes(Duration::from_secs(options.stay)).await
}

async fn install(
    environment: &Environment,
    options: &Options,
    program: &Path,
) -> anyhow::Result<(InjectorFixture, Service, Vec<Child>)> {
    let (home, pod_namespace) = (environment.namespace(&[]).await?, environment.namespace(&[]).await?);
    let rules = environment.folder().join("rules.yaml");
    std::fs::write(&rules, versions::good(0, pod_namespace.name()))?;
    let rules = format!("--rules={}", rules.display());
    let installed = Installed::new(environment, program, (home.name(), "injector"), &[&rules]).await?;
    let (mut children, mut probes) = (Vec::new(), Vec::new());
    for _ in 0..options.replicas {
        let replica = installed.start_replica(&[]).await?;
        children.push(replica.process);
        probes.push(replica.probes);
    }
    if let Err(error) = installed.service.wait_for_replicas(children.len()).await {
        let logs: Vec<_> = children.iter().map(Child::log).collect();
        return Err(error).context(logs.join("\n"));
    }
    let fixture = InjectorFixture {
        admin: environment.admin()?,
        home: home.name().to_owned(),
        pod_namespace: pod_namespace.name().to_owned(),
        config_map: "injector-rules".to_owned(),
        replicas: probes,
        manifests: installed.manifests,
    };
    Ok((fixture, installed.service, children))
}
