//! The check of a patch before it is sent: kube-apiserver must not refuse it.
//!
//! A patch that does not apply fails the user's request even under `failurePolicy: Ignore` (docs/apiserver.md, Patches), so it is
//! answered as a fault instead.

use vestibule_patch::{Operation, Patch, Pointer, View};

use crate::{Fault, FaultKind, HookKind, Request};

/// The members that a mutation must not change: the API server's errors about them name neither the hook nor the field.
/// Their pointers have no escapes, so they are compared as text. The first one, the name, is fixed in an update only: a stored object
/// keeps its name.
const FIXED: [&str; 5] = ["/metadata/name", "/apiVersion", "/kind", "/metadata/uid", "/metadata/namespace"];

pub(crate) fn mutation(kind: HookKind, request: &Request<'_>, patch: &Patch) -> Result<(), Fault> {
    if patch.is_empty() {
        return Ok(());
    }
    if kind == HookKind::Validating {
        return Err(refused("a validating webhook may not return a patch"));
    }
    if !has_mutable_object(request) {
        return Err(refused(format_args!("a {} request holds no object to change", request.operation)));
    }
    if let Some(operation) = patch.iter().find(|operation| !is_supported_by_the_api_server(operation)) {
        return Err(refused(format_args!("{} of the whole object", operation.name())));
    }
    let before = request.document().transpose().map_err(unreadable)?;
    let Some(before) = before else { return Err(refused("there is no object to change")) };
    let [_, always @ ..] = &FIXED;
    let fixed = if request.operation == crate::Operation::Update { &FIXED[..] } else { always };
    let touches_fixed = patch.iter().any(|operation| touches(fixed, operation));
    if patch.was_carried_out_on(&before) && !touches_fixed {
        return Ok(());
    }
    let mut after = before.clone();
    after.apply_all(patch).map_err(refused)?;
    let (before, after) = (before.view(), after.view());
    match fixed.iter().find(|path| touches_fixed && !same(find(before, path), find(after, path))) {
        Some(path) => {
            let member = path.trim_start_matches('/').replace('/', ".");
            Err(refused(format_args!("a mutation leaves {member} as it is")))
        }
        None => Ok(()),
    }
}

/// The patch without its operations `test`, if it has some. They hold for the received object, which is the object that the API server
/// patches; but its library compares strings and numbers as they are written, and the API server writes `<` as `\u003c`.
pub(crate) fn without_tests(patch: &Patch) -> Option<Patch> {
    let is_test = |operation: &Operation| matches!(operation, Operation::Test { .. });
    let changes = || patch.iter().filter(|operation| !is_test(operation)).cloned().collect::<Vec<_>>();
    patch.iter().any(is_test).then(|| changes().into())
}

/// Whether `operation` changes one of these members, a part of one, or a container of one.
fn touches(fixed: &[&str], operation: &Operation) -> bool {
    let from = match operation {
        Operation::Move { from, .. } => Some(from),
        // A copy leaves the value at `from` as it is.
        Operation::Add { .. }
        | Operation::Remove { .. }
        | Operation::Replace { .. }
        | Operation::Copy { .. }
        | Operation::Test { .. } => None,
    };
    from.into_iter().chain([operation.path()]).any(|pointer| {
        let pointer = pointer.as_str();
        fixed.iter().any(|fixed| is_within(pointer, fixed) || is_within(fixed, pointer))
    })
}

/// Whether the pointer `inner` leads to the value at `outer`, or into it.
fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// RFC 6902 allows all operations on the whole document; the API server's library supports two of them.
fn is_supported_by_the_api_server(operation: &Operation) -> bool {
    let whole = |pointer: &Pointer| pointer.is_root();
    match operation {
        Operation::Replace { .. } | Operation::Test { .. } => true,
        Operation::Add { path, .. } | Operation::Remove { path } => !whole(path),
        Operation::Move { from, path } | Operation::Copy { from, path } => !whole(from) && !whole(path),
    }
}

/// kube-apiserver takes a patch whenever it sends an object. On CONNECT the object is the options of the stream, such as
/// `PodExecOptions`, and it connects with the patched options.
fn has_mutable_object(request: &Request<'_>) -> bool {
    request.object.is_some() && request.operation != crate::Operation::Delete
}

fn find<'d>(view: View<'d>, path: &str) -> Option<View<'d>> {
    path.split('/').skip(1).try_fold(view, View::get)
}

fn same(before: Option<View<'_>>, after: Option<View<'_>>) -> bool {
    match (before, after) {
        (None, None) => true,
        (Some(before), Some(after)) => before.same_as(after),
        _ => false,
    }
}

fn unreadable(error: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Undecodable, format_args!("cannot decode the object: {error}"))
}

fn refused(why: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Patch, format_args!("invalid JSON patch, not sent: {why}"))
}

#[cfg(test)]
mod tests;
