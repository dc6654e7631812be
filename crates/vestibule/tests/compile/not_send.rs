//! future returned by `held` is not `Send`
//! await occurs here, with `held` maybe used later
use std::rc::Rc;

use vestibule::Operation::Create;
use vestibule::{App, Context, RawObject, Reject, Rule, on_rules};

async fn held(object: RawObject, _: Context) -> Result<RawObject, Reject> {
    let held = Rc::new(object);
    std::future::ready(()).await;
    Ok((*held).clone())
}

pub fn app() -> App {
    let on = on_rules::<RawObject>([Rule::new("v1", "pods", [Create])]);
    App::new("demo").mutate("held", on, held)
}
