//! The log of the process: its format, its levels, and their changes while it runs.

mod component;
mod follow;
mod json;
mod level_config;
mod levels;
mod lines;
mod redaction;
mod stderr;

use std::io::{IsTerminal, Stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use tracing::{Subscriber, dispatcher};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

pub(crate) use component::Component;
pub(crate) use follow::follow;
pub(crate) use level_config::{Key, LevelConfig, MAX_RAISE, Raised};
pub(crate) use levels::{Levels, level};
pub(crate) use redaction::redacted;
use stderr::BackgroundWriter;

/// The default level.
const DEFAULT_LEVEL: &str = "info";

/// Added to every filter but `RUST_LOG`. The Kubernetes client logs each failed connection of each watch as an error;
/// the code that watches logs it too, at a lower rate and with advice.
const CLIENT_DIRECTIVE: &str = "kube_client::client::builder=off";

const LINES_ARE_MISSING: &str = "lines are missing here: the reader of stderr was too slow";

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people on a terminal, as JSON elsewhere.
    #[default]
    Auto,
    Human,
    Json,
}

/// The level that a process was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    directives: String,
    /// The level as it was given, and the flag or variable that it comes from.
    description: String,
}

/// The log of this process. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Logs {
    filter: reload::Handle<EnvFilter, Registry>,
    base: Base,
    overrides: Arc<Mutex<Levels>>,
}

/// The ConfigMap that changes the levels of `app`, unless another is named.
pub(crate) fn config_map(app: &str) -> String {
    format!("{app}-logging")
}

/// A layer of the subscriber.
pub(crate) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The layers of the subscriber except the layer of the log.
pub(crate) type ExtraLayers = Vec<BoxedLayer>;

impl Base {
    /// The flag's, else `RUST_LOG`'s, else `info`. An invalid `RUST_LOG` is ignored, with a warning.
    pub(crate) fn new(flag: Option<&Levels>, variable: Option<&str>) -> (Self, Option<String>) {
        let with_client = |level: &str| format!("{level},{CLIENT_DIRECTIVE}");
        if let Some(levels) = flag {
            // Libraries below are no louder than everything else.
            let usual = levels.of_all().filter(|level| *level < LevelFilter::INFO);
            let directives = levels
                .directives(&with_client(&usual.map_or(DEFAULT_LEVEL.to_owned(), |level| level.to_string())));
            return (Self { directives, description: format!("{levels} (--log-level)") }, None);
        }
        let usual = || Self {
            directives: with_client(DEFAULT_LEVEL),
            description: format!("{DEFAULT_LEVEL} (the default)"),
        };
        match variable.map(|text| (text, EnvFilter::builder().parse(text))) {
            Some((text, Ok(_))) if !text.trim().is_empty() => {
                (Self { directives: text.to_owned(), description: format!("{text} (RUST_LOG)") }, None)
            }
            Some((_, Err(error))) => (usual(), Some(error.to_string())),
            _ => (usual(), None),
        }
    }
}

impl Logs {
    /// Writes lines to stderr from now on. If the program has installed a subscriber of its own, that one stays, and
    /// this has no effect.
    pub(crate) fn init(format: Format, base: Base, mut layers: ExtraLayers) {
        let terminal = std::io::stderr().is_terminal();
        let human = match format {
            Format::Auto => terminal,
            Format::Human => true,
            Format::Json => false,
        };
        let writer = Arc::new(BackgroundWriter::new(
            std::io::stderr(),
            if human { missing_lines_as_text } else { missing_lines_as_json },
        ));
        layers.push(attached(Arc::clone(&writer)));
        let lines = if human {
            let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            lines::human(colour, writer)
        } else {
            lines::json(writer)
        };
        let _already_set = subscriber(base, layers, lines).try_init();
    }

    /// Waits until lines in memory are written, for half a second at most. For the end of a process.
    pub(crate) fn finish() {
        if let Some(writer) = find::<Arc<BackgroundWriter<Stderr>>>() {
            writer.finish(Duration::from_millis(500));
        }
    }

    /// The log of this process, if this crate has set it up.
    pub(crate) fn of_this_process() -> Option<Self> {
        find()
    }

    /// Applies the levels that hold at `now`. Returns the time of their next change.
    pub(crate) fn apply(&self, wanted: &LevelConfig, now: Timestamp) -> Option<Timestamp> {
        let (overrides, next) = wanted.at(now);
        let mut before = self.overrides.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != overrides {
            let level = self.description(&overrides);
            // The line is logged under the filter that lets it pass: the old one or the new one.
            let is_enabled = tracing::enabled!(tracing::Level::INFO);
            let log = || tracing::info!(level, until = next.map(tracing::field::display), "the log level");
            if is_enabled {
                log();
            }
            let _ended_with_the_process =
                self.filter.reload(parsed(&overrides.directives(&self.base.directives)));
            if !is_enabled {
                log();
            }
            *before = overrides;
        }
        next
    }

    /// The levels in force, for people.
    pub(crate) fn in_force(&self) -> String {
        self.description(&self.overrides.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn description(&self, overrides: &Levels) -> String {
        let base = &self.base.description;
        if overrides.is_empty() { base.clone() } else { format!("{overrides}, over {base}") }
    }
}

/// The subscriber: the layer that writes lines, with a changeable filter, and further layers.
fn subscriber(base: Base, mut layers: ExtraLayers, lines: BoxedLayer) -> impl Subscriber + Send + Sync {
    let (filter, handle) = reload::Layer::new(parsed(&base.directives));
    layers.push(lines.with_filter(redacted(filter)).boxed());
    layers.push(attached(Logs { filter: handle, base, overrides: Arc::default() }));
    tracing_subscriber::registry().with(layers)
}

fn parsed(directives: &str) -> EnvFilter {
    // Every part of it has been parsed before.
    EnvFilter::builder().parse(directives).unwrap_or_else(|_| EnvFilter::new(DEFAULT_LEVEL))
}

fn missing_lines_as_text(missing: u64) -> String {
    format!("{}  WARN {LINES_ARE_MISSING} lines={missing}\n", now())
}

fn missing_lines_as_json(missing: u64) -> String {
    let line = serde_json::json!({
        "timestamp": now(), "level": "WARN", "message": LINES_ARE_MISSING, "lines": missing, "target": module_path!(),
    });
    format!("{line}\n")
}

/// The time in the format of other lines.
fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

/// A layer that only holds `what`, so that [`find`] finds it again through the subscriber, without a global of this
/// crate.
pub(crate) fn attached<T: Send + Sync + 'static>(what: T) -> BoxedLayer {
    Attached(what).with_filter(LevelFilter::OFF).boxed()
}

/// The value that was [`attached`].
pub(crate) fn find<T: Clone + 'static>() -> Option<T> {
    dispatcher::get_default(|dispatch| dispatch.downcast_ref::<Attached<T>>().map(|known| known.0.clone()))
}

struct Attached<T>(T);

impl<S: Subscriber, T: 'static> Layer<S> for Attached<T> {}

#[cfg(test)]
mod tests;
