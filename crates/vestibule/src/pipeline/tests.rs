//! Laws of every kind of handler, 10,000 cases each: members that a type does not know stay, byte by byte and with their own list
//! item; lists keep the handler's order; and the API server stores the object that the handler returned.

mod author_types;
mod kinds;
mod sample;

use k8s_openapi::api::core::v1::Pod;
use kube::core::{DynamicObject, PartialObjectMeta};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use vestibule_admission::{Decision, Hook};
use vestibule_patch::{Document, Operation as PatchOperation};

use crate::handler::Mutate;
use crate::handler::context::Context;
use crate::handler::mutation::Mutation;
use crate::handler::raw_object::RawObject;
use crate::handler::reject::Reject;
use crate::pipeline::typed::Mutating;
use crate::registration::on::on_rules;
use crate::registration::rule::Rule;
use crate::tests::{ALL, call, patch_of, typed};
use kinds::{Edited, NewerPod, OlderPod, Widget};
use sample::{Edit, Sample, sample};

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_a_type_of_kubernetes(sample in sample("v1", "Pod")) {
        let made = run::<Pod>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_a_custom_resource(sample in sample("example.com/v1", "Widget")) {
        let made = run::<Widget>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_any_object(sample in sample("v1", "Pod")) {
        let made = run::<DynamicObject>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_metadata_alone(sample in sample("v1", "Pod").prop_map(Sample::without_lists)) {
        let made = run::<PartialObjectMeta<Pod>>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_any_json(sample in sample("v1", "Pod")) {
        let made = run::<Value>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_a_type_older_than_the_server(sample in sample("v1", "Pod")) {
        let made = run::<OlderPod>(&sample, edits(&sample));
        sample.holds(&made)?;
    }

    #[test]
    fn of_a_type_newer_than_the_server(sample in sample("v1", "Pod")) {
        let made = run::<NewerPod>(&sample, edits(&sample));
        sample.holds(&made)?;
        // Members that the server does not know are sent only if the handler set them.
        prop_assert!(!made.contains("newer"), "{}", made);
    }

    #[test]
    fn of_a_chain(sample in sample("v1", "Pod"), at in 0..8_usize) {
        let (first, next) = sample.edits.split_at(at.min(sample.edits.len()));
        let (first, next) = (Edits(first.to_vec()), Edits(next.to_vec()));
        let handler = Mutate::<Pod>::then(Mutate::<Pod>::then(first, Edits(Vec::new())), next);
        let made = run::<Pod>(&sample, handler);
        sample.holds(&made)?;
    }

    #[test]
    fn of_the_bytes(sample in sample("v1", "Pod").prop_map(Sample::without_lists)) {
        let made = run::<RawObject>(&sample, ByHand(sample.edits.clone()));
        sample.holds(&made)?;
    }
}

/// Makes the edits of a sample.
struct Edits(Vec<Edit>);

fn edits(sample: &Sample) -> Edits {
    Edits(sample.edits.clone())
}

impl<T: Edited + Send + 'static> Mutate<T> for Edits {
    async fn mutate(&self, mut object: T, _: Context) -> Result<Mutation<T>, Reject> {
        if self.0.is_empty() {
            return Ok(Mutation::Unchanged);
        }
        self.0.iter().for_each(|edit| object.edit(edit));
        Ok(Mutation::Object(object))
    }
}

/// Sets labels by a patch of its own.
struct ByHand(Vec<Edit>);

impl Mutate<RawObject> for ByHand {
    async fn mutate(&self, object: RawObject, _: Context) -> Result<Mutation<RawObject>, Reject> {
        let mut labels = object.decode::<Value>()?;
        self.0.iter().for_each(|edit| labels.edit(edit));
        let labels = serde_json::value::to_raw_value(&labels["metadata"]["labels"])?.into();
        Ok(Mutation::Patch(vec![PatchOperation::Add { path: "/metadata/labels".parse()?, value: labels }]))
    }
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().unwrap();
}

/// The object as the API server would store it.
fn run<T>(sample: &Sample, handler: impl Mutate<T>) -> String
where
    T: DeserializeOwned + Serialize + Send + 'static,
{
    let on = on_rules::<T>([Rule::new("*/*", "*", ALL)]);
    let hook = Hook::mutating("law", Mutating(typed(&on, handler)));
    let body = sample.review();
    let answer = RUNTIME.with(|runtime| runtime.block_on(call(hook, body.as_bytes())));
    let mut document = Document::parse(&sample.object).unwrap();
    match answer.decision {
        Decision::Allowed => {}
        Decision::Mutated(_) => {
            let operations: Vec<PatchOperation> = serde_json::from_value(patch_of(&answer)).unwrap();
            document.apply_all(&operations).unwrap();
        }
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&answer.body)),
    }
    document.to_json()
}
