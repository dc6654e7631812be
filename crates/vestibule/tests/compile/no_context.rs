//! expected function that takes 2 arguments
//! to be a future that resolves to `Result<_, Reject>`
//! `Result<RawObject, vestibule::Reject>` is not a future
use vestibule::Operation::Create;
use vestibule::{App, Context, RawObject, Reject, Rule, on_rules};

async fn alone(object: RawObject) -> Result<RawObject, Reject> {
    Ok(object)
}

async fn plain(object: RawObject, _: Context) -> RawObject {
    object
}

fn blocking(object: RawObject, _: Context) -> Result<RawObject, Reject> {
    Ok(object)
}

pub fn app() -> App {
    let on = || on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]);
    App::new("demo").mutate("alone", on(), alone).mutate("plain", on(), plain).mutate("blocking", on(), blocking)
}
