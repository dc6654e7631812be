//! The two shapes of a handler. Plain async functions have them.

use crate::{Change, Context, Reject};

/// Changes objects: a typed value in, a typed value out. Implemented by `async fn(T, Context) -> Result<T, Reject>`.
///
/// A handler must give the same object back when it sees its own result again: kube-apiserver calls a second time when
/// others changed the object in between.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not change objects of type `{T}`",
    label = "not a mutating handler of `{T}`",
    note = "a mutating handler looks like `async fn(object: {T}, context: Context) -> Result<{T}, Reject>`",
    note = "its future must be `Send`: hold no `Rc` or `MutexGuard` across an `.await`"
)]
pub trait Mutate<T>: Send + Sync + 'static {
    /// Gives the object back as it shall become.
    ///
    /// # Errors
    /// [`deny`](crate::deny) refuses the request; any other error is a fault.
    fn mutate(&self, object: T, context: Context) -> impl Future<Output = Result<T, Reject>> + Send;
}

impl<T, F, Verdict> Mutate<T> for F
where
    F: Fn(T, Context) -> Verdict + Send + Sync + 'static,
    Verdict: Future<Output = Result<T, Reject>> + Send,
{
    fn mutate(&self, object: T, context: Context) -> impl Future<Output = Result<T, Reject>> + Send {
        self(object, context)
    }
}

/// Judges changes. Implemented by `async fn(Change<T>, Context) -> Result<(), Reject>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not judge changes of `{T}`",
    label = "not a validating handler of `{T}`",
    note = "a validating handler looks like `async fn(change: Change<{T}>, context: Context) -> Result<(), Reject>`",
    note = "its future must be `Send`: hold no `Rc` or `MutexGuard` across an `.await`"
)]
pub trait Validate<T>: Send + Sync + 'static {
    /// Lets the change pass.
    ///
    /// # Errors
    /// [`deny`](crate::deny) refuses the request; any other error is a fault.
    fn validate(
        &self,
        change: Change<T>,
        context: Context,
    ) -> impl Future<Output = Result<(), Reject>> + Send;
}

impl<T, F, Verdict> Validate<T> for F
where
    F: Fn(Change<T>, Context) -> Verdict + Send + Sync + 'static,
    Verdict: Future<Output = Result<(), Reject>> + Send,
{
    fn validate(
        &self,
        change: Change<T>,
        context: Context,
    ) -> impl Future<Output = Result<(), Reject>> + Send {
        self(change, context)
    }
}
