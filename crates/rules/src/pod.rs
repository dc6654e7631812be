//! Facts about pods: the schema of their parts, and lists of facts that no schema states.

use vestibule_patch::{Key, List, Schema};

/// The lists of containers that rules add to and select from.
pub(crate) const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];

/// The schemas of the parts of a pod that rules change, looked up once instead of for each object.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) pod: Schema<'static>,
    pub(crate) metadata: Schema<'static>,
    pub(crate) spec: Schema<'static>,
    pub(crate) volumes: Schema<'static>,
    /// The schema of each list of containers.
    pub(crate) containers: Schema<'static>,
    pub(crate) container: Schema<'static>,
}

impl Shape {
    /// `pod` is the schema of pods.
    pub(crate) fn of(pod: Schema<'static>) -> Self {
        let spec = pod.field("spec");
        let (metadata, volumes, containers) =
            (pod.field("metadata"), spec.field("volumes"), spec.field("containers"));
        Self { pod, metadata, spec, volumes, containers, container: containers.item() }
    }
}

/// Members whose value is text even if YAML would read a boolean or a number: `value: on`, `image: 1.10`, `cpu: 1`.
const TEXTS: &[&str] = &[
    "args",
    "claimName",
    "command",
    "containerName",
    "fieldPath",
    "image",
    "imagePullPolicy",
    "ip",
    "key",
    "medium",
    "mountPath",
    "name",
    "path",
    "protocol",
    "resource",
    "restartPolicy",
    "secretName",
    "subPath",
    "subPathExpr",
    "value",
    "workingDir",
];

/// Members that are maps from text to text.
const TEXT_MAPS: &[&str] = &[
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "overhead",
    "requests",
    "volumeAttributes",
];

/// Members, or the maps around them, that hold quantities; one quantity has several spellings.
const QUANTITIES: &[&str] = &["divisor", "limits", "overhead", "requests", "sizeLimit"];

/// Lists that the API server replaces as one value although their items are independent of order and of each other:
/// in containers, capabilities, projected volumes, the files of a volume, and pods.
const OPEN_LISTS: &[&str] =
    &["add", "drop", "envFrom", "items", "readinessGates", "sources", "supplementalGroups", "tolerations"];

/// Lists without merge keys whose items mean something else with a further member: a toleration with seconds ends, and variables
/// with a prefix have other names.
const COMPARED_BY_ALL_MEMBERS: &[&str] = &["envFrom", "tolerations"];

