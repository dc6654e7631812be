//! `remove`: the entries that a rule removes.

use super::{Field, Kind, Table, field, flag, map, text};

const CONTAINERS_SELECTED: Kind = Kind::Either(&[Kind::Word(&EVERY), Kind::List(&Kind::Text)]);

const CONTAINERS: Field = field(
    "containers",
    CONTAINERS_SELECTED,
    "`all`, or the names of containers. Injected containers are never changed.",
)
.required()
.not_empty();

const INIT: Field =
    flag("init", "Whether init containers and native sidecars are selected too.").default("false");

const NAME: Field = text("name", "Its name.").required();

const KEY: Field = text("key", "Its key.").required();

pub(crate) static EVERY: super::Choice<(), 1> = [("all", ())];

/// One item of `remove`: the list or map that loses an entry.
pub(crate) static REMOVAL: Table = Table {
    what: "an item of `remove`",
    example: "{env: {containers: all, name: TARGET}}",
    fields: &[
        map("annotations", &ENTRY, "An annotation of the pod."),
        map("env", &VARIABLE_REMOVAL, "A variable."),
        map("envFrom", &SOURCE_REMOVAL, "A source of variables."),
        map("hostAliases", &ALIAS_REMOVAL, "The names of an address."),
        map("imagePullSecrets", &NAMED, "An image pull secret."),
        map("labels", &ENTRY, "A label of the pod."),
        map("nodeSelector", &ENTRY, "A label that the pod requires of nodes."),
        map("ports", &PORT_REMOVAL, "A port."),
        map("tolerations", &TOLERATION_REMOVAL, "A toleration."),
        map("volumeDevices", &DEVICE_REMOVAL, "A block device."),
        map("volumeMounts", &MOUNT_REMOVAL, "A mount."),
        map("volumes", &NAMED, "A volume that no container uses."),
    ],
};

static NAMED: Table = Table { what: "a removal", example: "{name: data}", fields: &[NAME] };

static ENTRY: Table = Table { what: "a removal", example: "{key: team}", fields: &[KEY] };

static ALIAS_REMOVAL: Table =
    Table { what: "a removal", example: "{ip: 10.0.0.1}", fields: &[text("ip", "Its address.").required()] };

static TOLERATION_REMOVAL: Table = Table {
    what: "a removal",
    example: "{key: dedicated}",
    fields: &[
        KEY,
        text("effect", "Its effect."),
        text("operator", "Its operator."),
        text("value", "Its value."),
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
        text("configMap", "The name of the ConfigMap."),
        text("secret", "The name of the Secret."),
    ],
};

static PORT_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, containerPort: 8080}",
    fields: &[
        CONTAINERS,
        INIT,
        field("containerPort", Kind::Integer(0, 65_535), "Its number.").required(),
        text("protocol", "Its protocol.").default("TCP"),
    ],
};

static MOUNT_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, mountPath: /data}",
    fields: &[CONTAINERS, INIT, text("mountPath", "Where it is mounted.").required()],
};

static DEVICE_REMOVAL: Table = Table {
    what: "a removal",
    example: "{containers: all, devicePath: /dev/xvda}",
    fields: &[CONTAINERS, INIT, text("devicePath", "Where it is.").required()],
};
