//! `securityProfile`: what a container needs so that its namespace may ask for the Pod Security Standard `restricted`.

use super::reader::Reader;
use crate::diagnostic;
use crate::format;
use crate::overlay::{Member, Overlay};
use crate::rule::Match;
use crate::yaml::Node;

impl Reader {
    pub(super) fn security_profile(&mut self, spec: &Node, matching: &Match) {
        let Some(node) = spec.get("securityProfile") else { return };
        if self.word(node, "securityProfile", &format::SECURITY_PROFILES).is_some()
            && matching.os != Some("linux")
        {
            let message = "the rule may act on pods for Windows, which cannot have such a `securityContext`";
            self.error(&diagnostic::PROFILE, node.at(), message);
        }
    }
}

/// Fills the `securityContext` of `container` where it says nothing.
pub(super) fn fill_restricted(container: &mut Overlay) {
    let Some(context) = below(container, "securityContext") else { return };
    let literal = |name: &str, wanted: &str| matches!(context.get(name), Some(Overlay::Literal(said)) if said == wanted);
    let added = context.get("capabilities").and_then(|capabilities| capabilities.get("add"));
    let mut added = added.map(Overlay::items).unwrap_or_default().iter().filter_map(Overlay::as_text);
    // The API server refuses both together.
    let escalates =
        literal("privileged", "true") || added.any(|one| one.trim_start_matches("CAP_") == "SYS_ADMIN");
    let root = literal("runAsUser", "0");
    if !escalates {
        fill(context, "allowPrivilegeEscalation", Overlay::Literal("false".to_owned()));
    }
    if !root {
        fill(context, "runAsNonRoot", Overlay::Literal("true".to_owned()));
    }
    if let Some(capabilities) = below(context, "capabilities") {
        fill(capabilities, "drop", Overlay::List(vec![Overlay::Text("ALL".to_owned())]));
    }
    if let Some(profile) = below(context, "seccompProfile") {
        fill(profile, "type", Overlay::Text("RuntimeDefault".to_owned()));
    }
}

/// The member `name` of `object`, made where it is missing; none where that is no map.
fn below<'o>(object: &'o mut Overlay, name: &str) -> Option<&'o mut Overlay> {
    fill(object, name, Overlay::Map(Vec::new()));
    let Overlay::Map(members) = object else { return None };
    members.iter_mut().find(|member| member.name == name).map(|member| &mut member.value)
}

fn fill(object: &mut Overlay, name: &str, value: Overlay) {
    if let Overlay::Map(members) = object
        && members.iter().all(|member| member.name != name)
    {
        members.push(Member { name: name.to_owned(), value, known: true });
    }
}
