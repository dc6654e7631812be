//! What a mutating handler makes of an object.

use vestibule_patch::Operation;

/// What a mutating handler makes of an object.
///
/// A handler that always gives an object back returns `Result<T, Reject>`; one that often has nothing to do,
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
    /// The object as it shall become; what `T` does not know of it stays.
    Object(T),
    /// The object stays as it is.
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
