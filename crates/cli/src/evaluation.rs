//! Evaluates rules on objects and on the pods that they will make, without a server.

use std::collections::BTreeMap;

use vestibule::patch::Operation;
use vestibule_command::CommandError;
use vestibule_rules::{
    Decision, Explanation, NamespaceFacts, Outcome, Reason, Resource, RuleSet, Subject, Verb,
};

use crate::changes;
use crate::objects::Object;
use crate::render::Changed;
use crate::rules::Labels;
use crate::workload;

/// Evaluates all rules, as each hook of an injector does.
pub(crate) struct Engine {
    rules: RuleSet,
}

/// Labels and annotations of namespaces.
#[derive(Default)]
pub(crate) struct Facts {
    /// For every namespace.
    everywhere: Option<NamespaceFacts>,
    /// By name, of namespaces among the objects.
    named: BTreeMap<String, NamespaceFacts>,
}

/// The parts of a request that are not in the object.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
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
    /// The pointer to the pod template in the object; empty for the object itself.
    pub(crate) prefix: &'static str,
    /// The evaluated object or pod, JSON.
    pub(crate) json: String,
    pub(crate) answer: T,
}

/// The result of an evaluation: a decision, or an explanation with the decision in it.
pub(crate) trait Answer: Sized {
    fn ask(rules: &RuleSet, subject: &Subject<'_>) -> anyhow::Result<Self>;
    fn decision(&self) -> &Decision;
}

impl Answer for Decision {
    fn ask(rules: &RuleSet, subject: &Subject<'_>) -> anyhow::Result<Self> {
        Ok(rules.evaluate(subject)?)
    }

    fn decision(&self) -> &Decision {
        self
    }
}

impl Answer for Explanation {
    fn ask(rules: &RuleSet, subject: &Subject<'_>) -> anyhow::Result<Self> {
        Ok(rules.explain(subject)?)
    }

    fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl Engine {
    pub(crate) fn new(rules: RuleSet) -> Self {
        Self { rules }
    }

    /// Evaluates one object after the other.
    pub(crate) fn all<'o, T: Answer>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        request: Request<'o>,
    ) -> Result<Vec<Evaluation<'o, T>>, CommandError> {
        let evaluated = objects.into_iter().map(|object| {
            self.evaluate(object, request).map_err(|error| {
                let title = object.title(request.default_namespace);
                CommandError::running(format_args!("{title} ({}): {error:#}", object.place()))
            })
        });
        evaluated.collect()
    }

    /// Evaluates the object itself, if rules may be about its kind, and then the pod that it will make.
    pub(crate) fn evaluate<'o, T: Answer>(
        &self,
        object: &'o Object,
        Request { verb, default_namespace, facts, user }: Request<'o>,
    ) -> anyhow::Result<Evaluation<'o, T>> {
        let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
        let after = object.json.clone();
        let mut evaluation =
            Evaluation { object, namespace, after, operations: Vec::new(), steps: Vec::new() };
        let facts = facts.of(namespace);
        if let Some(resource) = Resource::of_kind(&object.api_version, &object.kind) {
            let json = workload::in_namespace(&evaluation.after, namespace)?;
            let subject =
                Subject::new(&json, resource, verb, namespace).name(object.given_name()).facts(facts);
            self.ask(&mut evaluation, &subject, "")?;
        }
        if !evaluation.is_denied()
            && let Some(workload) = object.workload()
            && let Some(pod) = workload.pod(&evaluation.after, &object.name)?
        {
            let json = workload::in_namespace(&pod, namespace)?;
            let subject = Subject::new(&json, Resource::Pods, Verb::Create, namespace);
            let subject = subject.facts(facts).user(user).presumed_owner(object.has_presumed_owner());
            self.ask(&mut evaluation, &subject, workload.template)?;
        }
        Ok(evaluation)
    }

    fn ask<T: Answer>(
        &self,
        evaluation: &mut Evaluation<'_, T>,
        subject: &Subject<'_>,
        prefix: &'static str,
    ) -> anyhow::Result<()> {
        let answer = T::ask(&self.rules, subject)?;
        let operations = changes::lasting(answer.decision().changes(), prefix);
        let operations = workload::graft(&operations, prefix, &evaluation.after)?;
        evaluation.after = workload::applied(&operations, &evaluation.after)?;
        evaluation.operations.extend(operations);
        evaluation.steps.push(Step { prefix, json: subject.object.to_owned(), answer });
        Ok(())
    }
}

