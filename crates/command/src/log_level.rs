//! `loglevel`: shows and changes the log level of a webhook on a cluster.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::{SignedDuration, Timestamp, Unit};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;
use vestibule::tooling::RequestError;

use super::connection::{Connection, ConnectionArguments};
use super::duration::duration;
use super::{CommandError, print, say};
use crate::logs::{self, Component, Key, LevelConfig, MAX_RAISE, Raised, level};

/// The field manager of the changes.
const MANAGER: &str = "vestibule-loglevel";

const OTHER_NAMESPACE: &str = "if the replicas are in another namespace, --namespace names it";

/// Shows the log levels of a webhook on a cluster; with a LEVEL, changes them for a while.
///
/// Every replica follows the ConfigMap within about a second, and falls back by its own clock. A lasting level is
/// written into the ConfigMap: `loglevel.COMPONENT`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule loglevel -n webhooks
  vestibule loglevel debug --for 10m -n webhooks
  vestibule loglevel trace --component identity --component lookups -n webhooks
  vestibule loglevel --reset -n webhooks")]
pub struct LogLevelArguments {
    /// off, error, warn, info, debug or trace.
    #[arg(value_name = "LEVEL", value_parser = level_filter)]
    level: Option<LevelFilter>,
    /// For how long; at most a day.
    #[arg(long = "for", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    span: Duration,
    /// A part of the webhook: server, identity, lookups, admission, rules, injector, app or dependencies; may be given
    /// several times. Default: everything but dependencies.
    #[arg(long, value_name = "COMPONENT", requires = "level", value_parser = str::parse::<Component>)]
    component: Vec<Component>,
    /// Ends all temporary levels.
    #[arg(long, conflicts_with = "level")]
    reset: bool,
    /// The ConfigMap, where `serve --log-config-map` names another than APP-logging.
    #[arg(long, env = "VESTIBULE_LOG_CONFIG_MAP", value_name = "NAME")]
    log_config_map: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// A ConfigMap of levels on a cluster.
struct LevelConfigMap<'a> {
    app: &'a str,
    name: String,
    connection: Connection,
    config_maps: Api<ConfigMap>,
    /// The data of the ConfigMap, if there is one.
    data: Option<BTreeMap<String, String>>,
}

