//! Chains of handlers on one object.

use serde::Serialize;
use serde::de::DeserializeOwned;
use vestibule_patch::Operation;

use crate::handler::change::Change;
use crate::handler::context::Context;
use crate::handler::mutation::Mutation;
use crate::handler::reject::Reject;
use crate::handler::typed_patch::Received;
use crate::handler::{Mutate, Then, Validate};

impl<T, First, Next> Mutate<T> for Then<First, Next>
where
    T: Clone + DeserializeOwned + Serialize + Send + 'static,
    First: Mutate<T>,
    Next: Mutate<T>,
{
    async fn mutate(&self, object: T, context: Context) -> Result<Mutation<T>, Reject> {
        match self.first.mutate(object.clone(), context.clone()).await? {
            Mutation::Unchanged => self.next.mutate(object, context).await,
            Mutation::Object(changed) => {
                match self.next.mutate(changed.clone(), context.after_another()).await? {
                    Mutation::Unchanged => Ok(Mutation::Object(changed)),
                    Mutation::Patch(next) => {
                        let first = Received::of(&context)?.difference(&object, &changed)?;
                        Ok(Mutation::Patch(both(first, next)))
                    }
                    after @ Mutation::Object(_) => Ok(after),
                }
            }
            Mutation::Patch(first) => {
                let patched = Received::of(&context)?.patched(&first)?;
                let between: T = patched.decode()?;
                let next = match self.next.mutate(between.clone(), context.after_another()).await? {
                    Mutation::Unchanged => Vec::new(),
                    Mutation::Object(after) => patched.difference(&between, &after)?,
                    Mutation::Patch(next) => next,
                };
                Ok(Mutation::Patch(both(first, next)))
            }
        }
    }
}

impl<T, First, Next> Validate<T> for Then<First, Next>
where
    T: Clone + Send + 'static,
    First: Validate<T>,
    Next: Validate<T>,
{
    async fn validate(&self, change: Change<T>, context: Context) -> Result<(), Reject> {
        self.first.validate(change.clone(), context.clone()).await?;
        self.next.validate(change, context).await
    }
}

fn both(mut first: Vec<Operation>, next: Vec<Operation>) -> Vec<Operation> {
    first.extend(next);
    first
}

#[cfg(test)]
mod tests;
