//! The flags of the server's limits.

use std::time::Duration;

use clap::Args;
use vestibule_server::Settings;

use super::duration::duration;
use super::or_off::{OrOff, or_off};
use vestibule::ServeError;
use vestibule::tooling::SHORTEST_IDLE;

/// All are optional; the defaults are those of [`Settings`].
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// Connections held at a time; at this number the oldest one without a request is closed, or new ones wait to be accepted [default: 4096]
    #[arg(long, env = "VESTIBULE_MAX_CONNECTIONS", value_name = "NUMBER", value_parser = number)]
    max_connections: Option<usize>,
    /// Connections in a TLS handshake; beyond this number the connection that was silent longest is closed [default: 1024]
    #[arg(long, env = "VESTIBULE_MAX_HANDSHAKES", value_name = "NUMBER", value_parser = number)]
    max_handshakes: Option<usize>,
    /// How long a TLS handshake may take; its first byte comes within half of that [default: 10s]
    #[arg(long, env = "VESTIBULE_HANDSHAKE_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    handshake_timeout: Option<Duration>,
    /// How long the head of a request may take from its first byte on [default: 5s]
    #[arg(long, env = "VESTIBULE_HEAD_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    head_timeout: Option<Duration>,
    /// How long a body may take once it has its memory [default: 10s]
    #[arg(long, env = "VESTIBULE_BODY_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    body_timeout: Option<Duration>,
    /// How long a connection may rest between requests; at least 91s [default: 120s]
    #[arg(long, env = "VESTIBULE_IDLE_TIMEOUT", value_name = "TIME", value_parser = idle)]
    idle_timeout: Option<Duration>,
    /// How old a connection may become, 20 % more or less, before an answer ends it, or `off` [default: 5m]
    #[arg(long, env = "VESTIBULE_CONNECTION_AGE", value_name = "TIME|off", value_parser = time_or_off)]
    connection_age: Option<OrOff<Duration>>,
    /// The largest head of a request; at least 8Ki [default: 64Ki]
    #[arg(long, env = "VESTIBULE_MAX_HEAD", value_name = "BYTES", value_parser = head)]
    max_head: Option<usize>,
    /// Header fields of a request [default: 100]
    #[arg(long, env = "VESTIBULE_MAX_HEADERS", value_name = "NUMBER", value_parser = number)]
    max_headers: Option<usize>,
    /// The largest body of a review [default: 28Mi]
    #[arg(long, env = "VESTIBULE_MAX_BODY", value_name = "BYTES", value_parser = bytes)]
    max_body: Option<usize>,
    /// The largest body of a conversion, which may be of a whole list [default: 64Mi]
    #[arg(long, env = "VESTIBULE_MAX_CONVERSION_BODY", value_name = "BYTES", value_parser = bytes)]
    max_conversion_body: Option<usize>,
    /// Levels of JSON of an object under review; at most 127. Default: 127 for an object that is decoded into a type,
    /// and no limit for others.
    #[arg(long, env = "VESTIBULE_MAX_DEPTH", value_name = "NUMBER", value_parser = depth)]
    max_depth: Option<usize>,
    /// The memory of all bodies together; a body waits until enough of it is free [default: 64Mi]
    #[arg(long, env = "VESTIBULE_MAX_BODIES", value_name = "BYTES", value_parser = bytes)]
    max_bodies: Option<usize>,
    /// Handlers that have begun and not ended [default: 512]
    #[arg(long, env = "VESTIBULE_MAX_RUNNING", value_name = "NUMBER", value_parser = number)]
    max_running: Option<usize>,
    /// Handlers that compute at a time, beside one of a large body. Default: one less than there are threads, and at
    /// least one.
    #[arg(long, env = "VESTIBULE_MAX_COMPUTING", value_name = "NUMBER", value_parser = number)]
    max_computing: Option<usize>,
    /// Requests that wait for their handler; fewer where handlers are slow [default: 512]
    #[arg(long, env = "VESTIBULE_MAX_WAITING", value_name = "NUMBER", value_parser = number)]
    max_waiting: Option<usize>,
    /// The longest expected wait for a handler: no more requests wait than complete in this time [default: 500ms]
    #[arg(long, env = "VESTIBULE_LATENCY_BUDGET", value_name = "TIME", value_parser = duration)]
    latency_budget: Option<Duration>,
}