/// The members that identify a toleration; `tolerationSeconds` is its value. Kubernetes uses the first toleration that matches a taint, so
/// a second one with other seconds has no effect.
const TOLERATION_KEYS: &[Key] = &[
    Key { name: "key", default: Some(r#""""#) },
    Key { name: "operator", default: Some(r#""Equal""#) },
    Key { name: "value", default: Some(r#""""#) },
    Key { name: "effect", default: Some(r#""""#) },
];

/// Members that the API server omits if they have their zero value. Pointers such as `allowPrivilegeEscalation` are
/// not among them.
const OMITTED_ZEROS: &[&str] = &[
    "chapAuthDiscovery",
    "chapAuthSession",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "initialDelaySeconds",
    "partition",
    "readOnly",
    "sslEnabled",
    "stdin",
    "stdinOnce",
    "tty",
];

/// Values for which the API server stores its default: the member, the value, and the defaults.
const REPLACED: &[(&str, &str, &[&str])] = &[
    ("apiVersion", "", &["v1"]),
    ("dnsPolicy", "", &["ClusterFirst"]),
    ("failureThreshold", "0", &["3"]),
    ("imagePullPolicy", "", &["Always", "IfNotPresent"]),
    ("iscsiInterface", "", &["default"]),
    ("path", "", &["/"]),
    ("periodSeconds", "0", &["10"]),
    ("protocol", "", &["TCP"]),
    ("pullPolicy", "", &["Always", "IfNotPresent"]),
    ("restartPolicy", "", &["Always"]),
    ("schedulerName", "", &["default-scheduler"]),
    ("scheme", "", &["HTTP"]),
    ("serviceAccountName", "", &["default"]),
    ("successThreshold", "0", &["1"]),
    ("terminationGracePeriodSeconds", "-1", &["1"]),
    ("terminationMessagePath", "", &["/dev/termination-log"]),
    ("terminationMessagePolicy", "", &["File"]),
    ("timeoutSeconds", "0", &["1"]),
];

/// The sources of a volume, or of a part of a projected volume: all of its members except `name`.
const VOLUME_SOURCES: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "clusterTrustBundle",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "podCertificate",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "serviceAccountToken",
    "storageos",
    "vsphereVolume",
];

/// Groups of members that exclude each other. `image` is a volume source; the `image` of a container is text and
/// belongs to no group.
const UNIONS: &[&[&str]] = &[
    VOLUME_SOURCES,
    &["value", "valueFrom"],
    &["configMapRef", "secretRef"],
    &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    &["exec", "grpc", "httpGet", "sleep", "tcpSocket"],
    &["resourceClaimName", "resourceClaimTemplateName"],
    &["subPath", "subPathExpr"],
];

/// Members that are different in all items of a list of a container, though they are not its keys, and the members that the API
/// server compares together with them.
const DISTINCT: &[(&str, &str, &[&str])] =
    &[("ports", "hostPort", &["protocol", "hostIP"]), ("ports", "name", &[]), ("volumeDevices", "name", &[])];

/// The members besides the key that are different in all items of `list`, each with those that are compared together with it.
pub(crate) fn distinct(list: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    DISTINCT.iter().filter(move |(of, ..)| *of == list).map(|(_, member, beside)| (*member, *beside))
}

pub(crate) fn is_text(member: &str) -> bool {
    TEXTS.contains(&member)
}

pub(crate) fn is_text_map(member: &str) -> bool {
    TEXT_MAPS.contains(&member)
}

/// Whether the members of the map or object `name` are merged one by one. Objects that hold one of several alternatives, such as probes
/// and handlers, cannot be.
pub(crate) fn is_split(name: &str, schema: Schema<'_>) -> bool {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name).collect();
    is_text_map(name) || !names.is_empty() && excluding(&names).is_none() && !is_one_value(name)
}

/// Whether the object `name` is one value: its `type` or its `resource` says which other members it may have.
pub(crate) fn is_one_value(name: &str) -> bool {
    ["appArmorProfile", "resourceFieldRef", "seccompProfile"].contains(&name)
}

pub(crate) fn is_quantity(member: &str) -> bool {
    QUANTITIES.contains(&member)
}

/// The members that identify the items of the list `name`, also of one that the API server replaces as one value.
pub(crate) fn item_keys(name: &str, list: List) -> Option<&'static [Key]> {
    match list {
        List::Map(keys) => Some(keys),
        List::Atomic if name == "tolerations" => Some(TOLERATION_KEYS),
        List::Atomic | List::Set | List::Unknown => None,
    }
}

/// Whether the first of equal items of the list `name` takes effect, in place of the last.
pub(crate) fn first_takes_effect(name: &str) -> bool {
    name == "tolerations"
}

/// Whether several items with one key take effect, as two ports with one number and two names do.
pub(crate) fn may_repeat(keys: &[Key]) -> bool {
    keys.iter().any(|key| key.name == "containerPort")
}

pub(crate) fn is_open_list(member: &str) -> bool {
    OPEN_LISTS.contains(&member)
}

/// Whether an item of the list `name` with a further member is another item.
pub(crate) fn compares_all_members(name: &str) -> bool {
    COMPARED_BY_ALL_MEMBERS.contains(&name)
}

/// Whether an item with a further `member` may be another item. A source of variables is the same whether or not the pod starts
/// without it.
pub(crate) fn tells_items_apart(member: &str) -> bool {
    member != "optional"
}

/// Whether leaving out `member` means the same as `text`.
pub(crate) fn is_default_text(member: &str, text: &str) -> bool {
    // A claim with an empty class gets no volume of the default class.
    (text.is_empty() && member != "storageClassName")
        || [("operator", "Equal"), ("protocol", "TCP")].contains(&(member, text))
}

/// Whether leaving out `member` means the same as the number or boolean `json`.
pub(crate) fn is_default_literal(member: &str, json: &str) -> bool {
    (member, json) == ("optional", "false")
        || (matches!(json, "false" | "0") && OMITTED_ZEROS.contains(&member))
}

/// Whether the API server may store `found` for the value `written` of `member`.
pub(crate) fn is_replaced(member: &str, written: &str, found: &str) -> bool {
    matches!(written, "" | "0" | "-1")
        && REPLACED
            .iter()
            .any(|(name, value, defaults)| (*name, *value) == (member, written) && defaults.contains(&found))
}

/// Whether the amounts of the map `member` are rounded up to thousandths by the API server.
pub(crate) fn is_rounded(member: &str) -> bool {
    ["limits", "overhead", "requests"].contains(&member)
}

/// The first two of `members` that exclude each other.
pub(crate) fn excluding<'m>(members: &[&'m str]) -> Option<(&'m str, &'m str)> {
    UNIONS.iter().find_map(|union| {
        let mut present = members.iter().copied().filter(|member| union.contains(member));
        Some((present.next()?, present.next()?))
    })
}

/// The group of members that exclude each other and contains `member`.
pub(crate) fn union_of(member: &str) -> Option<&'static [&'static str]> {
    UNIONS.iter().find(|union| union.contains(&member)).copied()
}
