//! Access to the node and writable secrets.

use std::collections::HashSet;

use super::{LintedRule, text};
use crate::diagnostic::{self, Diagnostic};
use crate::yaml::Node;

/// Members of a pod's specification that share the namespaces of the node.
const NODE: &[&str] = &["hostIPC", "hostNetwork", "hostPID"];

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    let volumes = linted.list("volumes");
    for volume in volumes {
        if let Some(path) = volume.get("hostPath") {
            let message = format!(
                "volume `{}` gives every pod of the rule access to the node's files",
                super::name_of(volume)
            );
            let help = "namespaces of the Pod Security levels `baseline` and `restricted` refuse such pods";
            findings.push(linted.warning(&diagnostic::NODE_ACCESS, path.at(), message, help));
        }
    }
    let secrets: HashSet<&str> = volumes
        .iter()
        .filter(|volume| volume.get("secret").is_some())
        .filter_map(|volume| text(volume, "name"))
        .collect();
    for container in linted.all_containers() {
        for mount in container.get("volumeMounts").and_then(Node::as_list).unwrap_or_default() {
            let secret = text(mount, "name").filter(|name| secrets.contains(name));
            if let Some(name) = secret
                && text(mount, "readOnly") != Some("true")
            {
                let message = format!("the secret in `{name}` is not mounted `readOnly`");
                let help = "write `readOnly: true`: the mount is read-only anyway, and scanners look for it";
                findings.push(linted.hint(&diagnostic::WRITABLE_SECRET, mount.at(), message, help));
            }
        }
        let privileged = container.get("securityContext").and_then(|context| context.get("privileged"));
        if let Some(node) = privileged.filter(|node| node.as_text() == Some("true")) {
            let message = "a privileged container has full access to the node".to_owned();
            findings.push(linted.warning(
                &diagnostic::NODE_ACCESS,
                node.at(),
                message,
                "name the capabilities it needs instead",
            ));
        }
    }
    let spec = linted.spec.get("pod").and_then(|pod| pod.get("spec"));
    for entry in spec.and_then(Node::as_map).unwrap_or_default() {
        if NODE.contains(&entry.key.as_str()) && entry.value.as_text() == Some("true") {
            let message =
                format!("`{}` makes every pod of the rule share this namespace of the node", entry.key);
            let help = "namespaces of the Pod Security levels `baseline` and `restricted` refuse such pods";
            findings.push(linted.warning(&diagnostic::NODE_ACCESS, entry.at, message, help));
        }
    }
}
