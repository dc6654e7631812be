//! The log, as flags say.

use std::str::FromStr;

use clap::Args;

use crate::logs::{Base, Beside, Format, Levels, Logs};

/// How lines look, how much of them there is, and who may change that.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArguments {
    /// How lines look: for people (human), as JSON, or whichever fits where they go [default: auto]
    #[arg(long, env = "VESTIBULE_LOG_FORMAT", value_name = "auto|human|json")]
    log_format: Option<Format>,
    /// How much is logged: LEVEL, COMPONENT=LEVEL, TARGET=LEVEL. Unless given, what RUST_LOG says [default: info]
    #[arg(long, env = "VESTIBULE_LOG_LEVEL", value_name = "LEVEL,...")]
    log_level: Option<Levels>,
    /// The ConfigMap in the own namespace that changes levels while this runs, or `off`. Unless given, APP-logging where the
    /// cluster is spoken to anyway.
    #[arg(long, env = "VESTIBULE_LOG_CONFIG_MAP", value_name = "NAME|off")]
    log_config_map: Option<String>,
}

/// Writes log lines to stderr: for people on a terminal, as JSON elsewhere. `RUST_LOG` says how much; `info` unless set.
///
/// From now on a panic is logged by its place alone: its message may quote the object that a handler stumbled over.
/// Where the program has set up logs of its own, those stay.
///
/// [`ServeArguments::init_logs`](super::ServeArguments::init_logs) heeds flags as well.
pub fn init_logs() {
    LogArguments::default().init(Beside::new());
}

impl LogArguments {
    pub(super) fn init(&self, beside: Beside) {
        let variable = std::env::var("RUST_LOG").ok();
        let (base, trouble) = Base::new(self.log_level.as_ref(), variable.as_deref());
        Logs::init(self.log_format.unwrap_or_default(), base, beside);
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, "panic");
        }));
        if let Some(why) = trouble {
            tracing::warn!(why, "RUST_LOG counts for nothing: it is no filter");
        }
    }

    /// The ConfigMap to follow: the usual one only where that asks for nothing else.
    pub(super) fn config_map(&self, app: &str, speaks_to_the_cluster: bool) -> Option<String> {
        match self.log_config_map.as_deref() {
            Some("off") => None,
            Some(name) => Some(name.to_owned()),
            None => speaks_to_the_cluster.then(|| crate::logs::config_map(app)),
        }
    }
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err("write auto, human or json"),
        }
    }
}
