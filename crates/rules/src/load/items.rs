//! What a rule adds to a pod: volumes, sidecars, init containers, labels and annotations.

use std::collections::HashMap;

use vestibule_patch::{List, Schema};

use super::check;
use super::reader::Reader;
use crate::diagnostic;
use crate::format::{self, Mode};
use crate::key;
use crate::overlay::{Member, Overlay};
use crate::rule::{Clause, Injected, Item, Part, Place, Policy};
use crate::yaml::Node;

const ONLY_NATIVE: &[&str] = &["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

impl Reader {
    pub(super) fn pod_metadata(&mut self, spec: &Node, on_conflict: Option<Policy>) -> Vec<Part> {
        let Some(pod) = spec.get("pod") else { return Vec::new() };
        self.fields(pod, &format::POD);
        let mut items = Vec::new();
        for map in ["labels", "annotations"] {
            let Some(node) = pod.get(map) else { continue };
            for (key, overlay, at) in self.texts_or_expressions(node, map) {
                self.checked(check::key(&key), &key, at);
                if map == "labels"
                    && let Some(value) = overlay.as_text()
                {
                    self.checked(check::label(value), &key, at);
                }
                let clause = Clause { text: format!("pod.{map}[{key}]"), at };
                let policy = on_conflict.unwrap_or(Policy::Keep);
                let item = Item { clause, key, overlay, policy };
                items.push(Part { path: vec![map.to_owned()], listed: false, item });
            }
        }
        items
    }

    pub(super) fn volumes(
        &mut self,
        spec: &Node,
        pod_spec: Schema<'_>,
        required: bool,
        on_conflict: Option<Policy>,
    ) -> Vec<Item> {
        let Some(node) = spec.get("volumes") else { return Vec::new() };
        let default = on_conflict.unwrap_or(Policy::SkipRule);
        self.named_items(node, "volumes", pod_spec.field("volumes"), required, default)
    }

    pub(super) fn injected(
        &mut self,
        spec: &Node,
        pod_spec: Schema<'_>,
        required: bool,
        on_conflict: Option<Policy>,
    ) -> Vec<Injected> {
        let mut injected = Vec::new();
        for field in ["sidecars", "initContainers"] {
            let Some(node) = spec.get(field) else { continue };
            let default = on_conflict.unwrap_or(Policy::SkipRule);
            let items = self.named_items(node, field, pod_spec.field("containers"), required, default);
            for (node, item) in node.as_list().unwrap_or_default().iter().zip(items) {
                injected.push(self.injected_container(node, item, field == "sidecars"));
            }
        }
        for (index, one) in injected.iter().enumerate() {
            let list = |item: &Item| item.clause.list().text;
            let same =
                |other: &&Injected| other.item.key == one.item.key && list(&other.item) != list(&one.item);
            if injected.iter().take(index).any(|other| same(&other)) {
                let message = format!("container `{}` stands twice in this rule", one.item.key);
                self.error(&diagnostic::DOUBLED_NAME, one.item.clause.at, message);
            }
        }
        self.unique_ports(&injected);
        injected
    }

    /// Containers of a pod share one network. An init container that ends has left its ports before the others start.
    fn unique_ports(&mut self, injected: &[Injected]) {
        let lasting = |one: &&Injected| one.regular || one.item.overlay.text("restartPolicy").is_some();
        let mut taken: HashMap<String, &str> = HashMap::new();
        for Item { clause, key, overlay, policy } in injected.iter().filter(lasting).map(|one| &one.item) {
            for port in overlay.get("ports").map(Overlay::items).unwrap_or_default() {
                let Some(Overlay::Literal(number)) = port.get("containerPort") else { continue };
                let port = format!("{number}/{}", port.text("protocol").unwrap_or("TCP"));
                let message = match taken.get(&port) {
                    Some(other) if other != key => format!("port {port} of `{key}` is that of `{other}`"),
                    _ => {
                        taken.insert(port, key);
                        continue;
                    }
                };
                if *policy != Policy::Override {
                    self.error(&diagnostic::DOUBLED_NAME, clause.at, message);
                }
            }
        }
    }

    fn injected_container(&mut self, node: &Node, mut item: Item, sidecar: bool) -> Injected {
        let mode = node.get("mode").and_then(|mode| self.word(mode, "mode", &format::MODES));
        let auto = if self.native_sidecars { Mode::Native } else { Mode::Regular };
        let mode = mode.flatten().unwrap_or(auto);
        let native = sidecar && mode == Mode::Native;
        let regular = sidecar && mode == Mode::Regular;
        let list = if regular { "containers" } else { "initContainers" };
        if !sidecar && let Some(mode) = node.get("mode") {
            self.error(&diagnostic::UNKNOWN_FIELD, mode.at(), "an init container has no `mode`");
        }
        if let Some(policy) = node.get("restartPolicy")
            && !(native && policy.as_text() == Some("Always"))
        {
            let help = "a native sidecar gets `restartPolicy: Always` by itself";
            let message = "`restartPolicy` cannot be set here";
            self.error_with_help(&diagnostic::WRONG_VALUE, policy.at(), message, help);
        }
        if native && item.overlay.get("restartPolicy").is_none() {
            let value = Overlay::Text("Always".to_owned());
            let member = Member { name: "restartPolicy".to_owned(), value, known: true };
            if let Overlay::Map(members) = &mut item.overlay {
                members.push(member);
            }
        }
        if !sidecar {
            for field in ONLY_NATIVE {
                if let Some(node) = node.get(field) {
                    let message = format!("an init container that ends cannot have `{field}`");
                    self.error(&diagnostic::WRONG_VALUE, node.at(), message);
                }
            }
        }
        let place = self.place(node, list);
        let positioned = place.is_some();
        let place = place.unwrap_or(if native { Place::First } else { Place::Last });
        Injected { item, list, place, positioned, regular }
    }

    /// The place in `list`; what is said about the other list is checked all the same.
    fn place(&mut self, node: &Node, list: &str) -> Option<Place> {
        let position = node.get("position")?;
        let mut place = None;
        for entry in self.fields(position, &format::POSITION) {
            let read = self.anchor(&entry.value);
            if entry.key == list {
                place = read;
            }
        }
        place
    }

    fn anchor(&mut self, node: &Node) -> Option<Place> {
        if node.as_map().is_none() {
            let last = self.word(node, "position", &format::PLACES)?;
            return Some(if last { Place::Last } else { Place::First });
        }
        self.fields(node, &format::ANCHOR);
        match (node.get("before"), node.get("after")) {
            (Some(name), None) => self.text(name, "before").map(|name| Place::Before(name.to_owned())),
            (None, Some(name)) => self.text(name, "after").map(|name| Place::After(name.to_owned())),
            _ => {
                let message = "a position is either `before` or `after` one name";
                self.error(&diagnostic::WRONG_VALUE, node.at(), message);
                None
            }
        }
    }

    /// Items of `volumes`, `sidecars` and `initContainers`: all of them have a DNS label for a name.
    fn named_items(
        &mut self,
        node: &Node,
        field: &'static str,
        schema: Schema<'_>,
        required: bool,
        policy: Policy,
    ) -> Vec<Item> {
        for item in node.as_list().unwrap_or_default() {
            match item.get("name") {
                Some(name) => {
                    if let Some(text) = self.text(name, "name") {
                        self.checked(check::name(text), "name", name.at());
                    }
                }
                None if item.as_map().is_some() => {
                    self.error(
                        &diagnostic::MISSING_FIELD,
                        item.at(),
                        format!("an item of `{field}` has no `name`"),
                    );
                }
                None => {}
            }
        }
        self.items(node, field, field, schema, required, policy)
    }

    pub(super) fn items(
        &mut self,
        node: &Node,
        field: &str,
        clause: &str,
        schema: Schema<'_>,
        required: bool,
        policy: Policy,
    ) -> Vec<Item> {
        let nodes = self.list(node, field);
        self.unique(nodes, field, schema.list());
        let mut items = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let policy = self.policy(node, required).unwrap_or(policy);
            let ours = match field {
                "sidecars" | "initContainers" => &format::CONTAINER,
                _ => &format::ITEM,
            };
            let overlay = self.object(node, field, schema.item(), Some(ours));
            if let Some(overlay) = &overlay {
                self.item_values(field, overlay, node.at());
            }
            let overlay = overlay.unwrap_or(Overlay::Map(Vec::new()));
            let clause = Clause { text: format!("{clause}[{index}]"), at: node.at() };
            let key = match schema.list() {
                List::Map(keys) => key::of_overlay(&overlay, keys),
                _ => overlay.text("name").unwrap_or_default().to_owned(),
            };
            items.push(Item { clause, key, overlay, policy });
        }
        items
    }
}
