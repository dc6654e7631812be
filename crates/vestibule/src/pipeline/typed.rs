//! The inner stages of a call: match, decode, handle, diff.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::{Instrument, debug_span};
use vestibule_admission::{
    Fault, FaultKind, Handler, HandlerFuture, Operation, Outcome, Request, Resource, keys,
};
use vestibule_patch::Document;

use crate::handler::change::Change;
use crate::handler::context::Context;
use crate::handler::mutation::Mutation;
use crate::handler::typed_patch::{decode, decode_to_change, diff_onto, encode, failed};
use crate::handler::{Mutate, Validate};
use crate::lookup::Lookups;
use crate::registration::rule::{Match, Rule};

/// A handler of `T`, mutating or validating, with the rules of its registration and the lookups of its app.
pub(crate) struct Typed<T, H> {
    pub(crate) rules: Arc<[Rule]>,
    pub(crate) lookups: Lookups,
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
        Box::pin(async move { self.mutate(request, deadline).await.unwrap_or_else(Outcome::Fault).into() })
    }
}

impl<T, H> Mutating<T, H>
where
    T: DeserializeOwned + Serialize + Send + 'static,
    H: Mutate<T>,
{
    /// Match, decode, handle, diff.
    async fn mutate(&self, request: &Request<'_>, deadline: Instant) -> Result<Outcome, Fault> {
        match self.0.closest_match(request) {
            Match::Registered => {}
            // A mutating hook that changes nothing does no harm.
            Match::OtherOperation => return Ok(Outcome::Allowed),
            Match::OtherResource => return Err(not_registered(request)),
        }
        let context = self.0.context(request, deadline);
        let Some(received) = context.raw().cloned() else { return Ok(Outcome::Allowed) };
        // The check of the answer uses the same parsed document.
        let document =
            request.document().unwrap_or_else(|| Document::parse(received.as_str())).map_err(failed)?;
        let (object, before) = debug_span!("decode").in_scope(|| {
            let object: T = decode_to_change(&document, &received)?;
            encode(&object, received.as_str().len()).map(|before| (object, before))
        })?;
        let handled = self.0.handler.mutate(object, context).instrument(debug_span!("handle")).await;
        let after = match handled {
            Ok(Mutation::Object(object)) => encode(&object, before.text().len())?,
            Ok(Mutation::Unchanged) => return Ok(Outcome::Allowed),
            Ok(Mutation::Patch(operations)) => return Ok(Outcome::Mutated(operations.into())),
            Err(reject) => return Ok(reject.into()),
        };
        let kind = &request.kind;
        let schema = keys::schema(&kind.group, &kind.version, &kind.kind);
        let diff = || diff_onto::<T>(&before, &after, &document, schema);
        debug_span!("diff").in_scope(diff).map(|operations| Outcome::Mutated(operations.into()))
    }
}

impl<T, H> Handler for Validating<T, H>
where
    T: DeserializeOwned + Send + 'static,
    H: Validate<T>,
{
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        Box::pin(async move { self.validate(request, deadline).await.unwrap_or_else(Outcome::Fault).into() })
    }
}

impl<T, H> Validating<T, H>
where
    T: DeserializeOwned + Send + 'static,
    H: Validate<T>,
{
    /// Match, decode, handle.
    async fn validate(&self, request: &Request<'_>, deadline: Instant) -> Result<Outcome, Fault> {
        match self.0.closest_match(request) {
            Match::Registered => {}
            // A validating hook must not admit what its handler did not judge: `failurePolicy` decides.
            Match::OtherOperation | Match::OtherResource => return Err(not_registered(request)),
        }
        let context = self.0.context(request, deadline);
        let new = || decode(context.raw().ok_or_else(|| missing("object"))?);
        let old = || decode(context.old_raw().ok_or_else(|| missing("oldObject"))?);
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
    fn closest_match(&self, request: &Request<'_>) -> Match {
        debug_span!("match").in_scope(|| Rule::closest_match(&self.rules, request))
    }

    fn context(&self, request: &Request<'_>, deadline: Instant) -> Context {
        Context::new(request, deadline, self.lookups.clone())
    }
}

fn missing(member: &str) -> Fault {
    Fault::new(FaultKind::Undecodable, format_args!("the request holds no {member}"))
}

/// The webhook configuration on the cluster has wider rules than the app: an earlier version of the app wrote it, or a user edited
/// it.
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
