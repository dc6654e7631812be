//! The settings that an administrator makes for all rules.

use std::sync::Arc;

use strum::IntoStaticStr;

use crate::diagnostic::Position;
use crate::label_selector::LabelSelector;
use crate::namespaced::NamespacedBounds;

/// The settings of the only `InjectorSettings` document, or the defaults without one.
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
///   - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}
///     reason: it watches us
/// ")],
///     vestibule_patch::Schema::unknown(),
/// )
/// .unwrap();
/// let settings = rules.settings();
/// assert_eq!(settings.mode, Mode::Observe);
/// assert_eq!(settings.exemptions[0].reason, "it watches us");
/// assert!(!settings.own_namespace);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// `mode`: whether rules act. The default is [`Mode::On`].
    pub mode: Mode,
    /// `ownNamespace: inject`: whether rules apply to other pods in the injector's own namespace. The default is no.
    pub own_namespace: bool,
    /// `nativeSidecars`: whether `mode: auto` makes native sidecars (KEP-753). The default is yes.
    pub native_sidecars: bool,
    /// `exemptions`: the objects that no rule touches. The default is none.
    pub exemptions: Vec<Exemption>,
    /// `requiredEverywhere: allow`: whether a required rule needs no restriction to namespaces. With such a rule no
    /// pod starts in the cluster while the injector is down, so the default is no.
    pub required_everywhere: bool,
    /// `successEvents`: whether successful injections are reported as Events. The default is no.
    pub success_events: bool,
    /// `namespacedInjections`: the bounds of rules of namespaces; [`None`] where no such rule is in force, the default.
    pub namespaced: Option<NamespacedBounds>,
}

/// Whether rules act.
#[derive(Clone, Copy, Debug, IntoStaticStr, PartialEq, Eq, Hash)]
#[strum(serialize_all = "lowercase")]
pub enum Mode {
    /// No rule is evaluated, and every object is allowed unchanged. No webhook is registered.
    Off,
    /// Rules are evaluated and their decisions are reported, but no object is changed or denied.
    Observe,
    /// Rules change and deny objects.
    On,
}

/// Objects that no rule touches: every condition of the exemption holds for them.
#[derive(Clone)]
#[non_exhaustive]
pub struct Exemption {
    /// `namespaceSelector`: the labels of the namespace.
    pub namespaces: LabelSelector,
    /// `objectSelector`: the labels of the pod, or of the pod template of a workload.
    pub objects: LabelSelector,
    /// The names of the exempt users; a final `*` matches any suffix. An empty list sets no condition.
    pub users: Vec<String>,
    /// The reason in the administrator's words; may be empty.
    pub reason: String,
    /// The name of its source.
    pub source: Arc<str>,
    /// Its location in the source.
    pub at: Position,
}

impl Settings {
    /// Whether an exemption asks for labels of the namespace.
    pub(crate) fn need_namespace_facts(&self) -> bool {
        self.exemptions.iter().any(|exemption| exemption.namespaces.needs_namespace_facts())
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
            namespaced: None,
        }
    }
}

impl Mode {
    /// The word of the format: `observe`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
