//! Reports members of one object of a pod that the API server refuses together, or without each other.

use std::collections::HashSet;

use super::expressions::is_expression;
use super::reader::Reader;
use crate::diagnostic::{Code, MISSING_FIELD, Position, WRONG_VALUE};
use crate::overlay::Overlay;
use crate::yaml::Node;

/// A member, and its values of which the row speaks: all that are not empty, if none are named.
type Member = (&'static str, &'static [&'static str]);

enum Demand {
    /// One of the members has to be there.
    Needs(&'static [Member]),
    Excludes(Member),
    /// The member, if it is there, has one of its values.
    Among(Member),
}

use Demand::{Among, Excludes, Needs};

/// Objects, or the lists that they are items of; the member with which the demand stands, if not always; and the demand.
type Row = (&'static [&'static str], Option<Member>, Demand);

const ANY: &[&str] = &[];
const CONTAINERS: &[&str] = &["containerPatches", "initContainers", "sidecars"];
const LOCAL: &[&str] = &["Localhost"];
const PROFILES: &[&str] = &["appArmorProfile", "seccompProfile"];
const RECURSIVE: Option<Member> = Some(("recursiveReadOnly", &["Enabled", "IfPossible"]));

/// Demands that hold wherever a rule writes the object.
const ANYWHERE: &[Row] = &[
    (CONTAINERS, None, Among(("imagePullPolicy", &["Always", "IfNotPresent", "Never"]))),
    (CONTAINERS, None, Among(("terminationMessagePolicy", &["FallbackToLogsOnError", "File"]))),
    (&["hostAliases"], None, Needs(&[("ip", ANY)])),
    (&["httpGet"], None, Among(("scheme", &["HTTP", "HTTPS"]))),
    (&["livenessProbe", "startupProbe"], None, Among(("successThreshold", &["0", "1"]))),
    (&["matchExpressions"], Some(("operator", &["DoesNotExist", "Exists"])), Excludes(("values", ANY))),
    (&["matchExpressions"], Some(("operator", &["In", "NotIn"])), Needs(&[("values", ANY)])),
    (
        &["pod.spec"],
        None,
        Among(("dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"])),
    ),
    (&["pod.spec"], None, Among(("restartPolicy", &["Always", "Never", "OnFailure"]))),
    (&["ports"], None, Among(("protocol", &["SCTP", "TCP", "UDP"]))),
    (PROFILES, None, Among(("type", &["Localhost", "RuntimeDefault", "Unconfined"]))),
    (PROFILES, Some(("type", LOCAL)), Needs(&[("localhostProfile", ANY)])),
    (PROFILES, Some(("localhostProfile", ANY)), Needs(&[("type", LOCAL)])),
    (&["readinessProbe"], None, Excludes(("terminationGracePeriodSeconds", ANY))),
    (&["tolerations"], None, Among(("effect", &["NoExecute", "NoSchedule", "PreferNoSchedule"]))),
    (&["tolerations"], Some(("operator", &["Exists"])), Excludes(("value", ANY))),
    (&["tolerations"], Some(("tolerationSeconds", ANY)), Needs(&[("effect", &["NoExecute"])])),
    (&["tolerations"], Some(("value", ANY)), Needs(&[("key", ANY)])),
    (
        &["topologySpreadConstraints"],
        None,
        Among(("whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"])),
    ),
    (&["topologySpreadConstraints"], None, Needs(&[("topologyKey", ANY)])),
    (&["topologySpreadConstraints"], None, Needs(&[("whenUnsatisfiable", ANY)])),
    (
        &["topologySpreadConstraints"],
        Some(("whenUnsatisfiable", &["ScheduleAnyway"])),
        Excludes(("minDomains", ANY)),
    ),
    (&["volumeMounts"], None, Among(("mountPropagation", &["Bidirectional", "HostToContainer", "None"]))),
    (&["volumeMounts"], None, Among(("recursiveReadOnly", &["Disabled", "Enabled", "IfPossible"]))),
    (&["volumeMounts"], RECURSIVE, Excludes(("mountPropagation", &["Bidirectional", "HostToContainer"]))),
];

/// Demands of injected containers and volumes. Elsewhere `onConflict: override` may complete an object of the pod.
const INJECTED: &[Row] = &[
    (&["configMap", "configMapKeyRef", "secretKeyRef"], None, Needs(&[("name", ANY)])),
    (&["configMapKeyRef", "secretKeyRef"], None, Needs(&[("key", ANY)])),
    (&["csi"], None, Needs(&[("driver", ANY)])),
    (&["envFrom"], None, Needs(&[("configMapRef", ANY), ("secretRef", ANY)])),
    (&["exec"], None, Needs(&[("command", ANY)])),
    (&["fieldRef"], None, Needs(&[("fieldPath", ANY)])),
    (&["grpc", "httpGet", "tcpSocket"], None, Needs(&[("port", ANY)])),
    (&["hostPath"], None, Needs(&[("path", ANY)])),
    (&["image"], None, Needs(&[("reference", ANY)])),
    (&["nfs"], None, Needs(&[("path", ANY)])),
    (&["nfs"], None, Needs(&[("server", ANY)])),
    (&["persistentVolumeClaim"], None, Needs(&[("claimName", ANY)])),
    (&["ports"], None, Needs(&[("containerPort", ANY)])),
    (
        &["postStart", "preStop"],
        None,
        Needs(&[("exec", ANY), ("httpGet", ANY), ("sleep", ANY), ("tcpSocket", ANY)]),
    ),
    (&["resourceFieldRef"], None, Needs(&[("resource", ANY)])),
    // In a projected volume, a Secret is named by `name`.
    (&["secret"], None, Needs(&[("secretName", ANY), ("name", ANY)])),
    (&["serviceAccountToken"], None, Needs(&[("path", ANY)])),
    (&["volumeMounts"], RECURSIVE, Needs(&[("readOnly", &["true"])])),
];

