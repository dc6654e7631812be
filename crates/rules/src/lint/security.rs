//! Access to the node, writable secrets, and tokens that stay mounted.

use std::collections::HashSet;

use super::LintedRule;
use crate::diagnostic::{Diagnostic, MOUNTED_TOKEN, NODE_ACCESS, WRITABLE_SECRET};
use crate::rule::Resource;
use crate::yaml::Node;

/// Members of a pod's specification that share the namespaces of the node.
const NODE: &[&str] = &["hostIPC", "hostNetwork", "hostPID"];

const REFUSED_BY_LEVELS: &str =
    "namespaces of the Pod Security levels `baseline` and `restricted` refuse such pods";

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    let volumes = linted.spec.items("volumes");
    for volume in volumes {
        if let Some(path) = volume.get("hostPath") {
            let message = format!(
                "volume `{}` gives every pod of the rule access to the node's files",
                super::name_of(volume)
            );
            findings.push(linted.finding(&NODE_ACCESS, path.at(), message, REFUSED_BY_LEVELS));
        }
    }
    let secrets: HashSet<&str> = volumes
        .iter()
        .filter(|volume| volume.get("secret").is_some())
        .filter_map(|volume| volume.text("name"))
        .collect();
    for container in linted.all_containers() {
        for mount in container.items("volumeMounts") {
            let secret = mount.text("name").filter(|name| secrets.contains(name));
            if let Some(name) = secret
                && mount.flag("readOnly") != Some(true)
            {
                let message = format!("the secret in `{name}` is not mounted `readOnly`");
                let help = "write `readOnly: true`: the mount is read-only anyway, and scanners look for it";
                findings.push(linted.finding(&WRITABLE_SECRET, mount.at(), message, help));
            }
        }
        let privileged = container.find(&["securityContext", "privileged"]);
        if let Some(node) = privileged.filter(|node| node.parsed() == Some(true)) {
            let message = "a privileged container has full access to the node".to_owned();
            findings.push(linted.finding(
                &NODE_ACCESS,
                node.at(),
                message,
                "name the capabilities it needs instead",
            ));
        }
    }
    let spec = linted.spec.find(&["pod", "spec"]);
    for entry in spec.and_then(Node::as_map).unwrap_or_default() {
        if NODE.contains(&entry.key.as_str()) && entry.value.parsed() == Some(true) {
            let message =
                format!("`{}` makes every pod of the rule share this namespace of the node", entry.key);
            findings.push(linted.finding(&NODE_ACCESS, entry.at, message, REFUSED_BY_LEVELS));
        }
        let is_off = entry.key == "automountServiceAccountToken" && entry.value.parsed() == Some(false);
        if is_off && linted.rule.targets().contains(&Resource::Pods) {
            let message =
                "the containers of pods keep their token despite `automountServiceAccountToken: false`"
                    .to_owned();
            let help = "the token is mounted before the injector is called: set the field on the ServiceAccount, or use a workload as target";
            findings.push(linted.finding(&MOUNTED_TOKEN, entry.at, message, help));
        }
    }
}
