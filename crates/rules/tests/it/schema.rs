//! As much of a pod's schema as the tests need.

use vestibule_patch::{Field, Key, List, Schema, Table, Type};

pub(crate) fn pod() -> Schema<'static> {
    Schema::new(&TABLE, 0)
}

static TABLE: Table =
    Table { types: &[POD, META, SPEC, CONTAINER, ENV, PORT, MOUNT, RESOURCES, VOLUME, CONFIG_MAP, ENV_FROM] };

const POD: Type = Type { name: "Pod", fields: &[object("metadata", 1), object("spec", 2)] };

const META: Type =
    Type { name: "ObjectMeta", fields: &[plain("annotations"), plain("labels"), plain("name")] };

const SPEC: Type = Type {
    name: "PodSpec",
    fields: &[keyed("containers", 3, NAME), keyed("initContainers", 3, NAME), keyed("volumes", 8, NAME)],
};

const CONTAINER: Type = Type {
    name: "Container",
    fields: &[
        list("args"),
        list("command"),
        keyed("env", 4, NAME),
        Field { name: "envFrom", list: List::Atomic, of: Some(10) },
        plain("image"),
        plain("imagePullPolicy"),
        plain("lifecycle"),
        plain("livenessProbe"),
        plain("name"),
        keyed("ports", 5, PORT_KEY),
        plain("readinessProbe"),
        object("resources", 7),
        plain("restartPolicy"),
        plain("securityContext"),
        plain("startupProbe"),
        keyed("volumeMounts", 6, PATH),
    ],
};

const ENV: Type = Type { name: "EnvVar", fields: &[plain("name"), plain("value"), plain("valueFrom")] };

const PORT: Type = Type {
    name: "ContainerPort",
    fields: &[plain("containerPort"), plain("hostIP"), plain("hostPort"), plain("name"), plain("protocol")],
};

const MOUNT: Type = Type {
    name: "VolumeMount",
    fields: &[plain("mountPath"), plain("name"), plain("readOnly"), plain("subPath")],
};

const RESOURCES: Type =
    Type { name: "ResourceRequirements", fields: &[plain("claims"), plain("limits"), plain("requests")] };

const VOLUME: Type = Type {
    name: "Volume",
    fields: &[object("configMap", 9), plain("emptyDir"), plain("hostPath"), plain("name"), plain("secret")],
};

const CONFIG_MAP: Type = Type {
    name: "ConfigMapVolumeSource",
    fields: &[plain("defaultMode"), list("items"), plain("name"), plain("optional")],
};

const ENV_FROM: Type =
    Type { name: "EnvFromSource", fields: &[plain("configMapRef"), plain("prefix"), plain("secretRef")] };

const NAME: &[Key] = &[Key { name: "name", default: None }];
const PATH: &[Key] = &[Key { name: "mountPath", default: None }];
const PORT_KEY: &[Key] =
    &[Key { name: "containerPort", default: None }, Key { name: "protocol", default: Some("\"TCP\"") }];

const fn plain(name: &'static str) -> Field {
    Field { name, list: List::Unknown, of: None }
}

const fn list(name: &'static str) -> Field {
    Field { name, list: List::Atomic, of: None }
}

const fn object(name: &'static str, of: u16) -> Field {
    Field { name, list: List::Unknown, of: Some(of) }
}

const fn keyed(name: &'static str, of: u16, keys: &'static [Key]) -> Field {
    Field { name, list: List::Map(keys), of: Some(of) }
}
