//! All rules over one object.

mod keyed;
mod missed;
mod turns;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use vestibule_patch::{DocumentError, Patch, Schema};

use crate::decision::{Decision, Outcome, Reason, Verdict};
use crate::diagnostic::{Diagnostic, Position};
use crate::explanation::{Explanation, Record, Trace};
use crate::expression::Total;
use crate::load;
use crate::merge::{self, Draft, Failure};
use crate::parameter::Invalid;
use crate::pod::Shape;
use crate::rule::{Clause, Resource, Rule, Verb};
use crate::select::{self, Inquiry, Known, Out};
use crate::settings::Settings;
use crate::subject::{Layout, Received, Subject};
use crate::yaml::Text;
pub(crate) use missed::{EXHAUSTED, RESTLESS};
use missed::{Missed, gates};
use turns::{Laid, Turns};

/// Rules that were checked and can be used.
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
///   match: {namespaces: {names: [blue]}}
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
}

/// A resource that rules change: what a registration needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The resource.
    pub resource: Resource,
    /// Whether these are the required rules, which a request may not slip past.
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
        }
    }
}

impl RuleSet {
    /// Reads the rules of all texts, such as `(name, text)`; `pod` stands on the type of pods.
    ///
    /// # Errors
    /// Everything that is wrong with any of the documents; warnings stand among it.
    pub fn load<'s>(
        sources: impl IntoIterator<Item = impl Into<Text<'s>>>,
        pod: Schema<'static>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let load::LoadedDocuments { rules, settings, warnings, hash } =
            load::documents(sources.into_iter().map(Into::into), pod)?;
        Ok(Self { rules, settings, warnings, shape: Shape::of(pod), own_namespace: None, hash })
    }

    /// Leaves everything in the injector's own namespace alone.
    #[must_use]
    pub fn with_own_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.own_namespace = Some(namespace.into());
        self
    }

    /// Only `rules`, as if there were no others.
    pub(crate) fn with_rules(&self, rules: Vec<Rule>) -> Self {
        Self {
            rules,
            settings: Settings::default(),
            warnings: Vec::new(),
            shape: self.shape,
            own_namespace: None,
            hash: Arc::clone(&self.hash),
        }
    }

    /// What the API server says of pods, as far as it is known.
    pub(crate) fn pod(&self) -> Schema<'static> {
        self.shape.pod
    }

    /// What holds for all rules.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// 12 hexadecimal digits that name the contents of all documents, in whatever order and spelling they came.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The injector's own namespace, where it is known.
    pub fn own_namespace(&self) -> Option<&str> {
        self.own_namespace.as_deref()
    }

    /// What was noticed while reading, and is no error.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The rules in the order they act in: by `order`, then by name.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the rules change, each pair once.
    pub fn targets(&self) -> Vec<Target> {
        let pairs = self.rules.iter().flat_map(|rule| {
            rule.targets.iter().map(|resource| Target { resource: *resource, required: rule.required })
        });
        let mut targets: Vec<Target> = pairs.collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Whether some rule, or an exemption, cannot decide without the labels and annotations of namespaces.
    pub fn needs_namespace_facts(&self) -> bool {
        self.rules.iter().any(Rule::needs_namespace_facts) || self.settings.need_namespace_facts()
    }

    /// What the rules make of `subject`. The same input gives the same answer; what they made, they leave alone.
    ///
    /// # Errors
    /// The object is no JSON, or nested too deeply.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Result<Decision, DocumentError> {
        self.decide(subject, &mut (), || ())
    }

    /// The same, and `matched` is called once it is known which rules take the object, before they are laid in: for whoever
    /// measures. Not where the object is none of any rule's business.
    ///
    /// # Errors
    /// As [`RuleSet::evaluate`].
    pub fn evaluate_in_steps(
        &self,
        subject: &Subject<'_>,
        matched: impl FnOnce(),
    ) -> Result<Decision, DocumentError> {
        self.decide(subject, &mut (), matched)
    }

    /// The same, with every gate on the way of every rule, and what became of each of its parts.
    ///
    /// # Errors
    /// The object is no JSON, or nested too deeply.
    ///
    /// ```
    /// # use vestibule_rules::{Passage, Resource, RuleSet, Subject, Verb};
    /// # let text = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: team}\nspec:\n  optIn: pod\n  pod: {labels: {team: blue}}\n";
    /// let rules = RuleSet::load([("rules.yaml", text)], vestibule_patch::Schema::unknown()).unwrap();
    /// let explanation = rules
    ///     .explain(&Subject::new(r#"{"spec":{"containers":[]}}"#, Resource::Pods, Verb::Create, "blue"))
    ///     .unwrap();
    /// let failed = explanation.rules[0].gates.iter().find(|gate| gate.passage == Passage::Failed).unwrap();
    /// assert_eq!((failed.name.as_str(), failed.line), ("opt.8", Some(5)));
    /// assert_eq!(failed.sentence, "the object does not ask for the rule");
    /// ```
    pub fn explain(&self, subject: &Subject<'_>) -> Result<Explanation, DocumentError> {
        let mut record = Record::default();
        let decision = self.decide(subject, &mut record, || ())?;
        let gates = |rule: &Rule| [select::gates(rule), gates(rule, None, false)].concat();
        Ok(record.explain(&self.rules, decision, gates))
    }

    fn decide(
        &self,
        subject: &Subject<'_>,
        trace: &mut impl Trace,
        matched: impl FnOnce(),
    ) -> Result<Decision, DocumentError> {
        let document = subject.read()?;
        let layout = Layout::of(subject.resource);

        let received = Received::new(document.view(), subject, layout);
        let inquiry = Inquiry {
            subject,
            received: &received,
            rules: &self.rules,
            settings: &self.settings,
            own_namespace: self.own_namespace.as_deref(),
            known: Known::default(),
        };
        if let Some(out) = inquiry.out_for_everybody(trace) {
            let verdicts = self.rules.iter().map(|rule| skipped(rule, &out)).collect();
            return Ok(Decision { verdicts, ..Decision::default() });
        }
        let mut warnings = inquiry.mistyped();
        let mut out = |rule| inquiry.out(rule, &mut warnings, trace);
        let outs: Vec<(&Rule, Option<Out>)> = self.rules.iter().map(|rule| (rule, out(rule))).collect();
        let selected: Vec<&Rule> =
            outs.iter().filter(|(_, out)| out.is_none()).map(|(rule, _)| *rule).collect();
        matched();
        let total = Total::of_a_request();
        let keyed = keyed::with_keys(&selected, subject, &received, &document, &self.shape, &total);
        let selected: Vec<&Rule> =
            selected.into_iter().map(|rule| keyed.get(rule.name()).unwrap_or(rule)).collect();
        let turns = Turns::new(subject, &received, layout, &self.shape, total);
        let Laid { mut draft, missed, rules, ended } =
            turns.lay_all(&selected, &Draft::new(document.clone()));
        let listens = trace.listens();
        for rule in selected.iter().filter(|rule| listens && !rule.logic.is_empty()) {
            for gate in gates(rule, Some(missed.get(rule.name())), subject.presumed_owner) {
                trace.gate(rule, || gate);
            }
        }
        let computed = rules.iter().filter(|rule| !rule.logic.is_fixed());
        let computed: HashMap<&str, &Rule> = computed.map(|rule| (rule.name(), &**rule)).collect();
        // A rule that was the end of its own condition was laid in before, and is taken as it was written.
        let laid = selected.iter().filter(|rule| !missed.contains_key(rule.name()));
        let laid: Vec<&Rule> = laid.map(|rule| computed.get(rule.name()).copied().unwrap_or(rule)).collect();
        // The next evaluation takes what an ended rule brought for somebody else's, and so must the places be judged.
        let acting: Vec<&Rule> = laid.iter().filter(|rule| !ended.contains(&rule.name())).copied().collect();
        merge::straighten(&acting, layout, &self.shape, &mut draft);
        warnings.extend(merge::violated(&acting, layout, &self.shape, &draft));
        let count = draft.count();
        if count > 0 {
            merge::record(&laid, layout, &self.shape, &self.hash, &mut draft);
        }
        if listens {
            // What was laid in before as the end of its own condition has no values any more.
            let known = |rule: &&&Rule| rule.logic.is_fixed() || computed.contains_key(rule.name());
            let known: Vec<&Rule> = laid.iter().filter(known).copied().collect();
            trace.standings(merge::standings(&known, layout, &self.shape, &draft));
        }
        debug_assert!(draft.follows_from(&document), "the operations make another object than the rules did");
        let (patch, origins) = draft.into_patch();
        debug_assert!(
            patch.is_empty() || patch.was_carried_out_on(&document),
            "the patch has lost its proof"
        );
        let applied = merge::authors(origins.get(..count).unwrap_or_default());
        let verdicts = outs.iter().map(|(rule, out)| match (out, missed.get(rule.name())) {
            (Some(out), _) => skipped(rule, out),
            (None, Some(missed)) => left_out(rule, missed, &mut warnings),
            (None, None) if applied.contains(&rule.name) => verdict(rule, rule.at, Outcome::Applied),
            (None, None) => verdict(rule, rule.at, Outcome::Unchanged),
        });
        let verdicts = verdicts.collect();
        let mut decision = Decision { verdicts, warnings, patch, origins, changes: OnceLock::new() };
        if decision.denial().is_some() {
            undo(&mut decision);
        }
        Ok(decision)
    }
}

