//! `drift`: the pods of a cluster that have other rules than those in force.

mod difference;
mod listing;
mod owner;

use std::process::ExitCode;

use clap::Args;
use vestibule_command::{Connection, KubeconfigArguments, namespace};
use vestibule_injector::{ClusterError, ClusterReader, RulesInForce, RulesStatus};
use vestibule_rules::Mode;

use self::difference::{Comparison, Report};
use crate::render::Format;
use crate::rules::{self, unreadable};
use crate::{Failure, block_on, print, say};

/// Lists the pods of a cluster that have other rules than those in force, by workload, with the command that restarts each.
///
/// Rules change pods when they are created, so a running pod keeps what it got. A pod is listed if it carries another version of a
/// rule than the one in force (`older version`), or a rule that is gone (`removed`); if a rule would be applied to it now and was
/// not (`not injected`), because the pod is older than the rule or was created while no injector answered; if it carries a rule that
/// labels, opt-in keys or the roll-out would now keep from it (`would not apply`); or if a pod without rules would now be refused
/// (`would be denied`). Pods that have ended are left out.
///
/// A rule can depend on the request that creates a pod, such as its user. A stored pod does not have the request. A result that depends on
/// the request is marked `uncertain`, and does not change the exit code.
///
/// The command reads pods by pages of 250 and writes nothing. It needs the rights to list pods, Namespaces and the objects with rules.
///
/// The exit code is 0 if no pod is listed, 1 if pods are listed, 2 for bad input and missing rights, and 3 if the cluster does not
/// answer.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule drift
  vestibule drift -n shop
  vestibule drift -o json | jq -r '.workloads[].restart | select(.)'")]
pub(crate) struct Arguments {
    /// The namespace of the pods [default: all namespaces]
    #[arg(long, short, value_name = "NS", value_parser = namespace)]
    namespace: Option<String>,
    /// The pods of all namespaces, which is the default.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// The namespace of the ConfigMaps with rules, if several namespaces have some.
    #[arg(long, value_name = "NS", value_parser = namespace)]
    injector_namespace: Option<String>,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let report = block_on(arguments.report())?;
    print(&arguments.output.render(|| Ok(listing::text(&report)), || Ok(listing::json(&report)))?)?;
    say(listing::summary(&report));
    Ok(if report.is_certain() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

impl Arguments {
    async fn report(&self) -> Result<Report, Failure> {
        let connection = self.cluster.connect().await?;
        let cluster = ClusterReader::new(connection.client().clone());
        let in_force = self.rules(&connection, &cluster).await?;
        notes(&in_force);
        let namespace = self.namespace.as_deref();
        let facts = cluster.namespaces(namespace).await.map_err(unreadable(&connection))?;
        if facts.is_none() {
            say(
                "note: labels of namespaces cannot be read without the right to list Namespaces: what is not injected is uncertain",
            );
        }
        let comparison = Comparison::new(&in_force, facts);
        let (mut report, mut pods) = (Report::default(), cluster.pods(namespace));
        while let Some(page) = pods.next().await.map_err(unreadable(&connection))? {
            for pod in &page {
                comparison.add(pod, &mut report)?;
            }
        }
        Ok(report)
    }

    /// The rules in force. Pods may carry rules of a cluster that has no rules any more.
    async fn rules(&self, connection: &Connection, cluster: &ClusterReader) -> Result<RulesInForce, Failure> {
        match cluster.rules(self.injector_namespace.as_deref()).await {
            Ok(stored) => rules::in_force(&stored),
            Err(ClusterError::NoRules(_)) => {
                say("note: the cluster has no rules, neither in Injections nor in ConfigMaps");
                Ok(RulesInForce::none())
            }
            Err(error) => Err(unreadable(connection)(error)),
        }
    }
}

fn notes(in_force: &RulesInForce) {
    rules::remark(&in_force.rules);
    if in_force.rules.settings().mode != Mode::On {
        say("note: a pod that is made again would get no rules");
    }
    if !in_force.has_namespaced && in_force.status == RulesStatus::InForce {
        say("note: rules of namespaces are not compared: the right to list NamespacedInjections is missing");
    }
}