impl LimitArguments {
    pub(super) fn apply(&self, settings: &mut Settings) {
        settings.handshake_timeout = self.handshake_timeout.unwrap_or(settings.handshake_timeout);
        settings.head_timeout = self.head_timeout.unwrap_or(settings.head_timeout);
        settings.body_timeout = self.body_timeout.unwrap_or(settings.body_timeout);
        settings.idle_timeout = self.idle_timeout.unwrap_or(settings.idle_timeout);
        settings.latency_budget = self.latency_budget.unwrap_or(settings.latency_budget);
        settings.max_connections = self.max_connections.unwrap_or(settings.max_connections);
        settings.max_handshakes = self.max_handshakes.unwrap_or(settings.max_handshakes);
        settings.max_head = self.max_head.unwrap_or(settings.max_head);
        settings.max_headers = self.max_headers.unwrap_or(settings.max_headers);
        settings.max_body = self.max_body.unwrap_or(settings.max_body);
        settings.max_conversion_body = self.max_conversion_body.unwrap_or(settings.max_conversion_body);
        settings.max_bodies = self.max_bodies.unwrap_or(settings.max_bodies);
        settings.max_running = self.max_running.unwrap_or(settings.max_running);
        settings.max_waiting = self.max_waiting.unwrap_or(settings.max_waiting);
        settings.connection_age = self.connection_age.map_or(settings.connection_age, |given| given.0);
        settings.max_depth = self.max_depth.or(settings.max_depth);
        settings.max_computing = self.max_computing.or(settings.max_computing);
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a number from 1".to_owned())
}

/// `8388608`, `8192Ki`, `8Mi`.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
    let unit = units.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let bytes = digits.parse::<usize>().ok().and_then(|count| count.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write a number of bytes such as `8Mi` or `512Ki`".to_owned())
}

fn head(text: &str) -> Result<usize, String> {
    const LEAST: usize = 8 << 10;
    match bytes(text)? {
        bytes if bytes < LEAST => Err("an API server that traces sends heads of up to 8Ki".to_owned()),
        bytes => Ok(bytes),
    }
}

/// No more than serde_json reads.
fn depth(text: &str) -> Result<usize, String> {
    const DEEPEST: usize = 127;
    match number(text)? {
        levels if levels > DEEPEST => Err(format!(
            "an object of more than {DEEPEST} levels is never decoded: write a number from 1 to {DEEPEST}"
        )),
        levels => Ok(levels),
    }
}

fn time_or_off(text: &str) -> Result<OrOff<Duration>, String> {
    or_off(text, |text| duration(text).map_err(|error| format!("{error}, or `off`")))
}

/// A timeout of zero would refuse every call.
fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => {
            Err("a timeout of zero would refuse every call: write a duration such as `10s`".to_owned())
        }
        time => Ok(time),
    }
}

fn idle(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < SHORTEST_IDLE { Err(ServeError::Idle.to_string()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_quantities_are() {
        assert_eq!((bytes("8Mi"), bytes("512Ki"), bytes("7")), (Ok(8 << 20), Ok(512 << 10), Ok(7)));
        for text in ["", "Mi", "8M", "0", "-1", "99999999999Gi"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(head("4Ki").is_err() && head("8Ki").is_ok());
    }

    #[test]
    fn depth_may_only_be_lowered() {
        assert_eq!((depth("1"), depth("127")), (Ok(1), Ok(127)));
        assert!(depth("0").is_err());
        assert!(depth("128").unwrap_err().contains("from 1 to 127"));
    }

    #[test]
    fn a_timeout_of_zero_is_refused() {
        use clap::Parser;

        #[derive(Parser)]
        struct Command {
            #[command(flatten)]
            _limits: LimitArguments,
        }

        for flag in ["--handshake-timeout", "--head-timeout", "--body-timeout"] {
            let with = |time| Command::try_parse_from(["serve", flag, time]).map(drop);
            assert!(with("0s").unwrap_err().to_string().contains("would refuse every call"), "{flag}");
            assert!(with("1s").is_ok(), "{flag}");
        }
    }

    #[test]
    fn the_connection_age_may_be_off_or_zero() {
        assert_eq!(time_or_off("off"), Ok(OrOff(None)));
        assert_eq!(time_or_off("0s"), Ok(OrOff(Some(Duration::ZERO))));
        assert!(time_or_off("never").is_err());
    }

    #[test]
    fn an_idle_timeout_below_91_s_is_refused_with_the_reason() {
        let error = idle("90s").unwrap_err();
        assert!(error.contains("fails the call") && error.contains("91 s"), "{error}");
        assert_eq!(idle("91s"), Ok(SHORTEST_IDLE));
    }
}
