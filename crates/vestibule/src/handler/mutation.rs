//! The result of mutating handlers.

use vestibule_patch::Operation;

/// The result of a mutating handler.
///
/// A handler that always returns an object has the result `Result<T, Reject>`; a handler that often changes nothing,
/// `Result<Option<T>, Reject>`. Both become a `Mutation`.
///
/// ```
/// use vestibule::{Context, Mutation, RawObject, Reject, patch};
///
/// async fn seen(object: RawObject, _: Context) -> Result<Mutation<RawObject>, Reject> {
///     if object.view().pointer(&"/metadata/labels/seen".parse()?).is_some() {
///         return Ok(Mutation::Unchanged);
///     }
///     let patch = r#"[{"op": "add", "path": "/metadata/labels", "value": {"seen": "true"}}]"#;
///     Ok(Mutation::Patch(serde_json::from_str(patch)?))
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Mutation<T> {
    /// The object as it shall be stored; members that `T` does not know stay.
    Object(T),
    /// No change.
    Unchanged,
    /// Operations on the object as it was received (RFC 6902). One that does not apply is a fault.
    Patch(Vec<Operation>),
}

impl<T> From<T> for Mutation<T> {
    fn from(object: T) -> Self {
        Self::Object(object)
    }
}

impl<T> From<Option<T>> for Mutation<T> {
    fn from(object: Option<T>) -> Self {
        object.map_or(Self::Unchanged, Self::Object)
    }
}
