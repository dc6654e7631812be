//! Evaluates rules on objects and on the pods that they will make.

mod facts;

use vestibule::patch::{DocumentError, Operation};
use vestibule_command::CommandError;
use vestibule_rules::{Change, Decision, Explanation, Outcome, Reason, Resource, RuleSet, Subject, Verb};

pub(crate) use self::facts::Facts;
use crate::changes::{self, ExplainedChange};
use crate::objects::Object;
use crate::workload;

/// The rules, and the parts of a request that are not in the object.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) rules: &'r RuleSet,
    pub(crate) verb: Verb,
    /// The namespace of objects without one.
    pub(crate) default_namespace: &'r str,
    pub(crate) facts: &'r Facts,
    /// `userInfo`, JSON.
    pub(crate) user: Option<&'r str>,
}

/// The result for one object.
pub(crate) struct Evaluation<'o, T> {
    pub(crate) object: &'o Object,
    pub(crate) namespace: &'o str,
    /// The object after all operations, JSON.
    pub(crate) after: String,
    /// Operations on the object. Paths of operations on its pod begin at its template.
    pub(crate) operations: Vec<Operation>,
    pub(crate) steps: Vec<Step<T>>,
}

/// One evaluation of the rules.
pub(crate) struct Step<T> {
    pub(crate) submitted: Submitted,
    pub(crate) answer: T,
}

/// An object or a pod, as the API server sends it.
pub(crate) struct Submitted {
    /// JSON with a namespace.
    pub(crate) json: String,
    pub(crate) resource: Resource,
    /// The pointer to the pod template in the object; empty for the object itself.
    pub(crate) prefix: &'static str,
}

/// The answer about an object or a pod.
pub(crate) trait Answer {
    /// In the order they apply; empty if the object is denied.
    fn changes(&self) -> &[Change];
    fn warnings(&self) -> &[String];
    fn denial(&self) -> Option<String>;
}

impl Answer for Decision {
    fn changes(&self) -> &[Change] {
        self.changes()
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn denial(&self) -> Option<String> {
        self.denial()
    }
}

impl Answer for Explanation {
    fn changes(&self) -> &[Change] {
        self.decision.changes()
    }

    fn warnings(&self) -> &[String] {
        &self.decision.warnings
    }

    fn denial(&self) -> Option<String> {
        self.decision.denial()
    }
}

/// Gets the answers of `ask` for `json`, a version of the object, if rules may match its kind, and then for the pod that it will
/// make.
pub(crate) fn evaluate<'o, T: Answer>(
    object: &'o Object,
    json: &str,
    default_namespace: &'o str,
    ask: impl Fn(&Submitted) -> anyhow::Result<T>,
) -> anyhow::Result<Evaluation<'o, T>> {
    let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
    let (operations, steps) = (Vec::new(), Vec::new());
    let mut evaluation = Evaluation { object, namespace, after: json.to_owned(), operations, steps };
    if let Some(resource) = Resource::of_kind(&object.api_version, &object.kind) {
        let json = workload::in_namespace(json, namespace)?;
        evaluation.add(Submitted { json, resource, prefix: "" }, &ask)?;
    }
    if !evaluation.is_denied()
        && let Some(workload) = object.workload()
        && let Some(pod) = workload.pod(&evaluation.after, &object.name)?
    {
        let json = workload::in_namespace(&pod, namespace)?;
        evaluation.add(Submitted { json, resource: Resource::Pods, prefix: workload.template }, &ask)?;
    }
    Ok(evaluation)
}

