//! Reports fields of one object of a pod that the API server refuses together, or without each other.

use super::expressions::is_expression;
use super::parts::{names, paired_in_order};
use super::reader::Reader;
use crate::diagnostic::REFUSED_FIELDS;
use crate::overlay::{self, Overlay};
use crate::rule::OnConflict;
use crate::yaml::Node;

/// A field, and the values that a row is about. An empty list means every value that is not empty.
type Member = (&'static str, &'static [&'static str]);

/// Objects, or the lists that they are items of; a field; and the only values that the API server takes for it.
type Words = (&'static [&'static str], &'static str, &'static [&'static str]);

enum Constraint {
    /// The object has one of the fields.
    Needs(&'static [Member]),
    Excludes(Member),
}

use Constraint::{Excludes, Needs};

/// Objects, or the lists that they are items of; the field for which the constraint holds, if not for every object; the constraint.
type Row = (&'static [&'static str], Option<Member>, Constraint);

/// A Secret in a projected volume, whose name is in another field than that of a volume of its own.
const PROJECTED_SECRET: &str = "sources[].secret";

/// The resources of the pod itself.
const POD_RESOURCES: &str = "pod.spec.resources";
const POD_LIMITS: &str = "pod.spec.resources.limits";
const POD_REQUESTS: &str = "pod.spec.resources.requests";

const ANY: &[&str] = &[];
const CONTAINERS: &[&str] = &["containerPatches", "initContainers", "sidecars"];
const LOCAL: &[&str] = &["Localhost"];
const PROFILES: &[&str] = &["appArmorProfile", "seccompProfile"];
const RECURSIVE: Option<Member> = Some(("recursiveReadOnly", &["Enabled", "IfPossible"]));

/// Fields that take a few words or numbers.
const WORDS: &[Words] = &[
    (CONTAINERS, "imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    (CONTAINERS, "terminationMessagePolicy", &["FallbackToLogsOnError", "File"]),
    (&["httpGet"], "scheme", &["HTTP", "HTTPS"]),
    (&["livenessProbe", "startupProbe"], "successThreshold", &["0", "1"]),
    (&["pod.spec"], "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    (&["pod.spec"], "restartPolicy", &["Always", "Never", "OnFailure"]),
    (&["ports"], "protocol", &["SCTP", "TCP", "UDP"]),
    (PROFILES, "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    (&["tolerations"], "effect", &["NoExecute", "NoSchedule", "PreferNoSchedule"]),
    (&["topologySpreadConstraints"], "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"]),
    (&["volumeMounts"], "mountPropagation", &["Bidirectional", "HostToContainer", "None"]),
    (&["volumeMounts"], "recursiveReadOnly", &["Disabled", "Enabled", "IfPossible"]),
];

/// Constraints on an object wherever a rule writes it.
const ANYWHERE: &[Row] = &[
    (&["clusterTrustBundle"], Some(("name", ANY)), Excludes(("labelSelector", ANY))),
    (&["clusterTrustBundle"], Some(("name", ANY)), Excludes(("signerName", ANY))),
    (&["hostAliases"], None, Needs(&[("ip", ANY)])),
    (&["matchExpressions"], Some(("operator", &["DoesNotExist", "Exists"])), Excludes(("values", ANY))),
    (&["matchExpressions"], Some(("operator", &["In", "NotIn"])), Needs(&[("values", ANY)])),
    // The API server computes these fields from the classes.
    (&["pod.spec"], Some(("overhead", ANY)), Needs(&[("runtimeClassName", ANY)])),
    (&["pod.spec"], Some(("preemptionPolicy", &["Never"])), Needs(&[("priorityClassName", ANY)])),
    (&["pod.spec"], Some(("priority", ANY)), Needs(&[("priorityClassName", ANY)])),
    (&[POD_RESOURCES], None, Excludes(("claims", ANY))),
    (&[POD_LIMITS, POD_REQUESTS], None, Excludes(("ephemeral-storage", ANY))),
    (PROFILES, Some(("type", LOCAL)), Needs(&[("localhostProfile", ANY)])),
    (PROFILES, Some(("localhostProfile", ANY)), Needs(&[("type", LOCAL)])),
    (&["readinessProbe"], None, Excludes(("terminationGracePeriodSeconds", ANY))),
    (&["tolerations"], None, Needs(&[("key", ANY), ("operator", &["Exists"])])),
    (&["tolerations"], Some(("operator", &["Exists"])), Excludes(("value", ANY))),
    (&["tolerations"], Some(("tolerationSeconds", ANY)), Needs(&[("effect", &["NoExecute"])])),
    (&["topologySpreadConstraints"], None, Needs(&[("topologyKey", ANY)])),
    (&["topologySpreadConstraints"], None, Needs(&[("whenUnsatisfiable", ANY)])),
    (
        &["topologySpreadConstraints"],
        Some(("whenUnsatisfiable", &["ScheduleAnyway"])),
        Excludes(("minDomains", ANY)),
    ),
    (&["volumeMounts"], RECURSIVE, Excludes(("mountPropagation", &["Bidirectional", "HostToContainer"]))),
];

/// Constraints on an injected container, volume or item of the specification that does not complete one of the pod, as it may with
/// `onConflict: override`.
const COMPLETE: &[Row] = &[
    (&["clusterTrustBundle"], None, Needs(&[("name", ANY), ("signerName", ANY)])),
    (
        &["clusterTrustBundle", "fileKeyRef", "hostPath", "nfs", "serviceAccountToken"],
        None,
        Needs(&[("path", ANY)]),
    ),
    (&["configMap", "configMapKeyRef", "configMapRef", "secretKeyRef"], None, Needs(&[("name", ANY)])),
    (&["configMapKeyRef", "fileKeyRef", "secretKeyRef"], None, Needs(&[("key", ANY)])),
    (&["csi"], None, Needs(&[("driver", ANY)])),
    (&["envFrom"], None, Needs(&[("configMapRef", ANY), ("secretRef", ANY)])),
    (&["exec"], None, Needs(&[("command", ANY)])),
    (&["fieldRef"], None, Needs(&[("fieldPath", ANY)])),
    (&["fileKeyRef"], None, Needs(&[("volumeName", ANY)])),
    (&["grpc", "httpGet", "tcpSocket"], None, Needs(&[("port", ANY)])),
    (&["image"], None, Needs(&[("reference", ANY)])),
    (&["nfs"], None, Needs(&[("server", ANY)])),
    (&["persistentVolumeClaim"], None, Needs(&[("claimName", ANY)])),
    (&["podCertificate"], None, Needs(&[("keyType", ANY)])),
    (&["podCertificate"], None, Needs(&[("signerName", ANY)])),
    (
        &["podCertificate"],
        None,
        Needs(&[("certificateChainPath", ANY), ("credentialBundlePath", ANY), ("keyPath", ANY)]),
    ),
    (&["ports"], None, Needs(&[("containerPort", ANY)])),
    (
        &["postStart", "preStop"],
        None,
        Needs(&[("exec", ANY), ("httpGet", ANY), ("sleep", ANY), ("tcpSocket", ANY)]),
    ),
    (&["resourceClaims"], None, Needs(&[("resourceClaimName", ANY), ("resourceClaimTemplateName", ANY)])),
    (&["resourceFieldRef"], None, Needs(&[("resource", ANY)])),
    (&["secret"], None, Needs(&[("secretName", ANY)])),
    (&[PROJECTED_SECRET], None, Needs(&[("name", ANY)])),
    (&["topologySpreadConstraints"], Some(("matchLabelKeys", ANY)), Needs(&[("labelSelector", ANY)])),
    (&["volumeMounts"], RECURSIVE, Needs(&[("readOnly", &["true"])])),
];

impl Reader {
    /// Checks `item`, which is `node` without the fields of the rule format. `field` is the list that it is an item of.
    pub(super) fn check_relations(
        &mut self,
        node: &Node,
        field: &str,
        item: &Overlay,
        on_conflict: OnConflict,
    ) {
        let is_injected = ["initContainers", "pod.spec", "sidecars", "volumes"].contains(&field);
        let is_complete = is_injected && on_conflict != OnConflict::Override;
        self.check_object(node, field, is_complete);
        // A block, or the pod's specification, may complete an object of the pod.
        if on_conflict != OnConflict::Override && !["containerPatches", "pod.spec"].contains(&field) {
            self.check_optional(field, item);
        }
        let entries = node.as_map().unwrap_or_default();
        for entry in paired_in_order(entries, item.members(), names).into_iter().flatten() {
            self.check_within(&entry.value, object_name(field, &entry.key), is_complete);
        }
    }

    // Recursion is bounded by the depth of the rule's document.
    fn check_within(&mut self, node: &Node, name: &str, is_complete: bool) {
        if is_expression(node) {
            return;
        }
        for item in node.as_list().unwrap_or_default() {
            self.check_within(item, name, is_complete);
        }
        if let Some(entries) = node.as_map() {
            self.check_object(node, name, is_complete);
            for entry in entries {
                self.check_within(&entry.value, object_name(name, &entry.key), is_complete);
            }
        }
    }

    fn check_object(&mut self, node: &Node, name: &str, is_complete: bool) {
        for (_, field, words) in WORDS.iter().filter(|(objects, ..)| objects.contains(&name)) {
            if has(node, (field, ANY)) == Some(true) && has(node, (field, words)) == Some(false) {
                let message =
                    format!("the API server refuses this value of `{field}`; it takes {}", words.join(", "));
                self.warning(&REFUSED_FIELDS, node_of(node, field).at(), message);
            }
        }
        let rows = ANYWHERE.iter().chain(if is_complete { COMPLETE } else { &[] });
        for (_, when, constraint) in rows.filter(|(objects, ..)| objects.contains(&name)) {
            if when.is_none_or(|member| has(node, member) == Some(true)) {
                self.check_constraint(node, name, *when, constraint);
            }
        }
    }

    /// Reports expressions that may leave out a field that the API server needs.
    // Recursion is bounded by the depth of the rule's document.
    fn check_optional(&mut self, name: &str, overlay: &Overlay) {
        overlay.items().iter().for_each(|item| self.check_optional(name, item));
        for overlay::Member { name: field, value, .. } in overlay.members() {
            match value {
                Overlay::Expression(written) if written.may_be_absent() => {
                    let needs = |constraint: &Constraint| matches!(constraint, Needs([(needed, _)]) if needed == field);
                    let mut rows = COMPLETE.iter().filter(|(objects, ..)| objects.contains(&name));
                    if rows.any(|(_, when, constraint)| when.is_none() && needs(constraint)) {
                        let message =
                            format!("`{name}` needs `{field}`, which this expression may leave out");
                        self.warning(&REFUSED_FIELDS, written.at, message);
                    }
                }
                _ => self.check_optional(object_name(name, field), value),
            }
        }
    }

    fn check_constraint(&mut self, node: &Node, name: &str, when: Option<Member>, constraint: &Constraint) {
        let subject = || when.map_or_else(|| name.to_owned(), |member| shown(node, member));
        match constraint {
            Needs(members) if members.iter().all(|member| has(node, *member) == Some(false)) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, values)| format!("`{}`", written(name, values.first())))
                    .collect();
                let message = format!("`{}` needs {}", subject(), members.join(" or "));
                self.warning(&REFUSED_FIELDS, node.at(), message);
            }
            Excludes(member) if has(node, *member) == Some(true) => {
                let (field, excluded) = (member.0, shown(node, *member));
                let message = match when {
                    Some(_) => format!("`{}` and `{excluded}` exclude each other", subject()),
                    None => format!("`{name}` cannot have `{excluded}`"),
                };
                self.warning(&REFUSED_FIELDS, node_of(node, field).at(), message);
            }
            _ => {}
        }
    }
}

/// The name of the object in `field` of an item of `list`, as the tables have it.
fn object_name<'n>(list: &str, field: &'n str) -> &'n str {
    match (list, field) {
        ("sources", "secret") => PROJECTED_SECRET,
        ("pod.spec", "resources") => POD_RESOURCES,
        (POD_RESOURCES, "limits") => POD_LIMITS,
        (POD_RESOURCES, "requests") => POD_REQUESTS,
        _ => field,
    }
}

fn node_of<'n>(object: &'n Node, field: &str) -> &'n Node {
    object.get(field).unwrap_or(object)
}

/// Whether `object` has the field with one of the values. `None` if an expression gives the value.
fn has(object: &Node, (name, values): Member) -> Option<bool> {
    let Some(node) = object.get(name).filter(|node| !node.is_null()) else { return Some(false) };
    match node.as_text() {
        _ if is_expression(node) => None,
        // A pod without a class has this priority.
        _ if name == "priority" && node.to_json() == "0" => Some(false),
        Some(text) if values.is_empty() => Some(!text.is_empty()),
        Some(text) => Some(values.contains(&text) || values.contains(&&*node.to_json())),
        None => Some(node.as_list().is_none_or(|items| !items.is_empty())),
    }
}

/// The field as it is in `object`. A value that the table does not have may be a secret.
fn shown(object: &Node, (name, values): Member) -> String {
    let value = object.text(name);
    written(name, values.iter().find(|one| value == Some(one)))
}

fn written(name: &str, value: Option<&&str>) -> String {
    value.map_or_else(|| name.to_owned(), |value| format!("{name}: {value}"))
}
