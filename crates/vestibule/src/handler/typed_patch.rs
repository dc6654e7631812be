//! The difference between two typed values, as a patch on received bytes: members that the type does not know stay.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vestibule_admission::{Fault, FaultKind, keys};
use vestibule_patch::{Document, Encoded, Operation, Schema};

use crate::decode;
use crate::handler::context::Context;
use crate::handler::raw_object::RawObject;
use crate::handler::reject::Reject;

mod check_result;

use check_result::check_result;

/// An object as it was received, or after a patch, with the keys of its lists.
pub(crate) struct Received {
    object: RawObject,
    schema: Schema<'static>,
}

impl Received {
    /// The request's object, for the first handler of a chain.
    pub(crate) fn of(context: &Context) -> Result<Self, Reject> {
        let object = context.received().ok_or_else(|| {
            Reject::fault(
                "a patch in a chain within a chain: write `a.then(b).then(c)`, not `a.then(b.then(c))`",
            )
        })?;
        let (group, version, kind) = context.kind();
        Ok(Self { object: object.clone(), schema: keys::schema(group, version, kind) })
    }

    pub(crate) fn decode<T: DeserializeOwned + 'static>(&self) -> Result<T, Reject> {
        let document = self.object.document().map_err(failed);
        document.and_then(|document| decode_to_change(&document, &self.object)).map_err(Reject::from_fault)
    }

    /// The operations that lead from `before` to `after`.
    pub(crate) fn difference<T>(&self, before: &T, after: &T) -> Result<Vec<Operation>, Reject>
    where
        T: DeserializeOwned + Serialize + 'static,
    {
        let received = self.object.document().map_err(failed).map_err(Reject::from_fault)?;
        let encode = |object| encode(object, received.text().len());
        let diff = || diff_onto::<T>(&encode(before)?, &encode(after)?, &received, self.schema);
        diff().map_err(Reject::from_fault)
    }

    pub(crate) fn patched(&self, operations: &[Operation]) -> Result<Self, Reject> {
        let apply = || {
            let mut document = self.object.document().map_err(failed)?;
            document.apply_all(operations).map_err(failed)?;
            decode::decode(&document.to_json()).map_err(failed)
        };
        Ok(Self { object: apply().map_err(Reject::from_fault)?, schema: self.schema })
    }
}

/// The patch on the `received` object that makes the change from `before` to `after`, two encodings of a typed value. Members
/// that `T` does not know are in neither, and stay.
pub(crate) fn diff_onto<T: DeserializeOwned + Serialize + 'static>(
    before: &Encoded,
    after: &Encoded,
    received: &Document<'_>,
    schema: Schema<'_>,
) -> Result<Vec<Operation>, Fault> {
    if before.text() == after.text() {
        return Ok(Vec::new());
    }
    let documents = (before.document().map_err(failed)?, after.document().map_err(failed)?);
    let mut operations =
        vestibule_patch::diff_documents(&documents.0, &documents.1, received, schema).map_err(failed)?;
    if cfg!(debug_assertions) {
        check_result::<T>(&operations, received.clone(), after.text())?;
    }
    operations.retain(|operation| !clears_managed_fields(operation));
    Ok(operations)
}

/// Whether it sets `managedFields`, which the handler did not get, to nothing: kube-apiserver would take all fields from their managers.
fn clears_managed_fields(operation: &Operation) -> bool {
    matches!(operation, Operation::Add { path, value }
        if path.as_str() == "/metadata/managedFields" && matches!(value.get(), "null" | "[]"))
}

/// The error names the line and column only: serde's own text may quote a value.
pub(crate) fn decode<T: DeserializeOwned + 'static>(object: &RawObject) -> Result<T, Fault> {
    if let Some(object) = as_received(object) {
        return Ok(object);
    }
    decode::decode(object.as_str()).map_err(|error| {
        let (line, column, to) = (error.line(), error.column(), std::any::type_name::<T>());
        let plain = to.split('<').next().unwrap_or(to);
        let to = plain.rsplit("::").next().unwrap_or(plain);
        let message = format_args!(
            "cannot decode the object as {to}: line {line} column {column} does not fit the type"
        );
        Fault::new(FaultKind::Undecodable, message)
    })
}

/// The received object for a mutating handler, without its `managedFields`: they are often a third of the text, a webhook has no
/// reason to change them, and decoding and encoding them takes longer than all else. A [`RawObject`] keeps its bytes.
pub(crate) fn decode_to_change<T: DeserializeOwned + 'static>(
    document: &Document<'_>,
    object: &RawObject,
) -> Result<T, Fault> {
    if let Some(object) = as_received(object) {
        return Ok(object);
    }
    let shorter = decode::without_managed_fields(document);
    // An error names its place in the received object.
    let decoded = shorter.and_then(|object| serde_json::from_str(&object).ok());
    decoded.map_or_else(|| decode(object), Ok)
}

/// The object itself for a handler of [`RawObject`]: serde_json would read its text once more.
fn as_received<T: 'static>(object: &RawObject) -> Option<T> {
    let mut object = Some(object.clone());
    (&mut object as &mut dyn Any).downcast_mut::<Option<T>>()?.take()
}

/// Allocates for about `length` bytes at once: a buffer that grows in steps would hold a large object twice.
pub(crate) fn encode<T: Serialize>(object: &T, length: usize) -> Result<Encoded, Fault> {
    // The error of the type may quote a value.
    let unwritable = |_| Fault::new(FaultKind::Error, "cannot encode the handler's object as JSON");
    Encoded::new(object, length + length / 8).map_err(unwritable)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Patch, error)
}
