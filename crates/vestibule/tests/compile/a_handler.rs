//! Every form of a handler, without an annotation that is not the handler's own: this compiles.
use vestibule::Operation::Create;
use vestibule::{App, Change, Context, FailurePolicy, Mutate, Mutation, RawObject, Reject, Rule, Validate, on_rules};

async fn object(object: RawObject, _: Context) -> Result<RawObject, Reject> {
    Ok(object)
}

async fn option(_: RawObject, _: Context) -> Result<Option<RawObject>, Reject> {
    Ok(None)
}

async fn mutation(_: RawObject, _: Context) -> Result<Mutation<RawObject>, Reject> {
    Ok(Mutation::Unchanged)
}

async fn judge(_: Change<RawObject>, _: Context) -> Result<(), Reject> {
    Ok(())
}

pub fn app() -> App {
    let on = || on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Ignore);
    App::new("fine")
        .mutate("a", on(), object.then(option).then(mutation))
        .mutate("b", on(), async |object: RawObject, _: Context| Ok(object))
        .mutate("c", on(), |_: RawObject, _| async { Ok(None) })
        .validate("d", on(), judge.then(judge))
        .validate("e", on(), async |_: Change<RawObject>, context: Context| {
            context.uid().parse::<u8>()?;
            Ok(())
        })
}