struct Flaw {
    code: &'static Code,
    at: Position,
    message: String,
    help: String,
}

impl Reader {
    /// Checks the members of `item`, which is `node` without the fields of the rule format. `field` is the list that it is an item of.
    pub(super) fn check_relations(&mut self, node: &Node, field: &str, item: &Overlay) {
        let is_injected = ["initContainers", "sidecars", "volumes"].contains(&field);
        let mut flaws = Vec::new();
        own_flaws(node, field, is_injected, &mut flaws);
        for member in item.members() {
            if let Some(value) = node.get(&member.name) {
                flaws_within(value, &member.name, is_injected, &mut flaws);
            }
        }
        for Flaw { code, at, message, help } in flaws {
            self.error(code, at, message, help);
        }
    }
}

// Recursion is bounded by the depth of the rule's document.
fn flaws_within(node: &Node, name: &str, is_injected: bool, flaws: &mut Vec<Flaw>) {
    if is_expression(node) {
        return;
    }
    for item in node.as_list().unwrap_or_default() {
        flaws_within(item, name, is_injected, flaws);
    }
    if let Some(entries) = node.as_map() {
        own_flaws(node, name, is_injected, flaws);
        for entry in entries {
            flaws_within(&entry.value, &entry.key, is_injected, flaws);
        }
    }
}

fn own_flaws(node: &Node, name: &str, is_injected: bool, flaws: &mut Vec<Flaw>) {
    let rows = ANYWHERE.iter().chain(if is_injected { INJECTED } else { &[] });
    for (_, when, demand) in rows.filter(|(objects, ..)| objects.contains(&name)) {
        if when.is_none_or(|member| has(node, member) == Some(true)) {
            flaws.extend(demand.flaw(node, name, *when));
        }
    }
    flaws.extend(selected_twice(node));
}

impl Demand {
    fn flaw(&self, node: &Node, object: &str, when: Option<Member>) -> Option<Flaw> {
        let subject = || when.map_or_else(|| object.to_owned(), |member| shown(node, member));
        let at = |name| node.get(name).map_or(node.at(), Node::at);
        let is_there = |member: &Member| has(node, *member) != Some(false);
        match self {
            Needs(members) if !members.iter().any(is_there) => {
                let members =
                    members.iter().map(|(name, values)| format!("`{}`", written(name, values.first())));
                let message = format!("`{}` needs {}", subject(), members.collect::<Vec<_>>().join(" or "));
                Some(Flaw { code: &MISSING_FIELD, at: node.at(), message, help: String::new() })
            }
            Excludes(member) if has(node, *member) == Some(true) => {
                let message = format!("`{}` and `{}` exclude each other", subject(), shown(node, *member));
                Some(Flaw { code: &WRONG_VALUE, at: at(member.0), message, help: String::new() })
            }
            Among((name, values)) if has(node, (name, ANY)) == Some(true) && !is_there(&(name, values)) => {
                let message = format!("the API server refuses this value of `{name}`");
                let help = format!("wanted: {}", values.join(", "));
                Some(Flaw { code: &WRONG_VALUE, at: at(name), message, help })
            }
            _ => None,
        }
    }
}

/// Whether `object` has the member with one of its values. `None` if an expression gives the value.
fn has(object: &Node, (name, values): Member) -> Option<bool> {
    let Some(node) = object.get(name).filter(|node| !node.is_null()) else { return Some(false) };
    match node.as_text() {
        _ if is_expression(node) => values.is_empty().then_some(true),
        Some(text) if values.is_empty() => Some(!text.is_empty()),
        Some(text) => Some(values.contains(&text) || values.contains(&&*node.to_json())),
        None => Some(node.as_list().is_none_or(|items| !items.is_empty())),
    }
}

/// The member as it is in `object`. A value that the table does not have may be a secret.
fn shown(object: &Node, (name, values): Member) -> String {
    let value = object.text(name);
    written(name, values.iter().find(|one| value == Some(one)))
}

fn written(name: &str, value: Option<&&str>) -> String {
    value.map_or_else(|| name.to_owned(), |value| format!("{name}: {value}"))
}

/// A key in `matchLabelKeys` that the selector beside it has too.
fn selected_twice(object: &Node) -> Option<Flaw> {
    let selector = object.get("labelSelector").filter(|_| object.get("matchLabelKeys").is_some())?;
    let labels = selector.get("matchLabels").and_then(Node::as_map).unwrap_or_default();
    let of_expressions = selector.items("matchExpressions").iter().filter_map(|one| one.text("key"));
    let selected: HashSet<&str> = labels.iter().map(|entry| &*entry.key).chain(of_expressions).collect();
    let is_selected = |key: &&Node| key.as_text().is_some_and(|key| selected.contains(key));
    let key = object.items("matchLabelKeys").iter().find(is_selected)?;
    let message = "a key of `matchLabelKeys` is in the `labelSelector` too".to_owned();
    Some(Flaw { code: &WRONG_VALUE, at: key.at(), message, help: String::new() })
}