/// Nobody changes what is refused.
fn undo(decision: &mut Decision) {
    decision.patch = Patch::default();
    decision.origins.clear();
    for verdict in &mut decision.verdicts {
        if let Outcome::Applied = verdict.outcome {
            let sentence = Arc::from("another rule refuses the object");
            verdict.outcome = Outcome::Skipped { reason: Reason::ObjectDenied, sentence };
        }
    }
}

fn skipped(rule: &Rule, out: &Out) -> Verdict {
    let at = out.at.unwrap_or(rule.at);
    let sentence = Arc::clone(&out.sentence);
    if out.failure && rule.required {
        return verdict(
            rule,
            at,
            Outcome::Denied { reason: out.reason, message: denial(rule, at, &sentence) },
        );
    }
    verdict(rule, at, Outcome::Skipped { reason: out.reason, sentence })
}

fn left_out(rule: &Rule, missed: &Missed, warnings: &mut Vec<String>) -> Verdict {
    let (clause, sentence, reason) = match missed {
        Missed::Declined(clause) => {
            let sentence = format!("`{}` does not hold", clause.text).into();
            return verdict_at(rule, clause, Outcome::Skipped { reason: Reason::WhenFalse, sentence });
        }
        Missed::Invalid(Invalid { clause, sentence }) => (clause, sentence, Reason::InvalidParameter),
        Missed::Failed(Failure { clause, sentence, conflict }) => {
            (clause, sentence, conflict.map_or(Reason::Error, |_| Reason::Conflict))
        }
    };
    if missed.denies(rule) {
        return verdict_at(
            rule,
            clause,
            Outcome::Denied { reason, message: denial(rule, clause.at, sentence) },
        );
    }
    warnings.push(format!("rule {} was left out: {sentence}", rule.name));
    verdict_at(rule, clause, Outcome::Skipped { reason, sentence: sentence.as_str().into() })
}

fn denial(rule: &Rule, at: Position, sentence: &str) -> String {
    format!("rule {} cannot be applied: {sentence} ({}:{})", rule.name, rule.source, at.line)
}

fn verdict_at(rule: &Rule, clause: &Clause, outcome: Outcome) -> Verdict {
    Verdict { clause: Some(clause.text.to_string()), ..verdict(rule, clause.at, outcome) }
}

fn verdict(rule: &Rule, at: Position, outcome: Outcome) -> Verdict {
    let (rule, source) = (Arc::clone(&rule.name), Arc::clone(&rule.source));
    Verdict { rule, source, line: at.line, clause: None, outcome }
}
