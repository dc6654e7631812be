//! `remove`: the entries that a rule removes.

use super::{Field, Kind, Table};

const CONTAINERS_SELECTED: Kind = Kind::Either(&[Kind::Word(&EVERY), Kind::List(&Kind::Text)]);

const CONTAINERS: Field = Field::new(
    "containers",
    CONTAINERS_SELECTED,
    "`all`, or the names of containers. Injected containers are never changed.",
)
.required();

const INIT: Field =
    Field::new("init", Kind::Boolean, "Whether init containers and native sidecars are selected too.")
        .default("false");

const NAME: Field = Field::new("name", Kind::Text, "Its name.").required();

const KEY: Field = Field::new("key", Kind::Text, "Its key.").required();

pub(crate) static EVERY: super::Choice<(), 1> = [("all", ())];

/// One item of `remove`: the list or map that loses an entry.
pub(crate) static REMOVAL: Table = Table {
    what: "an item of `remove`",
    example: "{env: {containers: all, name: TARGET}}",
    fields: &[
        Field::new("annotations", Kind::Map(&ENTRY), "An annotation of the pod."),
        Field::new("env", Kind::Map(&VARIABLE_REMOVAL), "A variable."),
        Field::new("envFrom", Kind::Map(&SOURCE_REMOVAL), "A source of variables."),
        Field::new("hostAliases", Kind::Map(&ALIAS_REMOVAL), "The names of an address."),
        Field::new("imagePullSecrets", Kind::Map(&NAMED), "An image pull secret."),
        Field::new("labels", Kind::Map(&ENTRY), "A label of the pod."),
        Field::new("nodeSelector", Kind::Map(&ENTRY), "A label that the pod requires of nodes."),
        Field::new("ports", Kind::Map(&PORT_REMOVAL), "A port."),
        Field::new("tolerations", Kind::Map(&TOLERATION_REMOVAL), "A toleration."),
        Field::new("volumeDevices", Kind::Map(&DEVICE_REMOVAL), "A block device."),
        Field::new("volumeMounts", Kind::Map(&MOUNT_REMOVAL), "A mount."),
        Field::new("volumes", Kind::Map(&NAMED), "A volume that nothing mounts any more."),
    ],
};

static NAMED: Table = Table { what: "a removal", example: "{name: data}", fields: &[NAME] };

static ENTRY: Table = Table { what: "a removal", example: "{key: team}", fields: &[KEY] };

static ALIAS_REMOVAL: Table = Table {
    what: "a removal",
    example: "{ip: 10.0.0.1}",
    fields: &[Field::new("ip", Kind::Text, "Its address.").required()],
};

static TOLERATION_REMOVAL: Table = Table {
    what: "a removal",
    example: "{key: dedicated}",
    fields: &[
        KEY,
        Field::new("effect", Kind::Text, "Its effect."),
        Field::new("operator", Kind::Text, "Its operator."),
        Field::new("value", Kind::Text, "Its value."),
    ],
};

static VARIABLE_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, name: TARGET}",
    fields: &[CONTAINERS, INIT, NAME],
};

static SOURCE_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, configMap: settings}",
    fields: &[
        CONTAINERS,
        INIT,
        Field::new("configMap", Kind::Text, "The name of the ConfigMap."),
        Field::new("secret", Kind::Text, "The name of the Secret."),
    ],
};

static PORT_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, containerPort: 8080}",
    fields: &[
        CONTAINERS,
        INIT,
        Field::new("containerPort", Kind::Integer, "Its number.").required(),
        Field::new("protocol", Kind::Text, "Its protocol.").default("TCP"),
    ],
};

static MOUNT_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, mountPath: /data}",
    fields: &[CONTAINERS, INIT, Field::new("mountPath", Kind::Text, "Where it is mounted.").required()],
};

static DEVICE_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, devicePath: /dev/xvda}",
    fields: &[CONTAINERS, INIT, Field::new("devicePath", Kind::Text, "Where it is.").required()],
};
