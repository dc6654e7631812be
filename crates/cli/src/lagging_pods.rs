//! The flag for the count of lagging pods, of `serve` and `manifests`.

use std::time::Duration;

use clap::Args;
use vestibule_command::duration;
use vestibule_injector::Configuration;

const DEFAULT: &str = "10m";
/// The shortest interval: each count lists all pods of the cluster.
const SHORTEST: Duration = Duration::from_secs(1);

#[derive(Args, Clone, Debug)]
pub(crate) struct LaggingPods {
    /// With rules from a cluster: how often one replica counts the running pods with other versions of rules, for a metric and the status of rules. `off` counts
    /// none, and needs no right to list pods.
    #[arg(long = "lagging-pods", env = "VESTIBULE_LAGGING_PODS", value_name = "DURATION|off", default_value = DEFAULT)]
    #[arg(value_parser = interval)]
    interval: Interval,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Interval {
    written: String,
    every: Option<Duration>,
}

impl LaggingPods {
    pub(crate) fn apply(&self, configuration: Configuration) -> Configuration {
        match self.interval.every {
            Some(every) => configuration.counting_lagging_pods(every),
            None => configuration,
        }
    }

    /// The argument of `serve` in the pods; none for the default.
    pub(crate) fn argument(&self) -> Option<String> {
        let written = &self.interval.written;
        (written != DEFAULT).then(|| format!("--lagging-pods={written}"))
    }
}

/// As `serve` counts without the flag.
impl Default for LaggingPods {
    fn default() -> Self {
        let every = Some(Duration::from_secs(600));
        Self { interval: Interval { written: DEFAULT.to_owned(), every } }
    }
}

fn interval(text: &str) -> Result<Interval, String> {
    let every = match text {
        "off" => None,
        _ => Some(duration(text).map_err(|error| format!("{error}, or `off`"))?),
    };
    if every.is_some_and(|every| every < SHORTEST) {
        return Err("write `1s` or more, or `off`".to_owned());
    }
    Ok(Interval { written: text.to_owned(), every })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_what_it_is_written_as() {
        assert_eq!(interval(DEFAULT), Ok(LaggingPods::default().interval));
        assert_eq!(interval("off").map(|interval| interval.every), Ok(None));
        for text in ["0s", "999ms", "never", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
