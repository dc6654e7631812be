//! Reads `sidecars` and `initContainers`.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::Schema;

use super::reader::Reader;
use super::security_profile;
use crate::diagnostic::{DUPLICATE_NAME, OTHER_LIST, PROFILE, REFUSED_FIELDS, UNKNOWN_FIELD, WRONG_VALUE};
use crate::format::{self, Mode, chosen};
use crate::merge::ONLY_LASTING;
use crate::overlay::Overlay;
use crate::rule::{ContainerPosition, Injected, Item, OnConflict};
use crate::yaml::{Entry, Node};

impl Reader {
    pub(super) fn injected(&mut self, spec: &Node, pod_spec: Schema<'_>) -> Vec<Injected> {
        let hardened = spec.get("securityProfile").is_some();
        let mut injected = Vec::new();
        for field in ["sidecars", "initContainers"] {
            let Some(node) = spec.get(field) else { continue };
            let default = self.on_conflict.unwrap_or(OnConflict::SkipRule);
            let items = self.named_items(node, field, pod_spec.field("containers"), default);
            for (node, item) in node.as_list().unwrap_or_default().iter().zip(items) {
                let mut one = self.injected_container(node, item, field == "sidecars");
                if hardened && security_profile::fill_restricted(&mut one.item.overlay).is_none() {
                    let message = "`securityProfile` fills the `securityContext`, and an expression gives a whole map of it";
                    self.error(&PROFILE, node.at(), message, "write expressions for single values within it");
                }
                injected.push(one);
            }
        }
        let mut lists: HashMap<&str, Arc<str>> = HashMap::new();
        for one in &injected {
            let list = one.item.clause.list().text;
            // Duplicates in one list were reported with the list.
            if lists.entry(&one.item.key).or_insert_with(|| Arc::clone(&list)) != &list {
                let message = format!("container `{}` appears twice in this rule", one.item.key);
                self.error(&DUPLICATE_NAME, one.item.clause.at, message, "");
            }
        }
        self.unique_ports(&injected);
        injected
    }

    /// Reports ports that two containers use: all containers of a pod share one network. An init container that ends
    /// frees its ports before the others start.
    fn unique_ports(&mut self, injected: &[Injected]) {
        let runs_beside_others =
            |one: &&Injected| one.regular || one.item.overlay.text("restartPolicy") == Some("Always");
        let mut taken: HashMap<String, &str> = HashMap::new();
        for Item { clause, key, overlay, on_conflict, .. } in
            injected.iter().filter(runs_beside_others).map(|one| &one.item)
        {
            for port in overlay.items_of("ports") {
                let Some(Overlay::Literal(number)) = port.get("containerPort") else { continue };
                if port.get("protocol").is_some_and(Overlay::is_dynamic) {
                    continue;
                }
                let port = format!("{number}/{}", port.text("protocol").unwrap_or("TCP"));
                let message = match taken.get(&port) {
                    Some(other) if other != key => {
                        format!("port {port} of `{key}` is also a port of `{other}`")
                    }
                    _ => {
                        taken.insert(port, key);
                        continue;
                    }
                };
                if *on_conflict != OnConflict::Override {
                    self.error(&DUPLICATE_NAME, clause.at, message, "");
                }
            }
        }
    }

    fn injected_container(&mut self, node: &Node, mut item: Item, sidecar: bool) -> Injected {
        let auto = if self.native_sidecars { Mode::Native } else { Mode::Regular };
        let mode = chosen(node, "mode", &format::MODES).flatten().unwrap_or(auto);
        let native = sidecar && mode == Mode::Native;
        let regular = sidecar && mode == Mode::Regular;
        let list = if regular { "containers" } else { "initContainers" };
        if !sidecar && let Some(mode) = node.get("mode") {
            self.error(&UNKNOWN_FIELD, mode.at(), "an init container has no `mode`", "");
        }
        self.restart_policy(node, native, regular, item.on_conflict);
        if native {
            item.overlay.add_default("restartPolicy", Overlay::Text("Always".to_owned()));
        }
        if !sidecar {
            for field in ONLY_LASTING {
                if let Some(node) = node.get(field) {
                    let message = format!("an init container that ends cannot have `{field}`");
                    self.error(&WRONG_VALUE, node.at(), message, "");
                }
            }
        }
        let position_node = node.get("position");
        let strict = position_node.and_then(|position| position.flag("strict")).unwrap_or_default();
        // The settings decide the list of a sidecar with the mode `auto`, so that it may have positions for both
        // lists.
        let may_join_other =
            sidecar && matches!(node.get("mode").and_then(Node::as_text), None | Some("auto"));
        let position = position_node.and_then(|node| self.position(node, list, may_join_other));
        let position_at = position.is_some().then(|| position_node.map_or(node.at(), Node::at));
        let position =
            position.unwrap_or(if native { ContainerPosition::First } else { ContainerPosition::Last });
        Injected { item, list, position, position_at, strict: strict && position_at.is_some(), regular }
    }

