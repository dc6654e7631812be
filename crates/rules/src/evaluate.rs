//! [`RuleSet`]: the checked rules, and their evaluation for one object.
//!
//! [`RuleSet::evaluate`] runs the stages of `decide`: it selects rules ([`select`]), applies them ([`fixpoint`], which calls
//! [`merge`](crate::merge) for each rule), and makes the [`Decision`].

mod computed_checks;
mod decide;
mod fixpoint;
mod instantiate;
mod iteration;
mod last_changes;
mod list_keys;
mod namespaced;
mod not_applied;
mod verdict;

use std::sync::{Arc, OnceLock};

use vestibule_patch::{DocumentError, Schema};

use crate::decision::Decision;
use crate::diagnostic::Diagnostic;
use crate::explanation::{Explanation, Record};
use crate::load;
use crate::load::feedback::Readers;
use crate::namespaced::NamespacedRules;
use crate::pod::Shape;
use crate::rule::{Resource, Rule, Verb};
use crate::select;
use crate::settings::Settings;
use crate::subject::Subject;
use crate::yaml::Text;

/// Checked rules and their settings.
///
/// ```
/// use vestibule_rules::{Resource, RuleSet, Subject, Verb};
///
/// let rules = RuleSet::load(
///     [("rules.yaml", "\
/// apiVersion: vestibule.dev/v1alpha1
/// kind: Injection
/// metadata: {name: team}
/// spec:
///   match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}
///   pod: {labels: {team: blue}}
/// ")],
///     vestibule_patch::Schema::unknown(),
/// )
/// .unwrap();
/// let decision = rules
///     .evaluate(&Subject::new(
///         r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"app"}]}}"#,
///         Resource::Pods,
///         Verb::Create,
///         "blue",
///     ))
///     .unwrap();
/// let change = &decision.changes()[0];
/// assert_eq!(change.operation.path().as_str(), "/metadata/labels");
/// assert_eq!(change.origin.to_string(), "rule team, pod.labels[team] (rules.yaml:6)");
/// ```
#[derive(Clone)]
pub struct RuleSet {
    rules: Vec<Rule>,
    settings: Settings,
    warnings: Vec<Diagnostic>,
    shape: Shape,
    own_namespace: Option<String>,
    hash: Arc<str>,
    namespaced: NamespacedRules,
    /// The keys that `rules` read, for those that compute keys.
    readers: OnceLock<Arc<Readers>>,
}

/// A resource that rules change. A registration has an entry for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The resource.
    pub resource: Resource,
    /// Whether the rules are required, so that a request must not be admitted without them.
    pub required: bool,
}

impl Target {
    /// The verbs under which rules change it.
    pub fn verbs(self) -> &'static [Verb] {
        self.resource.verbs()
    }
}

/// No rules.
impl Default for RuleSet {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            settings: Settings::default(),
            warnings: Vec::new(),
            shape: Shape::of(Schema::unknown()),
            hash: Arc::from(""),
            own_namespace: None,
            namespaced: NamespacedRules::default(),
            readers: OnceLock::new(),
        }
    }
}

