//! is not implemented for `Mutation<RawObject>`
//! `Mutation<T>` implements `From<Option<T>>`
use vestibule::Operation::Create;
use vestibule::{App, Context, RawObject, Reject, Rule, on_rules};

async fn text(_: RawObject, _: Context) -> Result<String, Reject> {
    Ok(String::new())
}

pub fn app() -> App {
    let on = on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]);
    App::new("demo").mutate("text", on, text)
}
