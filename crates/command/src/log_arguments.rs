//! The flags of the log.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use vestibule_identity::events::{Events, Report};

use super::CommandError;
use super::cluster_arguments::ClusterArguments;
use crate::logs::{Base, ExtraLayers, Format, Levels, Logs, config_map, follow};
use vestibule::{App, Target};

/// The shortest time between two Events about the same invalid log level.
const EVENT_INTERVAL: Duration = Duration::from_secs(300);

/// How lines look, and how much of them there is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArguments {
    /// The format of lines: `human`, `json`, or `auto`: human on a terminal, else JSON [default: auto]
    #[arg(long, env = "VESTIBULE_LOG_FORMAT", value_name = "auto|human|json", value_parser = format)]
    log_format: Option<Format>,
    /// How much is logged: LEVEL, COMPONENT=LEVEL, TARGET=LEVEL. Overrides RUST_LOG [default: info]
    #[arg(long, env = "VESTIBULE_LOG_LEVEL", value_name = "LEVEL,...")]
    log_level: Option<Levels>,
}

/// Writes log lines to stderr: for people on a terminal, as JSON elsewhere. `RUST_LOG` says how much; `info` unless set.
///
/// From now on the log of a panic holds its place and not its message, which may quote an object. If the program has
/// installed a subscriber of its own, that one stays.
///
/// Lines are written by a thread of their own: [`finish_logs`] waits for the last ones at the end of a process.
///
/// [`ServeArguments::init_logs`](super::ServeArguments::init_logs) also reads flags.
pub fn init_logs() {
    LogArguments::default().init(ExtraLayers::new());
}

/// Waits until the lines of [`init_logs`] that are in memory are written, for half a second at most. A program calls it before
/// it ends, and sets it as [`Options::before_exit`](vestibule::Options::before_exit).
pub fn finish_logs() {
    Logs::finish();
}

impl LogArguments {
    pub(super) fn init(&self, extra_layers: ExtraLayers) {
        let variable = std::env::var("RUST_LOG").ok();
        let (base, problem) = Base::new(self.log_level.as_ref(), variable.as_deref());
        Logs::init(self.log_format.unwrap_or_default(), base, extra_layers);
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, "panic");
            // The process ends with its main thread.
            if std::thread::current().name() == Some("main") {
                Logs::finish();
            }
        }));
        if let Some(why) = problem {
            tracing::warn!(why, "RUST_LOG is ignored: it is not a valid filter");
        }
    }
}

impl ClusterArguments {
    /// If the ConfigMap cannot be followed, levels stay as they are, and the webhook serves nevertheless.
    pub(super) async fn follow_log_levels(
        &self,
        app: &App,
        target: Option<&Target>,
        keeps_a_ring: bool,
    ) -> Infallible {
        let usual = (keeps_a_ring || app.reads_the_cluster()).then(|| config_map(app.name()));
        let name = self.log_config_map.clone().or(usual).filter(|name| name != "off");
        let (Some(name), Some(logs)) = (name, Logs::of_this_process()) else { return pending().await };
        let following = async {
            let namespace = self.own_namespace(target.and_then(Target::service_name).as_ref())?;
            let client = self.client().await?;
            let (events, waiting) = Events::queue(EVENT_INTERVAL);
            let metadata = ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            };
            let about = ConfigMap { metadata, ..ConfigMap::default() }.object_ref(&());
            let report = |text: &str| {
                let (reason, action) = ("LogLevelNotUnderstood", "Reload".to_owned());
                let (about, note) = (about.clone(), text.to_owned());
                events.tell(Report { about, is_warning: true, reason, action, note });
            };
            let followed = follow(&logs, &client, (&namespace, &name), app.name(), report);
            Ok::<_, CommandError>(tokio::join!(waiting.write(client.clone(), "vestibule"), followed).1)
        };
        let Err(why) = following.await;
        tracing::warn!(%why, "the ConfigMap {name} is not followed: levels of log stay as they are");
        pending().await
    }
}

fn format(text: &str) -> Result<Format, &'static str> {
    Format::from_str(text, false).map_err(|_| "write auto, human or json")
}