impl RuleSet {
    /// Reads the documents of all texts, such as `(name, text)`; `pod` is the schema of the type `Pod`.
    ///
    /// # Errors
    /// The errors of all documents, and the warnings beside them.
    pub fn load<'s>(
        sources: impl IntoIterator<Item = impl Into<Text<'s>>>,
        pod: Schema<'static>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let load::LoadedDocuments { rules, namespaced, settings, warnings, hash } =
            load::documents(sources.into_iter().map(Into::into), pod)?;
        let namespaced =
            NamespacedRules::new(settings.namespaced.as_ref(), namespaced.into_iter().map(Arc::new));
        Ok(Self { rules, settings, warnings, shape: Shape::of(pod), hash, namespaced, ..Self::default() })
    }

    /// Excludes all objects in `namespace`, the injector's own.
    #[must_use]
    pub fn with_own_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.own_namespace = Some(namespace.into());
        self
    }

    /// The same rules, and `namespaced` as the rules of namespaces.
    #[must_use]
    pub fn with_namespaced(self, namespaced: NamespacedRules) -> Self {
        Self { namespaced, ..self }
    }

    /// Whether there are no rules, neither of the cluster nor of namespaces.
    pub fn is_empty(&self) -> bool {
        self.all_rules().next().is_none()
    }

    /// The rules of the cluster, then those of namespaces that came with the documents.
    pub fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().chain(self.namespaced.iter())
    }

    /// The rules of namespaces that came with the documents.
    pub fn namespaced(&self) -> &NamespacedRules {
        &self.namespaced
    }

    /// A set of `rules` with the default settings.
    pub(crate) fn with_rules(&self, rules: Vec<Rule>) -> Self {
        Self { rules, shape: self.shape, hash: Arc::clone(&self.hash), ..Self::default() }
    }

    /// The schema of the type `Pod`.
    pub(crate) fn pod(&self) -> Schema<'static> {
        self.shape.pod
    }

    /// The settings that apply to all rules.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// 12 hexadecimal digits that identify the contents of all documents, independent of order and formatting.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The injector's own namespace, if it is known.
    pub fn own_namespace(&self) -> Option<&str> {
        self.own_namespace.as_deref()
    }

    /// The warnings from reading the documents.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The rules in the order in which they are applied: by `order`, then by name.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The resources that the rules change, each pair once.
    pub fn targets(&self) -> Vec<Target> {
        let pairs = self.rules.iter().flat_map(|rule| {
            rule.targets.iter().map(|resource| Target { resource: *resource, required: rule.required })
        });
        let mut targets: Vec<Target> = pairs.collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Whether a rule or an exemption needs the labels or annotations of namespaces.
    pub fn needs_namespace_facts(&self) -> bool {
        self.all_rules().any(Rule::needs_namespace_facts) || self.settings.need_namespace_facts()
    }

    /// Evaluates the rules for `subject`. The same input gives the same decision, and a further evaluation of the result changes
    /// nothing.
    ///
    /// # Errors
    /// The object is not JSON, or nested too deeply.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Result<Decision, DocumentError> {
        self.decide(Some(&self.namespaced), subject, &mut None, || ())
    }

    /// Evaluates the rules, and then `namespaced` as the rules of namespaces. Calls `selected` between selection and application, so that
    /// a caller can measure both. It is not called if an exclusion or exemption applies.
    ///
    /// # Errors
    /// As [`RuleSet::evaluate`].
    pub fn evaluate_in_steps(
        &self,
        namespaced: Option<&NamespacedRules>,
        subject: &Subject<'_>,
        selected: impl FnOnce(),
    ) -> Result<Decision, DocumentError> {
        self.decide(namespaced, subject, &mut None, selected)
    }

    /// Evaluates the rules, and reports every gate and the effect of every part of each rule.
    ///
    /// # Errors
    /// The object is not JSON, or nested too deeply.
    ///
    /// ```
    /// # use vestibule_rules::{GateResult, Resource, RuleSet, Subject, Verb};
    /// # let text = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: team}\nspec:\n  optIn: pod\n  pod: {labels: {team: blue}}\n";
    /// let rules = RuleSet::load([("rules.yaml", text)], vestibule_patch::Schema::unknown()).unwrap();
    /// let explanation = rules
    ///     .explain(&Subject::new(r#"{"spec":{"containers":[]}}"#, Resource::Pods, Verb::Create, "blue"))
    ///     .unwrap();
    /// let failed = explanation.rules[0].gates.iter().find(|gate| gate.result == GateResult::Failed).unwrap();
    /// assert_eq!((failed.name.as_str(), failed.line), ("opt.8", Some(5)));
    /// assert_eq!(failed.sentence, "the object does not ask for the rule");
    /// ```
    pub fn explain(&self, subject: &Subject<'_>) -> Result<Explanation, DocumentError> {
        let mut record = Some(Record::default());
        let decision = self.decide(Some(&self.namespaced), subject, &mut record, || ())?;
        let gates = |rule: &Rule| [select::gates(rule), not_applied::gates(rule)].concat();
        let namespaced = self.namespaced.of(subject.namespace).map(|(rules, _)| rules).unwrap_or_default();
        let rules = self.rules.iter().chain(namespaced.iter().map(|rule| &**rule));
        Ok(record.unwrap_or_default().explain(rules, decision, gates))
    }
}
