//! A reload run: an environment, the injector as its manifests install it, and the changes of its rules.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use serde_json::Value;
use vestibule_testenv::{Child, Environment, Service};

use super::fixture::apply_all;
use super::{Figures, InjectorFixture, RuleChanges, versions};
use crate::rig::Replica;

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
    let admin = environment.admin()?;
    let (home, pod_namespace) = (environment.namespace(&[]).await?, environment.namespace(&[]).await?);
    let service = environment.service(home.name(), "injector").await?;
    let named = format!("--service={home}/injector:{}", service.port());
    let rules = environment.folder().join("rules.yaml");
    std::fs::write(&rules, versions::good(0, pod_namespace.name()))?;
    let mut manifests = Command::new(program);
    manifests.args(["manifests", "--image=injector", "--output=json", &named, "--rules"]).arg(&rules);
    let printed = manifests.output().with_context(|| format!("{}", program.display()))?;
    ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let printed: Value = serde_json::from_slice(&printed.stdout)?;
    let printed = printed["items"].as_array().cloned().unwrap_or_default();
    // The environment has its own Service, which points to this machine.
    let manifests: Vec<Value> =
        printed.into_iter().filter(|manifest| manifest["kind"] != "Service").collect();
    apply_all(&admin, &manifests).await?;
    environment.wait_until_granted(home.name(), "injector", &manifests).await?;
    let kubeconfig = environment.service_account_kubeconfig(home.name(), "injector").await?;
    let (mut children, mut probes) = (Vec::new(), Vec::new());
    for _ in 0..options.replicas {
        let arguments = ["--identity=self", &named, "--hold-cold=10s"];
        let replica = Replica::start(environment, program, &kubeconfig, &arguments).await?;
        service.add_replica(replica.address, Some(replica.probes))?;
        children.push(replica.process);
        probes.push(replica.probes);
    }
    if let Err(error) = service.wait_for_replicas(children.len()).await {
        let logs: Vec<_> = children.iter().map(Child::log).collect();
        return Err(error).context(logs.join("\n"));
    }
    let fixture = InjectorFixture {
        admin,
        home: home.name().to_owned(),
        pod_namespace: pod_namespace.name().to_owned(),
        config_map: "injector-rules".to_owned(),
        replicas: probes,
        manifests,
    };
    Ok((fixture, service, children))
}
