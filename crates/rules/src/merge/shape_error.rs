//! Objects that do not have the shape of a pod.

/// An operation that cannot be applied, because a value of the object does not have the type that a pod has there.
#[derive(Debug)]
pub(crate) struct ShapeError(pub(crate) String);
