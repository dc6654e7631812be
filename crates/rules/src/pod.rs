//! Facts about the fields of pods: the schema's, and tables for facts that the schema does not have.

use vestibule_patch::Schema;

/// The schemas of the parts of a pod that rules change, looked up once for all objects.
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
    /// `pod` is the schema of the type `Pod`.
    pub(crate) fn of(pod: Schema<'static>) -> Self {
        let spec = pod.field("spec");
        let (metadata, volumes, containers) =
            (pod.field("metadata"), spec.field("volumes"), spec.field("containers"));
        Self { pod, metadata, spec, volumes, containers, container: containers.item() }
    }
}

/// Members whose value is a string even if YAML reads another type: `value: on`, `image: 1.10`, `cpu: 1`.
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

/// Members that are maps from string to string.
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

/// Members, or the maps around them, whose values are quantities. One quantity has several spellings.
const QUANTITIES: &[&str] = &["divisor", "limits", "overhead", "requests", "sizeLimit"];

/// Lists to which rules may add single items, although the API server merges each list as one value. Their items do not depend
/// on order or on other items.
const OPEN_LISTS: &[&str] =
    &["add", "drop", "envFrom", "items", "readinessGates", "sources", "supplementalGroups", "tolerations"];

/// Members that the API server omits if they have their zero value. Fields that are pointers in Go, such as
/// `allowPrivilegeEscalation`, are not omitted.
const OMITTED_ZEROS: &[&str] = &["hostPort", "readOnly", "stdin", "stdinOnce", "tty"];

/// The sources of a volume: all of its members except `name`.
const VOLUME_SOURCES: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
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
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
];

/// Unions: an object has at most one member of each. The `image` of a container is a string and not part of a union.
const UNIONS: &[&[&str]] = &[
    VOLUME_SOURCES,
    &["value", "valueFrom"],
    &["configMapRef", "secretRef"],
    &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    &["exec", "grpc", "httpGet", "sleep", "tcpSocket"],
    &["subPath", "subPathExpr"],
];

pub(crate) fn is_text(member: &str) -> bool {
    TEXTS.contains(&member)
}

pub(crate) fn is_text_map(member: &str) -> bool {
    TEXT_MAPS.contains(&member)
}

pub(crate) fn is_quantity(member: &str) -> bool {
    QUANTITIES.contains(&member)
}

pub(crate) fn is_open_list(member: &str) -> bool {
    OPEN_LISTS.contains(&member)
}

/// Whether an absent `member` means the same as the value `json`.
pub(crate) fn is_default(member: &str, json: &str) -> bool {
    json == "\"\""
        || (member, json) == ("protocol", "\"TCP\"")
        || (matches!(json, "false" | "0") && OMITTED_ZEROS.contains(&member))
}

/// Two of `members` that are in the same union.
pub(crate) fn excluding<'m>(members: &[&'m str]) -> Option<(&'m str, &'m str)> {
    UNIONS.iter().find_map(|union| {
        let mut present = members.iter().copied().filter(|member| union.contains(member));
        Some((present.next()?, present.next()?))
    })
}

/// The union that `member` is in.
pub(crate) fn union_of(member: &str) -> Option<&'static [&'static str]> {
    UNIONS.iter().find(|union| union.contains(&member)).copied()
}
