//! `securityProfile`: fills the `securityContext` that the Pod Security Standard `restricted` demands.

use super::reader::Reader;
use crate::diagnostic::PROFILE;
use crate::format::{self, chosen};
use crate::overlay::Overlay;
use crate::rule::Match;
use crate::yaml::Node;

impl Reader {
    pub(super) fn security_profile(&mut self, spec: &Node, matching: &Match) {
        let Some(node) = spec.get("securityProfile") else { return };
        if chosen(spec, "securityProfile", &format::SECURITY_PROFILES).is_some()
            && matching.os != Some("linux")
        {
            let message = "the rule may act on pods for Windows, which cannot have this `securityContext`";
            self.error(&PROFILE, node.at(), message, "");
        }
    }
}

/// Fills the absent members of the container's `securityContext`. `None` if an expression gives a whole map of it.
pub(super) fn fill_restricted(container: &mut Overlay) -> Option<()> {
    let context = below(container, "securityContext")?;
    let literal = |name: &str, wanted: &str| matches!(context.get(name), Some(Overlay::Literal(written)) if written == wanted);
    let added = context.get("capabilities").map(|capabilities| capabilities.items_of("add"));
    let mut added = added.unwrap_or_default().iter().filter_map(Overlay::as_text);
    // The API server refuses a container that sets `allowPrivilegeEscalation: false` together with either of these.
    let escalates =
        literal("privileged", "true") || added.any(|one| one.trim_start_matches("CAP_") == "SYS_ADMIN");
    let root = literal("runAsUser", "0");
    if !escalates {
        context.add_default("allowPrivilegeEscalation", Overlay::Literal("false".to_owned()));
    }
    if !root {
        context.add_default("runAsNonRoot", Overlay::Literal("true".to_owned()));
    }
    let all = Overlay::List(vec![Overlay::Text("ALL".to_owned())]);
    below(context, "capabilities")?.add_default("drop", all);
    below(context, "seccompProfile")?.add_default("type", Overlay::Text("RuntimeDefault".to_owned()));
    Some(())
}

/// The map `name` of `object`, which is added if it is absent; `None` if it is no written map.
fn below<'o>(object: &'o mut Overlay, name: &str) -> Option<&'o mut Overlay> {
    object.add_default(name, Overlay::Map(Vec::new()));
    let Overlay::Map(members) = object else { return None };
    let found = members.iter_mut().find(|member| member.name == name)?;
    matches!(found.value, Overlay::Map(_)).then_some(&mut found.value)
}
