//! `Label` does not change objects of type `RawObject`
//! not a mutating handler of `RawObject`
//! a mutating handler looks like `async fn(object: RawObject, context: Context) -> Result<RawObject, Reject>`
use vestibule::Operation::Create;
use vestibule::{App, RawObject, Rule, on_rules};

struct Label;

pub fn app() -> App {
    let on = on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]);
    App::new("demo").mutate("label", on, Label)
}
