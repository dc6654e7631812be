//! The types that handlers of the laws take, each edited in its own way.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec};
use kube::CustomResource;
use kube::core::{DynamicObject, PartialObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sample::Edit;

/// Something that an edit can be done to.
pub(super) trait Edited {
    fn edit(&mut self, edit: &Edit);
}

/// A custom resource: the API server says nothing of its lists.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, schema = "disabled")]
pub(super) struct WidgetSpec {
    containers: Vec<Container>,
}

/// A pod as it was before most of what pods have.
#[derive(Serialize, Deserialize, Clone)]
pub(super) struct OlderPod {
    metadata: OlderMetadata,
    spec: OlderSpec,
}

#[derive(Serialize, Deserialize, Clone)]
struct OlderMetadata {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, Clone)]
struct OlderSpec {
    containers: Vec<OlderContainer>,
}

#[derive(Serialize, Deserialize, Clone)]
struct OlderContainer {
    name: String,
    image: String,
    #[serde(default)]
    env: Vec<EnvVar>,
}

/// A pod as it will be one day: written with members that no server sends.
#[derive(Serialize, Deserialize, Clone)]
pub(super) struct NewerPod {
    #[serde(flatten)]
    pod: OlderPod,
    #[serde(default)]
    newer: Vec<String>,
    #[serde(default)]
    newer_map: BTreeMap<String, Option<u8>>,
    newer_text: Option<String>,
}

impl Edited for Pod {
    fn edit(&mut self, edit: &Edit) {
        label(self.metadata.labels.get_or_insert_default(), edit);
        let PodSpec { containers, .. } = self.spec.get_or_insert_default();
        change(containers, edit);
    }
}

impl Edited for Widget {
    fn edit(&mut self, edit: &Edit) {
        label(self.metadata.labels.get_or_insert_default(), edit);
        change(&mut self.spec.containers, edit);
    }
}

impl Edited for PartialObjectMeta<Pod> {
    fn edit(&mut self, edit: &Edit) {
        label(self.metadata.labels.get_or_insert_default(), edit);
    }
}

impl Edited for DynamicObject {
    fn edit(&mut self, edit: &Edit) {
        label(self.metadata.labels.get_or_insert_default(), edit);
        if let Some(containers) = self.data["spec"]["containers"].as_array_mut() {
            change(containers, edit);
        }
    }
}

impl Edited for Value {
    fn edit(&mut self, edit: &Edit) {
        let labels = &mut self["metadata"]["labels"];
        let mut edited: BTreeMap<String, String> = serde_json::from_value(labels.take()).unwrap();
        label(&mut edited, edit);
        *labels = json!(edited);
        if let Some(containers) = self["spec"]["containers"].as_array_mut() {
            change(containers, edit);
        }
    }
}

impl Edited for OlderPod {
    fn edit(&mut self, edit: &Edit) {
        label(&mut self.metadata.labels, edit);
        change(&mut self.spec.containers, edit);
    }
}

impl Edited for NewerPod {
    fn edit(&mut self, edit: &Edit) {
        self.pod.edit(edit);
    }
}

fn label(labels: &mut BTreeMap<String, String>, edit: &Edit) {
    match edit {
        Edit::Label(at) => drop(labels.insert(format!("l{at}"), "new".to_owned())),
        Edit::Unlabel(at) => drop(labels.remove(&format!("l{at}"))),
        _ => {}
    }
}

fn change<C: Item>(containers: &mut Vec<C>, edit: &Edit) {
    let length = containers.len();
    match edit {
        Edit::Insert(at, name) => containers.insert(at % (length + 1), C::new(name)),
        Edit::Label(_) | Edit::Unlabel(_) => {}
        _ if length == 0 => {}
        Edit::Remove(at) => drop(containers.remove(at % length)),
        Edit::Swap(one, other) => containers.swap(one % length, other % length),
        Edit::Image(at, image) => containers[at % length].image(image),
        Edit::Variable(at, name) => containers[at % length].variable(name),
    }
}

/// A container of some type.
trait Item {
    fn new(name: &str) -> Self;
    fn image(&mut self, image: &str);
    fn variable(&mut self, name: &str);
}

impl Item for Container {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), image: Some("i".to_owned()), ..Self::default() }
    }

    fn image(&mut self, image: &str) {
        self.image = Some(image.to_owned());
    }

    fn variable(&mut self, name: &str) {
        let variable = EnvVar { name: name.to_owned(), ..EnvVar::default() };
        self.env.get_or_insert_default().insert(0, variable);
    }
}

impl Item for OlderContainer {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), image: "i".to_owned(), env: Vec::new() }
    }

    fn image(&mut self, image: &str) {
        image.clone_into(&mut self.image);
    }

    fn variable(&mut self, name: &str) {
        self.env.insert(0, EnvVar { name: name.to_owned(), ..EnvVar::default() });
    }
}

impl Item for Value {
    fn new(name: &str) -> Self {
        json!({"name": name, "image": "i"})
    }

    fn image(&mut self, image: &str) {
        self["image"] = json!(image);
    }

    fn variable(&mut self, name: &str) {
        let variable = json!({"name": name});
        match self["env"].as_array_mut() {
            Some(variables) => variables.insert(0, variable),
            None => self["env"] = json!([variable]),
        }
    }
}
