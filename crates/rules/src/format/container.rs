//! What a rule adds to containers that are there.

use super::{Field, ITEM, Kind, POLICIES, Table};

pub(crate) static BLOCK: Table = Table {
    what: "`containers`",
    fields: &[
        Field::new(
            "select",
            Kind::Map(&SELECT),
            "`select` has exactly one of `all: true`, `names`, `images` and `index`",
        )
        .required(),
        Field::new(
            "onConflict",
            Kind::Word(&POLICIES),
            "What happens where a container has another value already.",
        ),
        Field::new("env", Kind::Fragment(&["spec", "containers", "env"], Some(&ITEM)), "Variables."),
        Field::new(
            "envFrom",
            Kind::Fragment(&["spec", "containers", "envFrom"], Some(&ITEM)),
            "Sources of variables.",
        ),
        Field::new("ports", Kind::Fragment(&["spec", "containers", "ports"], Some(&ITEM)), "Ports."),
        Field::new("resources", Kind::Map(&QUANTITIES), "Requests and limits."),
        Field::new(
            "volumeMounts",
            Kind::Fragment(&["spec", "containers", "volumeMounts"], Some(&ITEM)),
            "Mounts of volumes.",
        ),
        Field::refused("args", ""),
        Field::refused("command", ""),
        Field::refused("image", ""),
        Field::refused("imagePullPolicy", ""),
        Field::refused("lifecycle", ""),
        Field::refused("livenessProbe", ""),
        Field::refused("readinessProbe", ""),
        Field::refused("remove", ""),
        Field::refused("replace", ""),
        Field::refused("securityContext", ""),
        Field::refused("startupProbe", ""),
        Field::refused("stdin", ""),
        Field::refused("tty", ""),
        Field::refused("volumeDevices", ""),
        Field::refused("workingDir", ""),
    ],
};

pub(crate) static SELECT: Table = Table {
    what: "`select`",
    fields: &[
        Field::new("all", Kind::Boolean, "Every container."),
        Field::new("names", Kind::List(&Kind::Text), "The containers of these names."),
        Field::new(
            "images",
            Kind::List(&Kind::Text),
            "The containers of these images, or repositories of images.",
        ),
        Field::new("index", Kind::Integer, "The container at this place, counted from 0."),
        Field::new("exclude", Kind::List(&Kind::Text), "But not those of these names."),
        Field::new("init", Kind::Boolean, "Init containers and native sidecars as well.").default("false"),
    ],
};

pub(crate) static QUANTITIES: Table = Table {
    what: "`resources`",
    fields: &[
        Field::new("limits", Kind::Entries(&Kind::Text), "What the container gets at most."),
        Field::new("requests", Kind::Entries(&Kind::Text), "What the container needs."),
        Field::refused("claims", ""),
    ],
};
