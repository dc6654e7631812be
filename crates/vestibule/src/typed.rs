//! From a typed handler to the raw one: decode, handle, and lay the difference on what was received.

use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use vestibule_admission::{Fault, FaultKind, Handler, HandlerFuture, Operation, Outcome, Request, keys};
use vestibule_patch::{Document, Operation as PatchOperation, Schema};

use crate::{Change, Context, Mutate, Rule, Validate};

pub(crate) struct Mutating<T, H> {
    pub(crate) rules: Vec<Rule>,
    pub(crate) handler: H,
    pub(crate) of: PhantomData<fn(T)>,
}

pub(crate) struct Validating<T, H> {
    pub(crate) rules: Vec<Rule>,
    pub(crate) handler: H,
    pub(crate) of: PhantomData<fn(T)>,
}

impl<T, H> Handler for Mutating<T, H>
where
    T: DeserializeOwned + Serialize + Send + 'static,
    H: Mutate<T>,
{
    fn handle<'a>(&'a self, request: &'a Request<'a>, budget: Duration) -> HandlerFuture<'a> {
        if_asked(&self.rules, request, budget, |context| self.mutate(request, context))
    }
}

impl<T, H> Mutating<T, H>
where
    T: DeserializeOwned + Serialize + Send + 'static,
    H: Mutate<T>,
{
    async fn mutate(&self, request: &Request<'_>, context: Context) -> Result<Outcome, Fault> {
        let Some(received) = request.object else { return Ok(Outcome::Allowed) };
        let object: T = decode(received)?;
        let before = encode(&object)?;
        let object = match self.handler.mutate(object, context).await {
            Ok(object) => object,
            Err(reject) => return Ok(reject.into()),
        };
        let after = encode(&object)?;
        if before == after {
            return Ok(Outcome::Allowed);
        }
        let kind = &request.kind;
        let schema = keys::schema(&kind.group, &kind.version, &kind.kind);
        lossless::<T>(&before, &after, received, schema).map(Outcome::Mutated)
    }
}

impl<T, H> Handler for Validating<T, H>
where
    T: DeserializeOwned + Send + 'static,
    H: Validate<T>,
{
    fn handle<'a>(&'a self, request: &'a Request<'a>, budget: Duration) -> HandlerFuture<'a> {
        if_asked(&self.rules, request, budget, |context| self.validate(request, context))
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
        let change = match request.operation {
            Operation::Create => Change::Create { new: new()? },
            Operation::Update => Change::Update { old: old()?, new: new()? },
            Operation::Delete => Change::Delete { old: old()? },
            Operation::Connect => Change::Connect { options: new()? },
        };
        match self.handler.validate(change, context).await {
            Ok(()) => Ok(Outcome::Allowed),
            Err(reject) => Ok(reject.into()),
        }
    }
}

/// Has `decide` decide what the handler was registered for, and joins what it says beside its outcome.
fn if_asked<'a, D>(
    rules: &'a [Rule],
    request: &'a Request<'a>,
    budget: Duration,
    decide: impl FnOnce(Context) -> D + Send + 'a,
) -> HandlerFuture<'a>
where
    D: Future<Output = Result<Outcome, Fault>> + Send + 'a,
{
    let context = Context::new(request, budget);
    Box::pin(async move {
        let outcome = match Asked::of(rules, request) {
            Asked::Something => decide(context.clone()).await,
            Asked::Nothing => Ok(Outcome::Allowed),
            Asked::Stranger => Err(stranger(request)),
        };
        context.verdict(outcome.unwrap_or_else(Outcome::Fault))
    })
}

/// Whether a request is one that the handler was registered for.
enum Asked {
    Something,
    /// A subresource or an operation that was not named: somebody widened the registration by hand.
    Nothing,
    /// Another resource altogether: its objects are no `T`.
    Stranger,
}

impl Asked {
    fn of(rules: &[Rule], request: &Request<'_>) -> Self {
        let asked = (&*request.resource.group, &*request.resource.resource, request.subresource.as_deref());
        let mut found = Self::Stranger;
        for rule in rules {
            let (resource, subresource) = match rule.resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource)),
                None => (&*rule.resource, None),
            };
            if (&*rule.group, resource, subresource) == asked && rule.operations.contains(&request.operation)
            {
                return Self::Something;
            }
            if (&*rule.group, resource) == (asked.0, asked.1) {
                found = Self::Nothing;
            }
        }
        found
    }
}

/// The difference between two encodings of a typed value, laid on the object as it was received: fields that `T` does
/// not know stay where they are.
fn lossless<T: DeserializeOwned + Serialize>(
    before: &str,
    after: &str,
    received: &RawValue,
    schema: Schema<'_>,
) -> Result<Vec<PatchOperation>, Fault> {
    let operations = vestibule_patch::lay(before, after, received.get(), schema)
        .map_err(|error| Fault::new(FaultKind::Patch, error))?;
    if cfg!(debug_assertions) {
        reaches::<T>(&operations, received, after)?;
    }
    Ok(operations)
}

/// That the patched object decodes to what the handler gave back; checked in debug builds and tests.
fn reaches<T: DeserializeOwned + Serialize>(
    operations: &[PatchOperation],
    received: &RawValue,
    after: &str,
) -> Result<(), Fault> {
    let astray =
        |_| Fault::new(FaultKind::Patch, "the patch does not lead to the handler's object: please report it");
    let mut document =
        Document::parse(received.get()).map_err(|error| Fault::new(FaultKind::Patch, error))?;
    document.apply_all(operations).map_err(|error| Fault::new(FaultKind::Patch, error))?;
    let reached: T = serde_json::from_str(&document.to_json()).map_err(|_| astray(()))?;
    let reached = encode(&reached)?;
    // By value: a `HashMap` in `T` writes its members in another order every time.
    match (Document::parse(&reached), Document::parse(after)) {
        (Ok(reached), Ok(after)) if reached.view().same_as(after.view()) => Ok(()),
        _ => Err(astray(())),
    }
}

/// serde's own words may quote a value; the place alone is told.
fn decode<T: DeserializeOwned>(object: &RawValue) -> Result<T, Fault> {
    serde_json::from_str(object.get()).map_err(|error| {
        let (line, column, to) = (error.line(), error.column(), std::any::type_name::<T>());
        let plain = to.split('<').next().unwrap_or(to);
        let to = plain.rsplit("::").next().unwrap_or(plain);
        let message =
            format_args!("the object is no {to}: line {line} column {column} does not fit the type");
        Fault::new(FaultKind::Undecodable, message)
    })
}

fn encode<T: Serialize>(object: &T) -> Result<String, Fault> {
    serde_json::to_string(object)
        .map_err(|_| Fault::new(FaultKind::Error, "the handler's object cannot be written as JSON"))
}

fn missing(member: &str) -> Fault {
    Fault::new(FaultKind::Undecodable, format_args!("the request holds no {member}"))
}

fn stranger(request: &Request<'_>) -> Fault {
    let message =
        format_args!("{} is not what this hook is for: check the registration's rules", request.kind);
    Fault::new(FaultKind::Undecodable, message)
}

#[cfg(test)]
mod tests;
