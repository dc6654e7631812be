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

/// The name of an unknown component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no component: those are {all}", all = names().join(", "))]
pub(crate) struct UnknownComponent(String);

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

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Identity => "identity",
            Self::Lookups => "lookups",
            Self::Admission => "admission",
            Self::Rules => "rules",
            Self::Injector => "injector",
            Self::App => "app",
            Self::Dependencies => "dependencies",
        }
    }

    /// The prefixes of the targets of its lines. Empty: every other target.
    pub(crate) fn targets(self) -> &'static [&'static str] {
        match self {
            Self::Server => &["vestibule_server", "vestibule::server", "vestibule::serve"],
            Self::Identity => &["vestibule_identity", "vestibule_pki", "vestibule::presented"],
            Self::Lookups => &["vestibule::lookup"],
            Self::Admission => &["vestibule_admission", "vestibule::admission"],
            Self::Rules => {
                &["vestibule_rules", "vestibule_injector::configuration", "vestibule_injector::sources"]
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

fn names() -> [&'static str; 8] {
    Component::ALL.map(Component::as_str)
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Component {
    type Err = UnknownComponent;

    fn from_str(text: &str) -> Result<Self, UnknownComponent> {
        let named = |component: &Self| component.as_str() == text;
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownComponent(text.to_owned()))
    }
}