impl<T: Answer> Evaluation<'_, T> {
    /// The rules among `by_name`, which read the name of a pod's owner, that were decided by a placeholder for that name.
    pub(crate) fn presuming(&self, by_name: &[String]) -> Vec<&str> {
        let decided = |outcome: &Outcome| match outcome {
            Outcome::Skipped { reason, .. } => matches!(reason, Reason::NotRolledOut | Reason::WhenFalse),
            _ => true,
        };
        let presumed = self.object.has_presumed_owner();
        let pods = self.steps.iter().filter(|step| presumed && !step.prefix.is_empty());
        let verdicts = pods.flat_map(|step| &step.answer.decision().verdicts);
        let names = verdicts.filter(|verdict| decided(&verdict.outcome)).map(|verdict| &*verdict.rule);
        names.filter(|name| by_name.iter().any(|one| one == name)).collect()
    }

    /// Whether some rule is for the object, even if it changed nothing.
    pub(crate) fn is_matched(&self) -> bool {
        let mut verdicts = self.steps.iter().flat_map(|step| &step.answer.decision().verdicts);
        verdicts.any(|verdict| matches!(verdict.outcome, Outcome::Applied | Outcome::Unchanged))
    }

    /// The object as the start of a line on stderr.
    pub(crate) fn line_prefix(&self) -> String {
        format!("{} ({}): ", self.object.title(self.namespace), self.object.place())
    }

    /// Warnings without repetitions.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let mut warnings: Vec<&str> = Vec::new();
        for warning in self.steps.iter().flat_map(|step| &step.answer.decision().warnings) {
            if !warnings.contains(&warning.as_str()) {
                warnings.push(warning);
            }
        }
        warnings
    }

    pub(crate) fn denial(&self) -> Option<String> {
        self.steps.iter().find_map(|step| step.answer.decision().denial())
    }

    pub(crate) fn is_denied(&self) -> bool {
        self.denial().is_some()
    }

    pub(crate) fn changed(&self) -> Changed<'_> {
        let Self { object, namespace, after, operations, .. } = self;
        Changed { object, namespace, after, operations }
    }
}

impl Facts {
    /// Facts from `labels` for every namespace, and from the namespaces among `objects`.
    pub(crate) fn new<'o>(labels: Option<&Labels>, objects: impl Iterator<Item = &'o Object>) -> Self {
        let everywhere = labels.map(|labels| NamespaceFacts {
            labels: labels.0.iter().cloned().collect(),
            ..NamespaceFacts::default()
        });
        let named = objects.filter_map(|object| Some((object.name.clone(), object.facts()?))).collect();
        Self { everywhere, named }
    }

    /// The same facts for every namespace.
    pub(crate) fn everywhere(facts: NamespaceFacts) -> Self {
        Self { everywhere: Some(facts), named: BTreeMap::new() }
    }

    /// The first namespace without facts that has an object which rules may be about.
    pub(crate) fn unknown<'o>(
        &self,
        objects: impl Iterator<Item = &'o Object>,
        default_namespace: &'o str,
    ) -> Option<&'o str> {
        let may_match = |object: &&Object| {
            object.workload().is_some() || Resource::of_kind(&object.api_version, &object.kind).is_some()
        };
        let mut namespaces =
            objects.filter(may_match).map(|object| object.namespace.as_deref().unwrap_or(default_namespace));
        namespaces.find(|namespace| self.of(namespace).is_none())
    }

    /// The facts about `namespace`, if they are known.
    pub(crate) fn of(&self, namespace: &str) -> Option<&NamespaceFacts> {
        self.everywhere.as_ref().or_else(|| self.named.get(namespace))
    }
}
