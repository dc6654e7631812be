//! The parts of a webhook that have log levels of their own.

use std::fmt;
use std::str::FromStr;

/// A part of a webhook, by its name in flags and ConfigMaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    pub(crate) const ALL: [Self; 8] = [
        Self::Server,
        Self::Identity,
        Self::Lookups,
        Self::Admission,
        Self::Rules,
        Self::Injector,
        Self::App,
        Self::Dependencies,
    ];

    /// The prefixes of the targets of its lines. Empty: every other target.
    pub(crate) fn targets(self) -> &'static [&'static str] {
        self.name_and_targets().1
    }

    fn name_and_targets(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Server => ("server", &["vestibule_server", "vestibule::server", "vestibule::serve"]),
            Self::Identity => ("identity", &["vestibule_identity", "vestibule_pki", "vestibule::presented"]),
            Self::Lookups => ("lookups", &["vestibule::lookup"]),
            Self::Admission => ("admission", &["vestibule_admission", "vestibule::admission"]),
            Self::Rules => (
                "rules",
                &["vestibule_rules", "vestibule_injector::configuration", "vestibule_injector::sources"],
            ),
            Self::Injector => ("injector", &["vestibule_injector"]),
            Self::App => ("app", &[]),
            Self::Dependencies => (
                "dependencies",
                &[
                    "kube_client",
                    "kube_client::client::builder",
                    "kube_runtime",
                    "hyper",
                    "tower",
                    "rustls",
                    "h2",
                    "opentelemetry",
                ],
            ),
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name_and_targets().0)
    }
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|component| component.name_and_targets().0);
        let named = Self::ALL.into_iter().zip(names).find(|(_, name)| *name == text);
        named
            .map(|(component, _)| component)
            .ok_or_else(|| format!("`{text}` is no component: those are {}", names.join(", ")))
    }
}
