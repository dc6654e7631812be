//! Lines on stderr.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Unless `RUST_LOG` says otherwise. The Kubernetes client logs every attempt at a connection that fails as an error, for
/// each watch, and every attempt at a watch that is forbidden; whoever made the attempt tells of it, once in a while and
/// with what to do.
const FILTER: &str = "info,kube_client::client::builder=off,kube_runtime::watcher=off";

/// Writes log lines to stderr: for people on a terminal, as JSON elsewhere. `RUST_LOG` says how much; `info` unless set.
///
/// From now on a panic is logged by its place alone: its message may quote the object that a handler stumbled over.
/// Where the program has set up logs of its own, those stay.
pub fn init_logs() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(FILTER));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let terminal = std::io::stderr().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _already_set = match terminal {
        true => builder.with_target(false).with_ansi(colour).try_init(),
        false => builder.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panic");
    }));
}