impl Request<'_> {
    /// Evaluates one object after the other by `ask`, which is [`RuleSet::evaluate`] or [`RuleSet::explain`].
    pub(crate) fn all<'o, T: Answer>(
        &'o self,
        objects: impl IntoIterator<Item = &'o Object>,
        ask: impl Fn(&RuleSet, &Subject<'_>) -> Result<T, DocumentError> + Copy,
    ) -> Result<Vec<Evaluation<'o, T>>, CommandError> {
        let evaluated = objects.into_iter().map(|object| {
            let evaluation = self.evaluate(object, &object.json, ask);
            evaluation.map_err(|error| object.failure(self.default_namespace, &error))
        });
        evaluated.collect()
    }

    /// Evaluates `json`, a version of the object, and then the pod that it will make.
    pub(crate) fn evaluate<'o, T: Answer>(
        &'o self,
        object: &'o Object,
        json: &str,
        ask: impl Fn(&RuleSet, &Subject<'_>) -> Result<T, DocumentError>,
    ) -> anyhow::Result<Evaluation<'o, T>> {
        evaluate(object, json, self.default_namespace, |Submitted { json, resource, prefix }| {
            let namespace = object.namespace.as_deref().unwrap_or(self.default_namespace);
            let subject = match *prefix {
                "" => Subject::new(json, *resource, self.verb, namespace).name(&object.given_name),
                _ => Subject::new(json, *resource, Verb::Create, namespace)
                    .user(self.user)
                    .presumed_owner(object.has_presumed_owner()),
            };
            Ok(ask(self.rules, &subject.facts(self.facts.of(namespace)))?)
        })
    }
}

impl<T: Answer> Evaluation<'_, T> {
    fn add(
        &mut self,
        submitted: Submitted,
        ask: impl Fn(&Submitted) -> anyhow::Result<T>,
    ) -> anyhow::Result<()> {
        let (answer, prefix) = (ask(&submitted)?, submitted.prefix);
        let operations = changes::lasting(answer.changes(), prefix);
        let operations = workload::graft(&operations, &submitted.json, prefix, &self.after)?;
        self.after = workload::applied(&operations, &self.after)?;
        self.operations.extend(operations);
        self.steps.push(Step { submitted, answer });
        Ok(())
    }

    /// The object as the start of a line on stderr.
    pub(crate) fn line_prefix(&self) -> String {
        format!("{} ({}): ", self.object.title(self.namespace), self.object.place())
    }

    /// Warnings without repetitions.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let mut warnings: Vec<&str> = Vec::new();
        for warning in self.steps.iter().flat_map(|step| step.answer.warnings()) {
            if !warnings.contains(&warning.as_str()) {
                warnings.push(warning);
            }
        }
        warnings
    }

    pub(crate) fn denial(&self) -> Option<String> {
        self.steps.iter().find_map(|step| step.answer.denial())
    }

    pub(crate) fn is_denied(&self) -> bool {
        self.denial().is_some()
    }

    /// Why no rule was asked about the pod of a workload; [`None`] if one was, or for other kinds.
    pub(crate) fn lack_of_pod(&self) -> Option<String> {
        let (workload, kind) = (self.object.workload()?, &self.object.kind);
        let asked = self.steps.iter().any(|step| !step.submitted.prefix.is_empty());
        let template = workload.template.trim_start_matches('/').replace('/', ".");
        (!asked && !self.is_denied())
            .then(|| format!("the {kind} has no `{template}`, so it makes no pods for rules"))
    }
}

impl Evaluation<'_, Decision> {
    /// The rules that read the name of a pod's owner and were decided by a placeholder for that name.
    pub(crate) fn presuming(&self, rules: &RuleSet) -> Vec<&str> {
        let decided = |outcome: &Outcome| match outcome {
            Outcome::Skipped { reason, .. } => {
                matches!(reason, Reason::NotRolledOut | Reason::MatchConditionFalse)
            }
            _ => true,
        };
        let presumed = self.object.has_presumed_owner();
        let pods = self.steps.iter().filter(|step| presumed && !step.submitted.prefix.is_empty());
        let verdicts = pods.flat_map(|step| &step.answer.verdicts);
        let names = verdicts.filter(|verdict| decided(&verdict.outcome)).map(|verdict| &*verdict.rule);
        let reads_name =
            |name: &&str| rules.all_rules().any(|rule| rule.name() == *name && rule.needs_owner_name());
        names.filter(reads_name).collect()
    }

    /// Whether some rule is for the object, even if it changed nothing.
    pub(crate) fn is_matched(&self) -> bool {
        let mut verdicts = self.steps.iter().flat_map(|step| &step.answer.verdicts);
        verdicts.any(|verdict| matches!(verdict.outcome, Outcome::Applied | Outcome::Unchanged))
    }
}

impl<T: Answer> Step<T> {
    /// The changes, with the parts of rules that made them.
    pub(crate) fn explained(&self) -> anyhow::Result<Vec<ExplainedChange>> {
        changes::explain(self.answer.changes(), &self.submitted.json, self.submitted.prefix)
    }
}
