//! From a typed handler to the raw one: decode, handle, and lay the difference on what was received.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tracing::{Instrument, debug_span};
use vestibule_admission::{
    Fault, FaultKind, Handler, HandlerFuture, HookKind, Operation, Outcome, Request, Resource, Verdict, keys,
};

use crate::environment::Environment;
use crate::lossless::{self, encode};
use crate::rule::Match;
use crate::{Change, Context, Mutate, Mutation, Rule, Validate};

/// A handler of `T`, mutating or validating, with the rules it was registered for and what the app gives it.
pub(crate) struct Typed<T, H> {
    pub(crate) rules: Arc<[Rule]>,
    pub(crate) environment: Environment,
    pub(crate) handler: Arc<H>,
    pub(crate) of: PhantomData<fn(T)>,
}

pub(crate) struct Mutating<T, H>(pub(crate) Typed<T, H>);

pub(crate) struct Validating<T, H>(pub(crate) Typed<T, H>);

impl<T, H> Handler for Mutating<T, H>
where
    T: DeserializeOwned + Serialize + Send + 'static,
    H: Mutate<T>,
{
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        self.0.if_asked(request, deadline, HookKind::Mutating, |context| self.mutate(request, context))
    }
}

impl<T, H> Mutating<T, H>
where
    T: DeserializeOwned + Serialize + Send + 'static,
    H: Mutate<T>,
{
    async fn mutate(&self, request: &Request<'_>, context: Context) -> Result<Outcome, Fault> {
        let Some(received) = request.object else { return Ok(Outcome::Allowed) };
        let (object, before) = debug_span!("decode").in_scope(|| {
            let object: T = decode(received)?;
            encode(&object, received.get().len()).map(|before| (object, before))
        })?;
        let handled = self.0.handler.mutate(object, context).instrument(debug_span!("handle")).await;
        let after = match handled {
            Ok(Mutation::Object(object)) => encode(&object, before.len())?,
            Ok(Mutation::Unchanged) => return Ok(Outcome::Allowed),
            Ok(Mutation::Patch(operations)) => return Ok(Outcome::Mutated(operations.into())),
            Err(reject) => return Ok(reject.into()),
        };
        let kind = &request.kind;
        let schema = keys::schema(&kind.group, &kind.version, &kind.kind);
        let lay = || lossless::lay::<T>(&before, &after, received.get(), schema);
        debug_span!("lay").in_scope(lay).map(|operations| Outcome::Mutated(operations.into()))
    }
}

impl<T, H> Handler for Validating<T, H>
where
    T: DeserializeOwned + Send + 'static,
    H: Validate<T>,
{
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        self.0.if_asked(request, deadline, HookKind::Validating, |context| self.validate(request, context))
    }
}

impl<T, H> Validating<T, H>
where
    T: DeserializeOwned + Send + 'static,
    H: Validate<T>,
{
    async fn validate(&self, request: &Request<'_>, context: Context) -> Result<Outcome, Fault> {
        let new = || decode(request.object.ok_or_else(|| missing("object"))?);
        let old = || decode(request.old_object.ok_or_else(|| missing("oldObject"))?);
        let change = debug_span!("decode").in_scope(|| {
            Ok(match request.operation {
                Operation::Create => Change::Create { new: new()? },
                Operation::Update => Change::Update { old: old()?, new: new()? },
                Operation::Delete => Change::Delete { old: old()? },
                Operation::Connect => Change::Connect { options: new()? },
            })
        })?;
        match self.0.handler.validate(change, context).instrument(debug_span!("handle")).await {
            Ok(()) => Ok(Outcome::Allowed),
            Err(reject) => Ok(reject.into()),
        }
    }
}

impl<T, H> Typed<T, H> {
    /// Has `decide` decide what the handler was registered for. Of what it was not, a mutating hook changes nothing; a
    /// validating hook must not admit what nobody judged, so its `failurePolicy` decides.
    fn if_asked<'a, D>(
        &'a self,
        request: &'a Request<'a>,
        deadline: Instant,
        kind: HookKind,
        decide: impl FnOnce(Context) -> D + Send + 'a,
    ) -> HandlerFuture<'a>
    where
        D: Future<Output = Result<Outcome, Fault>> + Send + 'a,
        T: 'a,
        H: Send + Sync,
    {
        Box::pin(async move {
            match debug_span!("match").in_scope(|| Rule::nearest(&self.rules, request)) {
                Match::Asked => {}
                Match::Beside if kind == HookKind::Mutating => return Verdict::allowed(),
                Match::Beside | Match::Stranger => return not_registered(request).into(),
            }
            let context = Context::new(request, deadline, self.environment.clone());
            let outcome = decide(context).await;
            outcome.unwrap_or_else(Outcome::Fault).into()
        })
    }
}

fn decode<T: DeserializeOwned>(object: &RawValue) -> Result<T, Fault> {
    lossless::decode(object.get())
}

fn missing(member: &str) -> Fault {
    Fault::new(FaultKind::Undecodable, format_args!("the request holds no {member}"))
}

/// The configuration on the cluster names more than the app does: an earlier version of the app, or an edit by hand.
fn not_registered(request: &Request<'_>) -> Fault {
    let Request { operation, resource: Resource { group, version, resource }, subresource, .. } = request;
    let slash = |text: &str| if text.is_empty() { "" } else { "/" };
    let subresource = subresource.as_deref().unwrap_or_default();
    let message = format_args!(
        "{operation} of {group}{}{version} {resource}{}{subresource} is not what this hook is for: its rules in the \
         webhook configuration name more than its app does; apply the app's own manifests",
        slash(group),
        slash(subresource),
    );
    Fault::new(FaultKind::Undecodable, message)
}

#[cfg(test)]
mod tests;
