//! One object after the other, twice.

use vestibule::patch::Operation;
use vestibule_command::CommandError;
use vestibule_rules::{Reason, Resource};

use super::recorder::{Because, Idle};
use super::road::{Refusal, Road, Traveller};
use crate::changes::{self, Why};
use crate::objects::Object;
use crate::render::Changed;
use crate::workload::{self, Workload};

/// What became of one object.
pub(super) struct Trial<'o> {
    pub(super) object: &'o Object,
    /// The namespace it was tried in.
    pub(super) namespace: &'o str,
    pub(super) first: Pass,
    /// The same with the result; none where the object was refused or nobody was called.
    pub(super) second: Option<Pass>,
}

/// An object on its way through all hooks, and after it the pod that it will make.
#[derive(Default)]
pub(super) struct Pass {
    /// JSON; where the object was refused, as far as it had come.
    pub(super) after: String,
    /// On the object, also where they are about its pod.
    pub(super) operations: Vec<Operation>,
    pub(super) reasons: Vec<Why>,
    /// Rules that changed nothing.
    pub(super) idle: Vec<Idle>,
    pub(super) warnings: Vec<String>,
    pub(super) refusal: Option<Refusal>,
    called: bool,
    /// Rules that changed something.
    acted: Vec<String>,
}

pub(super) async fn all<'o>(
    road: &Road,
    objects: &'o [Object],
    default_namespace: &'o str,
) -> Result<Vec<Trial<'o>>, CommandError> {
    let mut trials = Vec::with_capacity(objects.len());
    for object in objects {
        let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
        let trial = one(road, object, namespace).await.map_err(|error| {
            CommandError::running(format_args!("{} ({}): {error:#}", object.title(namespace), object.place()))
        })?;
        trials.push(trial);
    }
    Ok(trials)
}

async fn one<'o>(road: &Road, object: &'o Object, namespace: &'o str) -> anyhow::Result<Trial<'o>> {
    let first = pass(road, object, &object.json, namespace).await?;
    let second = match first.called && first.refusal.is_none() {
        true => Some(pass(road, object, &first.after, namespace).await?),
        false => None,
    };
    Ok(Trial { object, namespace, first, second })
}

async fn pass(road: &Road, object: &Object, json: &str, namespace: &str) -> anyhow::Result<Pass> {
    let mut pass = Pass { after: json.to_owned(), ..Pass::default() };
    if let Some(resource) = Resource::of_kind(&object.api_version, &object.kind) {
        pass.walk(road, resource, json, namespace, "").await?;
    }
    if pass.refusal.is_none()
        && let Some(workload) = Workload::of(object)
        && let Some(pod) = workload.pod(&pass.after, &object.name)?
    {
        pass.walk(road, Resource::Pods, &pod, namespace, workload.template).await?;
    }
    pass.tell_once();
    Ok(pass)
}

impl<'o> Trial<'o> {
    /// Whether some rule is for the object, whatever there was left to do.
    pub(super) fn is_matched(&self) -> bool {
        let there = |idle: &Idle| matches!(idle.because, Because::NothingToDo | Because::Denied);
        !self.first.acted.is_empty() || self.first.refusal.is_some() || self.first.idle.iter().any(there)
    }

    /// None where the object was refused.
    pub(super) fn admitted(&'o self) -> Option<Changed<'o>> {
        let Pass { after, operations, refusal, .. } = &self.first;
        let changed = Changed { object: self.object, namespace: self.namespace, after, operations };
        refusal.is_none().then_some(changed)
    }
}

impl Pass {
    /// Sends `json`, which stands at `prefix` of the object, on its way.
    async fn walk(
        &mut self,
        road: &Road,
        resource: Resource,
        json: &str,
        namespace: &str,
        prefix: &str,
    ) -> anyhow::Result<()> {
        let traveller = Traveller { json: workload::in_namespace(json, namespace)?, resource };
        let passage = road.walk(&traveller).await?;
        self.called |= passage.called;
        self.idle.extend(passage.idle);
        self.warnings.extend(passage.warnings);
        self.refusal = passage.refusal;
        if self.refusal.is_some() {
            return Ok(());
        }
        self.reasons.extend(changes::explain(&passage.changes, &traveller.json, &changes::dotted(prefix))?);
        let operations = changes::lasting(&passage.changes, prefix);
        self.acted.extend(passage.changes.iter().map(|change| change.origin.rule.to_string()));
        let operations = workload::graft(&operations, prefix, &self.after)?;
        self.after = workload::applied(&operations, &self.after)?;
        self.operations.extend(operations);
        Ok(())
    }

    /// Each entry that is called says what all rules do: what one has done is nothing left to do for the next, and what is left
    /// out is left out each time. A rule for Deployments has nothing to say about the pod of one, but it is mentioned where
    /// that is all it said.
    fn tell_once(&mut self) {
        let elsewhere =
            |idle: &Idle| matches!(idle.because, Because::Skipped { reason: Reason::OtherResource, .. });
        let spoke = self.idle.iter().filter(|idle| !elsewhere(idle)).map(|idle| idle.rule.clone());
        let spoke: Vec<String> = spoke.chain(self.acted.iter().cloned()).collect();
        self.idle.retain(|idle| !elsewhere(idle) || !spoke.contains(&idle.rule));
        let nothing_left = |idle: &Idle| matches!(idle.because, Because::NothingToDo);
        self.idle.retain(|idle| !nothing_left(idle) || !self.acted.contains(&idle.rule));
        let mut once: Vec<Idle> = Vec::new();
        for idle in std::mem::take(&mut self.idle) {
            let same = |said: &Idle| said.because == idle.because || elsewhere(said) && elsewhere(&idle);
            if !once.iter().any(|said| said.rule == idle.rule && same(said)) {
                once.push(idle);
            }
        }
        self.idle = once;
    }
}
