//! Names of objects, as users write them.

use std::fmt;
use std::str::FromStr;

/// The namespace and the name of an object: `NS/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// An object that holds a `caBundle` of ours: `[mutating/|validating/|crd/|apiservice/]NAME`. A bare name is a
/// MutatingWebhookConfiguration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistrationName {
    /// Its kind.
    pub kind: RegistrationKind,
    /// Its name.
    pub name: String,
}

/// A kind of object that holds a `caBundle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RegistrationKind {
    /// `MutatingWebhookConfiguration`
    Mutating,
    /// `ValidatingWebhookConfiguration`
    Validating,
    /// `CustomResourceDefinition`, its conversion webhook
    CustomResource,
    /// `APIService`
    ApiService,
}

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {expected}")]
#[non_exhaustive]
pub struct NameError {
    /// As given.
    pub given: String,
    expected: &'static str,
}

impl RegistrationKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Mutating, Self::Validating, Self::CustomResource, Self::ApiService];

    /// The word before the slash.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
            Self::CustomResource => "crd",
            Self::ApiService => "apiservice",
        }
    }
}

impl NamespacedName {
    /// A bare name takes the namespace given; `NS/NAME` keeps its own.
    ///
    /// # Errors
    /// A text with more than one slash, or with nothing on one side of it.
    pub fn parse_in(text: &str, namespace: Option<&str>) -> Result<Self, NameError> {
        let (namespace, name) = match (text.split_once('/'), namespace) {
            (Some(parts), _) => parts,
            (None, Some(namespace)) => (namespace, text),
            (None, None) => ("", text),
        };
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            let expected = "object's name: write NAMESPACE/NAME";
            return Err(NameError { given: text.to_owned(), expected });
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The DNS names of a Service with this name: the short one, which the API server asks for, and the one within the cluster's
    /// DNS domain.
    #[must_use]
    pub fn dns_names(&self, cluster_domain: &str) -> [String; 2] {
        let short = format!("{}.{}.svc", self.name, self.namespace);
        let long = format!("{short}.{cluster_domain}");
        [short, long]
    }
}

impl FromStr for NamespacedName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse_in(text, None)
    }
}

impl FromStr for RegistrationName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (word, name) = text.split_once('/').unwrap_or(("mutating", text));
        let kind = RegistrationKind::ALL.into_iter().find(|kind| kind.as_str() == word);
        let kind = kind.filter(|_| !name.is_empty() && !name.contains('/'));
        let kind = kind.ok_or_else(|| NameError {
            given: text.to_owned(),
            expected: "registration: write mutating/NAME, validating/NAME, crd/NAME or apiservice/NAME",
        })?;
        Ok(Self { kind, name: name.to_owned() })
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for RegistrationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_they_are_read() {
        for text in ["mutating/a", "validating/a.b", "crd/widgets.example.com", "apiservice/v1.example.com"] {
            assert_eq!(text.parse::<RegistrationName>().unwrap().to_string(), text);
        }
        assert_eq!("a".parse::<RegistrationName>().unwrap().kind, RegistrationKind::Mutating);
        assert_eq!("demo/hooks".parse::<NamespacedName>().unwrap().to_string(), "demo/hooks");
        assert_eq!(NamespacedName::parse_in("hooks", Some("demo")).unwrap().to_string(), "demo/hooks");
    }

    #[test]
    fn invalid_names_are_refused() {
        for text in ["", "pod/a", "crd/", "crd/a/b", "/a"] {
            assert!(text.parse::<RegistrationName>().is_err(), "{text}");
        }
        for text in ["", "a", "a/", "/a", "a/b/c"] {
            assert!(text.parse::<NamespacedName>().is_err(), "{text}");
        }
    }
}
