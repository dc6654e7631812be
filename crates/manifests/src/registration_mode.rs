//! Whether the replicas or the manifests write the entries of webhook configurations.

use std::fmt;
use std::str::FromStr;

use vestibule::Target;
use vestibule::identity::Source;

/// Whether the replicas or the manifests write the entries of webhook configurations.
///
/// ```
/// use vestibule_manifests::RegistrationMode;
///
/// assert_eq!("managed".parse(), Ok(RegistrationMode::Managed));
/// assert_eq!(RegistrationMode::Static.to_string(), "static");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationMode {
    /// The replicas write them, together with the `caBundle`, once a replica answers calls. The manifests hold configurations
    /// without entries: applying all manifests at once lets no call fail, and the entries always fit the running version.
    Managed,
    /// The manifests hold the entries. Until a replica answers, calls fail, or are ignored, by their `failurePolicy`.
    Static,
}

impl RegistrationMode {
    /// The default mode: managed if the replicas keep a CA ring behind a Service, else static.
    #[must_use]
    pub fn usual(identity: &Source, target: Option<&Target>) -> Self {
        match (identity, target) {
            (Source::SelfManaged, Some(Target::Service { .. })) => Self::Managed,
            _ => Self::Static,
        }
    }
}

impl FromStr for RegistrationMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "managed" => Ok(Self::Managed),
            "static" => Ok(Self::Static),
            _ => Err(format!("the registration mode can be `managed` or `static`, not `{word}`")),
        }
    }
}

impl fmt::Display for RegistrationMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Managed => "managed",
            Self::Static => "static",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_with_a_ring_behind_a_service_register_themselves() {
        let service = Target::service("shop/hook").unwrap();
        let usual = |source: &str, target: &Target| {
            RegistrationMode::usual(&source.parse().unwrap(), Some(target)).to_string()
        };
        assert_eq!(usual("self", &service), "managed");
        assert_eq!(usual("self", &Target::url("https://a.example").unwrap()), "static");
        assert_eq!(usual("mounted:/a", &service), "static");
        assert_eq!(RegistrationMode::usual(&Source::SelfManaged, None), RegistrationMode::Static);
    }
}
