//! The API version, kinds, labels and annotations of the injector.

/// The `apiVersion` of rule documents.
pub const API_VERSION: &str = api_version!();

/// The label or annotation by which pods and namespaces opt in or out of rules.
pub const INJECT_KEY: &str = concat!(group!(), "/inject");

/// The prefix of the key that opts in or out of one rule: the name of the rule follows.
pub const RULE_KEY_PREFIX: &str = concat!("inject.", group!(), "/");

/// The annotation that lists the parts that rules have added to a pod. No evaluation reads it.
pub const STATUS_ANNOTATION: &str = concat!(group!(), "/injected");

/// The annotation with the probes of a pod as they were before rules have rewritten them (`rewriteProbes`). Evaluations read it.
pub(crate) const PROBES_ANNOTATION: &str = concat!(group!(), "/original-probes");

/// The label of ConfigMaps that hold rules; its value is `true`.
pub const CONFIG_LABEL: &str = concat!(group!(), "/config");

/// The label of the injector's own pods, which no rule changes; its value is `true`.
pub const OWN_POD_LABEL: &str = concat!(group!(), "/injector");

/// The labels and annotations of pods, namespaces and ConfigMaps in the domain of [`INJECT_KEY`] that the injector reads or writes.
/// Another such key is probably a misspelt one.
pub const OWN_KEYS: [&str; 5] =
    [INJECT_KEY, STATUS_ANNOTATION, PROBES_ANNOTATION, CONFIG_LABEL, OWN_POD_LABEL];

/// The name of the injector as a reporter of Events, as `kubectl describe` shows it.
pub const CONTROLLER: &str = concat!(group!(), "/injector");

/// A kind of custom resource that holds a document of the rule format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CustomResource {
    /// A rule.
    Injection,
    /// Settings for all rules.
    InjectorSettings,
    /// A rule of a namespace, for the pods there.
    NamespacedInjection,
}

impl CustomResource {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Injection, Self::InjectorSettings, Self::NamespacedInjection];

    /// `Injection`
    pub fn kind(self) -> &'static str {
        match self {
            Self::Injection => "Injection",
            Self::InjectorSettings => "InjectorSettings",
            Self::NamespacedInjection => "NamespacedInjection",
        }
    }

    /// `injections`, as RBAC and URLs name it.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Injection => "injections",
            Self::InjectorSettings => "injectorsettings",
            Self::NamespacedInjection => "namespacedinjections",
        }
    }

    /// Whether its objects are in namespaces.
    pub fn is_namespaced(self) -> bool {
        self == Self::NamespacedInjection
    }

    /// The name of the object `name` as a source of rules: `Injection nginx`; of an object in a namespace, `name` is
    /// `NAMESPACE/NAME`. Findings about such a source have paths of fields
    /// and no lines.
    ///
    /// ```
    /// use vestibule_rules::CustomResource;
    ///
    /// let source = CustomResource::Injection.source("nginx");
    /// assert!(CustomResource::is_source(&source) && !CustomResource::is_source("rules.yaml"));
    /// ```
    pub fn source(self, name: &str) -> String {
        format!("{} {name}", self.kind())
    }

    /// Whether a source of this name is an object.
    pub fn is_source(source: &str) -> bool {
        Self::ALL.iter().any(|resource| resource.is_kind_of(source))
    }

    /// Whether a source of this name is an object of this kind.
    pub fn is_kind_of(self, source: &str) -> bool {
        source.strip_prefix(self.kind()).is_some_and(|name| name.starts_with(' '))
    }
}
