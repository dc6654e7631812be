//! What no level lets out.

use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt, FilterFn, filter_fn};
use tracing_subscriber::layer::Filter;

/// Modules of libraries whose lines quote what they received, an object or a value in it: the client logs the body of an
/// answer that it cannot read, as a warning; the watch the words of a decoder, which repeat what they stumbled over.
const QUOTE: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// Libraries that write down heads and bytes at their loudest.
const SPELL_OUT: [&str; 4] = ["h2", "hyper", "rustls", "reqwest"];

/// What `filter` lets pass, but for lines that may hold an object, a key or a token.
pub(crate) fn sealed<S: Subscriber>(filter: impl Filter<S>) -> impl Filter<S> {
    open().and(filter)
}

fn open() -> FilterFn {
    filter_fn(|metadata| !is_sealed(metadata.module_path().unwrap_or(metadata.target()), *metadata.level()))
}

fn is_sealed(module: &str, level: tracing::Level) -> bool {
    let library = module.split("::").next().unwrap_or_default();
    let spells_out =
        |name: &str| library.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    QUOTE.contains(&module) || (level == tracing::Level::TRACE && SPELL_OUT.into_iter().any(spells_out))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::is_sealed;

    #[test]
    fn what_quotes_is_never_heard_and_what_spells_out_not_at_its_loudest() {
        assert!(is_sealed("kube_client::client", Level::ERROR));
        assert!(is_sealed("kube_runtime::watcher", Level::DEBUG));
        assert!(is_sealed("hyper_util::client::legacy::pool", Level::TRACE));
        for (module, level) in [
            ("kube_client::client::builder", Level::TRACE),
            ("kube_runtime::controller", Level::TRACE),
            ("hyper_util::client::legacy::pool", Level::DEBUG),
            ("hyperion", Level::TRACE),
            ("vestibule::telemetry", Level::TRACE),
        ] {
            assert!(!is_sealed(module, level), "{module}");
        }
    }
}