impl LogLevelArguments {
    /// Shows or changes the level of `app` as the command line says; data goes to stdout, messages to stderr.
    ///
    /// # Errors
    /// Bad input (exit code 2), or a cluster that cannot be reached (3).
    pub async fn run(&self, app: &str) -> Result<ExitCode, CommandError> {
        if self.span > MAX_RAISE || self.span.is_zero() {
            return Err(CommandError::input(
                "--for takes more than 0 and at most 24h; for a lasting level, write `loglevel.COMPONENT` into the ConfigMap",
            ));
        }
        let connection = self.connection.connect().await?;
        let config_maps = Api::namespaced(connection.client().clone(), connection.namespace());
        let name = self.log_config_map.clone().unwrap_or_else(|| logs::config_map(app));
        let mut levels = LevelConfigMap { app, name, connection, config_maps, data: None };
        levels.read().await?;
        let now = Timestamp::now();
        match self.level {
            Some(level) => {
                let until = self.until(now)?;
                levels.write(self.raised(Raised { level, until })).await?;
                say(format_args!(
                    "{level} until {until}, when it falls back by itself; replicas in namespace {} follow at once",
                    levels.connection.namespace()
                ));
                if levels.data.is_none() {
                    say(format_args!("note: {} was not there and is new; {OTHER_NAMESPACE}", levels.title()));
                }
            }
            None if self.reset && levels.data.is_none() => {
                say(format_args!("there is no {}: nothing to reset; {OTHER_NAMESPACE}", levels.title()));
            }
            None if self.reset => {
                levels.write(levels.raises()).await?;
                say(format_args!("no temporary level is in force any more"));
            }
            None => print(&levels.shown(now))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// In whole seconds: people read it.
    fn until(&self, now: Timestamp) -> Result<Timestamp, CommandError> {
        let span = SignedDuration::try_from(self.span).map_err(CommandError::input)?;
        let until = now.checked_add(span).and_then(|until| until.round(Unit::Second));
        until.map_err(CommandError::input)
    }

    /// As keys of the ConfigMap.
    fn raised(&self, raised: Raised) -> BTreeMap<String, Value> {
        let components = self.component.iter().copied().map(Some);
        let keys = components.chain(self.component.is_empty().then_some(None)).map(Key::Raised);
        keys.map(|key| (key.to_string(), json!(raised.to_string()))).collect()
    }
}

impl LevelConfigMap<'_> {
    async fn read(&mut self) -> Result<(), CommandError> {
        let found = self.config_maps.get_opt(&self.name).await.map_err(|error| self.failed(error))?;
        self.data = found.map(|map| map.data.unwrap_or_default());
        Ok(())
    }

    /// Changes only these keys, and removes temporary levels that have ended.
    async fn write(&self, keys: BTreeMap<String, Value>) -> Result<(), CommandError> {
        let written = match &self.data {
            None => {
                let map = json!({"metadata": {"name": self.name}, "data": keys});
                let map = serde_json::from_value(map).map_err(CommandError::running)?;
                let parameters =
                    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
                self.config_maps.create(&parameters, &map).await
            }
            Some(data) => {
                let is_over = |text: &String| {
                    text.parse::<Raised>().is_ok_and(|raised| raised.until <= Timestamp::now())
                };
                let mut changes = self.raises();
                changes.retain(|key, _| data.get(key).is_some_and(is_over));
                changes.extend(keys);
                let patch = Patch::Merge(json!({"data": changes}));
                self.config_maps.patch(&self.name, &PatchParams::apply(MANAGER), &patch).await
            }
        };
        written.map(drop).map_err(|error| self.failed(error))
    }

    /// The patch that removes every temporary level.
    fn raises(&self) -> BTreeMap<String, Value> {
        let is_raise = |key: &&String| matches!(Key::named(key, self.app), Some(Key::Raised(_)));
        let keys = self.data.iter().flat_map(BTreeMap::keys);
        keys.filter(is_raise).map(|key| (key.clone(), Value::Null)).collect()
    }

    fn title(&self) -> String {
        format!("ConfigMap {}/{}", self.connection.namespace(), self.name)
    }

    fn shown(&self, now: Timestamp) -> String {
        let started = "each replica keeps the level of its start: --log-level, else RUST_LOG, else info";
        let Some(data) = &self.data else {
            return format!("there is no {}: {started}; {OTHER_NAMESPACE}\n", self.title());
        };
        let (wanted, bad) = LevelConfig::read(&LevelConfig::default(), self.app, data, now);
        let mut text = String::new();
        let mut line = |words: std::fmt::Arguments<'_>| {
            let _infallible = writeln!(text, "{words}");
        };
        line(format_args!("{:13} {:6} {}", "COMPONENT", "LEVEL", "SAID BY"));
        for &component in Component::value_variants() {
            match wanted.of(component, now) {
                Some((level, key, None)) => line(format_args!("{component:13} {level:6} {key}")),
                Some((level, key, Some(until))) => {
                    let left = until.duration_since(now).as_secs();
                    line(format_args!("{component:13} {level:6} {key}, until {until} ({left} s)"));
                }
                None => line(format_args!("{component:13} {:6} its start", "-")),
            }
        }
        line(format_args!("\nfrom {}; for components without a level, {started}", self.title()));
        for (key, why) in bad {
            line(format_args!("not understood: `{key}`: {why}; replicas keep its last valid level"));
        }
        text
    }

    fn failed(&self, error: kube::Error) -> CommandError {
        match RequestError::from(error) {
            refused @ RequestError::Refused(_) => CommandError::running(format_args!(
                "the API server says: {refused}; `loglevel` gets, creates and patches ConfigMaps in {}",
                self.connection.namespace()
            )),
            other => self.connection.advised(other.into()),
        }
    }
}

fn level_filter(text: &str) -> Result<LevelFilter, String> {
    level(text).ok_or_else(|| "write off, error, warn, info, debug or trace".to_owned())
}
