//! The parts of a webhook that have log levels of their own.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// A part of a webhook, by its name in flags and ConfigMaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Component {
    /// Connections, requests that reach no hook, start and end.
    Server,
    /// The certificate, and the ring of CAs behind it.
    Identity,
    /// Objects that are watched and read for handlers.
    Lookups,
    /// Decisions and conversions.
    Admission,
    /// The sources of rules, and the rules in force.
    Rules,
    /// Injections by rules.
    Injector,
    /// The code of the author, and every target that belongs to no other component.
    App,
    /// Libraries. Their levels change only by name, because they log much.
    Dependencies,
}

impl Component {
    /// The prefixes of the targets of its lines. Empty: every other target.
    pub(crate) fn targets(self) -> &'static [&'static str] {
        match self {
            Self::Server => &["vestibule_server", "vestibule::server", "vestibule::serve"],
            Self::Identity => {
                &["vestibule_identity", "vestibule_pki", "vestibule::serve::certificate_source"]
            }
            Self::Lookups => &["vestibule::lookup"],
            Self::Admission => &["vestibule_admission", "vestibule::admission"],
            Self::Rules => {
                &["vestibule_rules", "vestibule_injector::configuration", "vestibule_injector::rule_files"]
            }
            Self::Injector => &["vestibule_injector"],
            Self::App => &[],
            Self::Dependencies => &[
                "kube_client",
                "kube_client::client::builder",
                "kube_runtime",
                "hyper",
                "tower",
                "rustls",
                "h2",
                "opentelemetry",
            ],
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| formatter.pad(value.get_name()))
    }
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false).map_err(|_| {
            let all: Vec<_> = Self::value_variants().iter().map(ToString::to_string).collect();
            format!("`{text}` is no component: those are {}", all.join(", "))
        })
    }
}
