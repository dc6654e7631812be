//! Drops log lines of libraries that may hold an object, a key or a token, at every level.

use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::Filter;

/// Modules of libraries whose lines quote received objects or values: the client logs the body of an answer that it
/// cannot decode, as a warning; the watcher logs the error of a decoder, which quotes the value.
const QUOTE: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// Libraries that log headers and bytes at level trace.
const SPELL_OUT: [&str; 4] = ["h2", "hyper", "rustls", "reqwest"];

/// `filter` without the lines that may hold an object, a key or a token.
pub(crate) fn redacted<S: Subscriber>(filter: impl Filter<S>) -> impl Filter<S> {
    let open = filter_fn(|metadata| {
        !may_quote_secrets(metadata.module_path().unwrap_or(metadata.target()), *metadata.level())
    });
    open.and(filter)
}

fn may_quote_secrets(module: &str, level: tracing::Level) -> bool {
    let library = module.split("::").next().unwrap_or_default();
    let spells_out =
        |name: &str| library.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    QUOTE.contains(&module) || (level == tracing::Level::TRACE && SPELL_OUT.into_iter().any(spells_out))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::may_quote_secrets;

    #[test]
    fn modules_that_quote_values_never_log_and_libraries_that_dump_bytes_not_at_trace() {
        assert!(may_quote_secrets("kube_client::client", Level::ERROR));
        assert!(may_quote_secrets("kube_runtime::watcher", Level::DEBUG));
        assert!(may_quote_secrets("hyper_util::client::legacy::pool", Level::TRACE));
        for (module, level) in [
            ("kube_client::client::builder", Level::TRACE),
            ("kube_runtime::controller", Level::TRACE),
            ("hyper_util::client::legacy::pool", Level::DEBUG),
            ("hyperion", Level::TRACE),
            ("vestibule::telemetry", Level::TRACE),
        ] {
            assert!(!may_quote_secrets(module, level), "{module}");
        }
    }
}
