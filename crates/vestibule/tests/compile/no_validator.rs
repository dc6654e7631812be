//! `Guard` does not judge changes of `RawObject`
//! a validating handler looks like `async fn(change: Change<RawObject>, context: Context) -> Result<(), Reject>`
//! expected function signature `fn(Change<RawObject>, vestibule::Context) -> _`
use vestibule::Operation::Create;
use vestibule::{App, Context, RawObject, Reject, Rule, on_rules};

async fn change(object: RawObject, _: Context) -> Result<RawObject, Reject> {
    Ok(object)
}

struct Guard;

pub fn app() -> App {
    let on = || on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]);
    App::new("demo").validate("guard", on(), Guard).validate("change", on(), change)
}