    /// Checks the policy by which a container restarts. Only beside rules for exit codes may it differ from that of other containers.
    fn restart_policy(&mut self, node: &Node, native: bool, regular: bool, on_conflict: OnConflict) {
        let are_rules = |rules: &Node| rules.as_list().is_none_or(|list| !list.is_empty());
        let has_rules = !native && node.get("restartPolicyRules").is_some_and(are_rules);
        let policies: &[&str] = match has_rules {
            true if regular => &["Always", "Never", "OnFailure"],
            true => &["Never", "OnFailure"],
            false if native => &["Always"],
            false => &[],
        };
        match node.get("restartPolicy") {
            Some(policy) if !policy.as_text().is_some_and(|text| policies.contains(&text)) => {
                let help = match has_rules {
                    true => format!("beside `restartPolicyRules` it is one of {}", policies.join(", ")),
                    false if native => "a native sidecar gets `restartPolicy: Always` by itself".to_owned(),
                    false => "write `restartPolicyRules` beside it, or leave it out".to_owned(),
                };
                self.error(&WRONG_VALUE, policy.at(), "`restartPolicy` cannot have this value here", help);
            }
            None if has_rules && on_conflict != OnConflict::Override => {
                self.warning(&REFUSED_FIELDS, node.at(), "`restartPolicyRules` needs `restartPolicy`");
            }
            _ => {}
        }
    }

    /// Reads the position in `list`, which the container joins. A position in the other list is an error unless the
    /// container may join that list, and then a position in `list` is required beside it.
    fn position(&mut self, node: &Node, list: &str, may_join_other: bool) -> Option<ContainerPosition> {
        let (mut position, mut named, mut elsewhere) = (None, false, None);
        let entries = self.fields(node, &format::POSITION);
        for entry in entries.iter().filter(|entry| matches!(&*entry.key, "containers" | "initContainers")) {
            let read = self.anchor(node, entry);
            if entry.key == list {
                (position, named) = (read, true);
            } else {
                elsewhere = Some(entry);
            }
        }
        if let Some(entry) = elsewhere.filter(|_| !may_join_other || !named) {
            let message =
                format!("this container joins `{list}`, so a position in `{}` has no effect", entry.key);
            let help = match may_join_other {
                true => format!(
                    "write `{list}: ...` too; a sidecar joins `initContainers`, and `containers` if its mode is `regular` or the InjectorSettings have `nativeSidecars: false`"
                ),
                false => format!(
                    "write `{list}: ...`; a sidecar joins `initContainers`, and with `mode: regular` `containers`"
                ),
            };
            self.error(&OTHER_LIST, entry.at, message, help);
        }
        position
    }

    fn anchor(
        &mut self,
        position: &Node,
        Entry { key, value: node, .. }: &Entry,
    ) -> Option<ContainerPosition> {
        if node.as_map().is_none() {
            let last = chosen(position, key, &format::POSITIONS)?;
            return Some(if last { ContainerPosition::Last } else { ContainerPosition::First });
        }
        self.fields(node, &format::ANCHOR);
        let name = |field: &str| node.text(field).map(str::to_owned);
        match (node.get("before"), node.get("after")) {
            (Some(_), None) => name("before").map(ContainerPosition::Before),
            (None, Some(_)) => name("after").map(ContainerPosition::After),
            _ => {
                self.error(&WRONG_VALUE, node.at(), "a position is either `before` or `after` one name", "");
                None
            }
        }
    }
}
