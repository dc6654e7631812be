//! The traits of handlers, which async functions implement, and the types that handlers take and return.

pub(crate) mod chain;
pub(crate) mod change;
pub(crate) mod context;
pub(crate) mod mutation;
pub(crate) mod raw_object;
pub(crate) mod reject;
pub(crate) mod typed_patch;

use crate::handler::change::Change;
use crate::handler::context::Context;
use crate::handler::mutation::Mutation;
use crate::handler::reject::Reject;

/// Changes objects. Implemented by `async fn(T, Context) -> Result<T, Reject>`, and by functions that return an `Option<T>` or a
/// [`Mutation<T>`] instead of `T`.
///
/// A handler must be idempotent: kube-apiserver calls it again, with its own result, when another webhook has changed the
/// object in between.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::{Context, Mutate, Mutation, Reject};
///
/// /// A handler with a value of its own.
/// struct Label(&'static str);
///
/// impl Mutate<Pod> for Label {
///     async fn mutate(&self, mut pod: Pod, _: Context) -> Result<Mutation<Pod>, Reject> {
///         pod.metadata.labels.get_or_insert_default().insert(self.0.to_owned(), "true".to_owned());
///         Ok(pod.into())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not change objects of type `{T}`",
    label = "not a mutating handler of `{T}`",
    note = "a mutating handler looks like `async fn(object: {T}, context: Context) -> Result<{T}, Reject>`",
    note = "its future must be `Send`: hold no `Rc` or `MutexGuard` across an `.await`"
)]
pub trait Mutate<T>: Send + Sync + 'static {
    /// Returns the object as it shall be stored.
    ///
    /// # Errors
    /// [`deny`](crate::deny) refuses the request; any other error is a fault.
    fn mutate(&self, object: T, context: Context)
    -> impl Future<Output = Result<Mutation<T>, Reject>> + Send;

    /// Chains this handler and `next`, which gets the object that this one returns: one decode, one patch. The first denial ends
    /// the chain.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Context, FailurePolicy, Mutate, Reject, on};
    ///
    /// async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    ///     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    ///     Ok(pod)
    /// }
    ///
    /// async fn annotate(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    ///     pod.metadata.annotations.get_or_insert_default().insert("by".to_owned(), "us".to_owned());
    ///     Ok(pod)
    /// }
    ///
    /// let app = App::new("demo").mutate("both", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label.then(annotate));
    /// # app.check().unwrap();
    /// ```
    fn then<Next: Mutate<T>>(self, next: Next) -> Then<Self, Next>
    where
        Self: Sized,
    {
        Then { first: self, next }
    }
}

/// Allows or denies changes. Implemented by `async fn(Change<T>, Context) -> Result<(), Reject>`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use vestibule::{Change, Context, Reject, deny};
///
/// async fn guard(change: Change<Deployment>, _: Context) -> Result<(), Reject> {
///     let replicas = change.object().and_then(|deployment| deployment.spec.as_ref()?.replicas);
///     if replicas > Some(10) {
///         return Err(deny("too many replicas").invalid().field("spec.replicas", "at most 10"));
///     }
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not judge changes of `{T}`",
    label = "not a validating handler of `{T}`",
    note = "a validating handler looks like `async fn(change: Change<{T}>, context: Context) -> Result<(), Reject>`",
    note = "its future must be `Send`: hold no `Rc` or `MutexGuard` across an `.await`"
)]
pub trait Validate<T>: Send + Sync + 'static {
    /// Returns `Ok` to allow the change.
    ///
    /// # Errors
    /// [`deny`](crate::deny) refuses the request; any other error is a fault.
    fn validate(
        &self,
        change: Change<T>,
        context: Context,
    ) -> impl Future<Output = Result<(), Reject>> + Send;

    /// Chains this handler and `next`, which is called if this one allows the change: one decode.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Change, Context, FailurePolicy, Reject, Validate, deny, on};
    ///
    /// async fn labelled(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    ///     let labels = change.object().and_then(|pod| pod.metadata.labels.as_ref());
    ///     labels.map(drop).ok_or_else(|| deny("a pod has labels"))
    /// }
    ///
    /// async fn by_staff(_: Change<Pod>, context: Context) -> Result<(), Reject> {
    ///     let staff = context.user().groups.iter().any(|group| group == "staff");
    ///     if staff { Ok(()) } else { Err(deny("only staff makes pods")) }
    /// }
    ///
    /// let app = App::new("demo").validate("both", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), labelled.then(by_staff));
    /// # app.check().unwrap();
    /// ```
    fn then<Next: Validate<T>>(self, next: Next) -> Then<Self, Next>
    where
        Self: Sized,
    {
        Then { first: self, next }
    }
}

/// Two handlers, of which the second gets the result of the first. Made by [`Mutate::then`] and [`Validate::then`].
pub struct Then<First, Next> {
    pub(crate) first: First,
    pub(crate) next: Next,
}

impl<T, F, Verdict, Returned> Mutate<T> for F
where
    F: Fn(T, Context) -> Verdict + Send + Sync + 'static,
    Verdict: Future<Output = Result<Returned, Reject>> + Send,
    Returned: Into<Mutation<T>>,
{
    fn mutate(
        &self,
        object: T,
        context: Context,
    ) -> impl Future<Output = Result<Mutation<T>, Reject>> + Send {
        let verdict = self(object, context);
        async { verdict.await.map(Into::into) }
    }
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
