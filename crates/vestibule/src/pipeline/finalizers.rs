//! Updates that only remove finalizers, owners or managed fields of an object that is being deleted: hooks that skip them
//! allow them without the handler ([`On::skip_finalizer_updates`](crate::On::skip_finalizer_updates)).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use vestibule_admission::{Handler, HandlerFuture, Operation, Request, Verdict};
use vestibule_patch::View;

/// The members of `metadata` that controllers clear on an object that is being deleted.
const CLEARED: [&str; 3] = ["finalizers", "managedFields", "ownerReferences"];

/// Allows an UPDATE that only clears an object which is being deleted, without calling the handler: a denial or a fault would
/// keep the object from being deleted.
pub(crate) struct SkipFinalizerUpdates(pub(crate) Arc<dyn Handler>);

impl Handler for SkipFinalizerUpdates {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        if clears(request) {
            Box::pin(async { Verdict::allowed() })
        } else {
            self.0.handle(request, deadline)
        }
    }
}

fn clears(request: &Request<'_>) -> bool {
    let (Operation::Update, Some(old), Some(new)) = (request.operation, request.old_object, request.object)
    else {
        return false;
    };
    let (old, new) = (View::of(old), View::of(new));
    // Few objects are being deleted, so for most requests one look into the old object suffices.
    let Some(was) = terminating(old) else { return false };
    let Some(is) = terminating(new) else { return false };
    equal_without(&CLEARED, was, is) && equal_without(&["metadata"], old, new)
}

/// The metadata of an object that is being deleted.
fn terminating(object: View<'_>) -> Option<View<'_>> {
    let metadata = object.get("metadata")?;
    metadata.get("deletionTimestamp").is_some_and(|at| !at.is_null()).then_some(metadata)
}

/// Whether two objects are equal apart from the members with these names.
fn equal_without(names: &[&str], old: View<'_>, new: View<'_>) -> bool {
    let (old, new) = (members_without(names, old), members_without(names, new));
    old.len() == new.len()
        && old.iter().zip(&new).all(|((name, was), (other, is))| name == other && was.same_as(*is))
}

fn members_without<'d>(names: &[&str], object: View<'d>) -> Vec<(Cow<'d, str>, View<'d>)> {
    let mut members = object.entries();
    members.retain(|(name, _)| !names.contains(&&**name));
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    members
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vestibule_admission::Review;

    fn clears(operation: &str, old: &Value, new: &Value) -> bool {
        let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": operation,
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "userInfo": {}, "oldObject": old, "object": new}});
        let body = body.to_string();
        super::clears(&Review::parse(body.as_bytes()).unwrap().request)
    }

    #[test]
    fn only_an_update_that_clears_a_terminating_object_is_skipped() {
        let old = json!({"kind": "Pod", "spec": {"a": [1.0]}, "metadata": {"name": "a", "labels": {"x": "y"},
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"], "managedFields": [{}]}});
        let with = |path: &str, value: Value| {
            let mut new = old.clone();
            *new.pointer_mut(path).unwrap() = value;
            new
        };
        let cleared = with("/metadata/finalizers", json!([]));
        assert!(clears("UPDATE", &old, &cleared));
        assert!(clears("UPDATE", &old, &with("/metadata/managedFields", Value::Null)));
        let mut gone = cleared.clone();
        gone["metadata"].as_object_mut().unwrap().remove("finalizers");
        gone["metadata"]["ownerReferences"] = json!([{"uid": "1"}]);
        assert!(clears("UPDATE", &old, &gone));

        assert!(!clears("CREATE", &old, &cleared));
        for (path, value) in [
            ("/metadata/labels", json!({})),
            ("/metadata/name", json!("b")),
            ("/spec/a", json!([1])),
            ("/spec", json!({})),
            ("/metadata/deletionTimestamp", Value::Null),
        ] {
            assert!(!clears("UPDATE", &old, &with(path, value)), "{path}");
        }
        let mut alive = old.clone();
        alive["metadata"]["deletionTimestamp"] = Value::Null;
        assert!(!clears("UPDATE", &alive, &cleared));
        let mut more = cleared;
        more["status"] = json!({});
        assert!(!clears("UPDATE", &old, &more));
    }
}
