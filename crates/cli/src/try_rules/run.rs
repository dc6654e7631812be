//! Runs the rules on each object twice: the second pass must change nothing.

use vestibule::patch::Operation;
use vestibule_command::CommandError;
use vestibule_rules::{Reason, Resource};

use super::loopback::{LoopbackInjector, Refusal, Submitted};
use super::recorder::{UnchangedReason, UnchangedRule};
use crate::changes::{self, ExplainedChange};
use crate::objects::Object;
use crate::render::Changed;
use crate::workload;

/// The result of one object.
pub(super) struct TryResult<'o> {
    pub(super) object: &'o Object,
    /// The namespace of the request.
    pub(super) namespace: &'o str,
    pub(super) first: Pass,
    /// The pass over the result of the first; [`None`] if the object was denied or no hook was called.
    pub(super) second: Option<Pass>,
}

/// The calls of all hooks for an object, and then for the pod that it will make.
#[derive(Default)]
pub(super) struct Pass {
    /// The object after the calls, JSON.
    pub(super) after: String,
    /// Operations on the object. Paths of operations on its pod begin at its template.
    pub(super) operations: Vec<Operation>,
    pub(super) reasons: Vec<ExplainedChange>,
    /// Rules that changed nothing.
    pub(super) unchanged: Vec<UnchangedRule>,
    pub(super) warnings: Vec<String>,
    pub(super) refusal: Option<Refusal>,
    is_called: bool,
    /// Rules that changed something.
    applied: Vec<String>,
}

pub(super) async fn all<'o>(
    injector: &LoopbackInjector,
    objects: &'o [Object],
    default_namespace: &'o str,
) -> Result<Vec<TryResult<'o>>, CommandError> {
    let mut results = Vec::with_capacity(objects.len());
    for object in objects {
        let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
        let result = one(injector, object, namespace).await.map_err(|error| {
            CommandError::running(format_args!("{} ({}): {error:#}", object.title(namespace), object.place()))
        })?;
        results.push(result);
    }
    Ok(results)
}

async fn one<'o>(
    injector: &LoopbackInjector,
    object: &'o Object,
    namespace: &'o str,
) -> anyhow::Result<TryResult<'o>> {
    let first = pass(injector, object, &object.json, namespace).await?;
    let second = match first.is_called && first.refusal.is_none() {
        true => Some(pass(injector, object, &first.after, namespace).await?),
        false => None,
    };
    Ok(TryResult { object, namespace, first, second })
}

async fn pass(
    injector: &LoopbackInjector,
    object: &Object,
    json: &str,
    namespace: &str,
) -> anyhow::Result<Pass> {
    let mut pass = Pass { after: json.to_owned(), ..Pass::default() };
    if let Some(resource) = Resource::of_kind(&object.api_version, &object.kind) {
        pass.admit(injector, resource, json, namespace, "").await?;
    }
    if pass.refusal.is_none()
        && let Some(workload) = object.workload()
        && let Some(pod) = workload.pod(&pass.after, &object.name)?
    {
        pass.admit(injector, Resource::Pods, &pod, namespace, workload.template).await?;
    }
    pass.remove_repetitions();
    Ok(pass)
}

impl<'o> TryResult<'o> {
    /// Whether some rule is for the object, even if it changed nothing.
    pub(super) fn is_matched(&self) -> bool {
        let is_matched = |unchanged: &UnchangedRule| {
            matches!(unchanged.reason, UnchangedReason::NothingToDo | UnchangedReason::Denied)
        };
        !self.first.applied.is_empty()
            || self.first.refusal.is_some()
            || self.first.unchanged.iter().any(is_matched)
    }

    /// [`None`] if the object was denied.
    pub(super) fn admitted(&'o self) -> Option<Changed<'o>> {
        let Pass { after, operations, refusal, .. } = &self.first;
        let changed = Changed { object: self.object, namespace: self.namespace, after, operations };
        refusal.is_none().then_some(changed)
    }
}

impl Pass {
    /// Sends `json`, the part of the object at `prefix`, to the hooks.
    async fn admit(
        &mut self,
        injector: &LoopbackInjector,
        resource: Resource,
        json: &str,
        namespace: &str,
        prefix: &str,
    ) -> anyhow::Result<()> {
        let submitted = Submitted { json: workload::in_namespace(json, namespace)?, resource };
        let admission = injector.admit(&submitted).await?;
        self.is_called |= admission.is_called;
        self.unchanged.extend(admission.unchanged);
        self.warnings.extend(admission.warnings);
        self.refusal = admission.refusal;
        if self.refusal.is_some() {
            return Ok(());
        }
        self.reasons.extend(changes::explain(&admission.changes, &submitted.json, &changes::dotted(prefix))?);
        let operations = changes::lasting(&admission.changes, prefix);
        self.applied.extend(admission.changes.iter().map(|change| change.origin.rule.to_string()));
        let operations = workload::graft(&operations, prefix, &self.after)?;
        self.after = workload::applied(&operations, &self.after)?;
        self.operations.extend(operations);
        Ok(())
    }

    /// Removes repeated outcomes: every hook evaluates all rules, so a rule that one hook applied is unchanged for the next, and
    /// a skipped rule is skipped each time. A rule for another resource is kept only if it has no other outcome.
    fn remove_repetitions(&mut self) {
        let is_other_resource = |unchanged: &UnchangedRule| {
            matches!(unchanged.reason, UnchangedReason::Skipped { reason: Reason::OtherResource, .. })
        };
        let others = self
            .unchanged
            .iter()
            .filter(|unchanged| !is_other_resource(unchanged))
            .map(|unchanged| unchanged.rule.clone());
        let others: Vec<String> = others.chain(self.applied.iter().cloned()).collect();
        self.unchanged.retain(|unchanged| !is_other_resource(unchanged) || !others.contains(&unchanged.rule));
        let nothing_left =
            |unchanged: &UnchangedRule| matches!(unchanged.reason, UnchangedReason::NothingToDo);
        self.unchanged
            .retain(|unchanged| !nothing_left(unchanged) || !self.applied.contains(&unchanged.rule));
        let mut once: Vec<UnchangedRule> = Vec::new();
        for unchanged in std::mem::take(&mut self.unchanged) {
            let same = |other: &UnchangedRule| {
                other.reason == unchanged.reason || is_other_resource(other) && is_other_resource(&unchanged)
            };
            if !once.iter().any(|other| other.rule == unchanged.rule && same(other)) {
                once.push(unchanged);
            }
        }
        self.unchanged = once;
    }
}
