//! What an administrator settles for all rules.

use std::sync::Arc;

use crate::Position;
use crate::rule::Labels;

/// The one `InjectorSettings` among the documents, or what holds without it.
///
/// ```
/// use vestibule_rules::{Mode, RuleSet};
///
/// let rules = RuleSet::load(
///     [("settings.yaml", "\
/// apiVersion: vestibule.dev/v1alpha1
/// kind: InjectorSettings
/// metadata: {name: injector}
/// spec:
///   mode: observe
///   exemptions:
///   - {namespaces: [monitoring], reason: it watches us}
/// ")],
///     vestibule_patch::Schema::unknown(),
/// )
/// .unwrap();
/// let settings = rules.settings();
/// assert_eq!(settings.mode(), Mode::Observe);
/// assert_eq!(settings.exemptions()[0].reason(), "it watches us");
/// assert!(settings.native_sidecars() && !settings.injects_own_namespace());
/// ```
#[derive(Clone)]
pub struct Settings {
    pub(crate) mode: Mode,
    pub(crate) own_namespace: bool,
    pub(crate) native_sidecars: bool,
    pub(crate) exemptions: Vec<Exemption>,
    pub(crate) required_everywhere: bool,
    pub(crate) success_events: bool,
}

/// Whether rules act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nobody is asked, and whoever asks is let through.
    Off,
    /// Rules decide and their decisions are reported, but nothing is changed or denied.
    Observe,
    /// Rules act.
    On,
}

/// Objects that an administrator takes away from all rules: those for which every condition of the entry holds.
#[derive(Clone)]
pub struct Exemption {
    pub(crate) namespaces: Vec<String>,
    pub(crate) namespace_labels: Labels,
    pub(crate) object_labels: Labels,
    pub(crate) users: Vec<String>,
    pub(crate) reason: String,
    pub(crate) source: Arc<str>,
    pub(crate) at: Position,
}

impl Settings {
    /// `mode`: whether rules act. The default is [`Mode::On`].
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// `ownNamespace: inject`: whether rules reach the pods of others in the injector's own namespace. They do not by
    /// default.
    pub fn injects_own_namespace(&self) -> bool {
        self.own_namespace
    }

    /// `nativeSidecars`: whether `mode: auto` makes native sidecars (KEP-753). It does by default.
    pub fn native_sidecars(&self) -> bool {
        self.native_sidecars
    }

    /// `exemptions`: what no rule touches. None by default.
    pub fn exemptions(&self) -> &[Exemption] {
        &self.exemptions
    }

    /// `requiredEverywhere: allow`: whether a required rule may do without a restriction to namespaces, so that nothing
    /// at all starts while the injector is down. It may not by default.
    pub fn allows_required_everywhere(&self) -> bool {
        self.required_everywhere
    }

    /// `successEvents`: whether an Event tells of injections that went well. None does by default.
    pub fn success_events(&self) -> bool {
        self.success_events
    }
}

impl Settings {
    /// Whether an exemption asks for labels of the namespace.
    pub(crate) fn need_namespace_facts(&self) -> bool {
        self.exemptions.iter().any(|exemption| exemption.namespace_labels().next().is_some())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            own_namespace: false,
            native_sidecars: true,
            exemptions: Vec::new(),
            required_everywhere: false,
            success_events: false,
        }
    }
}

impl Mode {
    /// The word of the format: `observe`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::On => "on",
        }
    }
}

impl Exemption {
    /// The names of namespaces, one of which it must be; any where there are none.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The labels that the namespace must have.
    pub fn namespace_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.namespace_labels.pairs()
    }

    /// The labels that the object must have.
    pub fn object_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.object_labels.pairs()
    }

    /// The names of users, one of which must ask; a final `*` stands for any rest. Any user where there are none.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// Why, in the administrator's words; may be empty.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The name of its source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it stands in its source.
    pub fn position(&self) -> Position {
        self.at
    }
}
