//! `pod`, and the fields that the format adds to items, containers and the pod's specification.

use super::{Choice, Field, Kind, POLICIES, Table};

pub(crate) static POD: Table = Table {
    what: "`pod`",
    example: "{labels: {team: blue}}",
    fields: &[
        Field::new("labels", Kind::Entries(&Kind::Text), "Labels of the pod.").example("{team: blue}"),
        Field::new("annotations", Kind::Entries(&Kind::Text), "Annotations of the pod.")
            .example("{example.com/team: blue}"),
        Field::new(
            "spec",
            Kind::Fragment(&["spec"], Some(&POD_SPEC)),
            "Fields of the pod's specification, except those that have their own field in `spec`.",
        )
        .example("{priorityClassName: high}"),
    ],
};

/// The fields that the format adds to the specification of a pod, and those that belong elsewhere in a rule.
pub(crate) static POD_SPEC: Table = Table {
    what: "`pod.spec`",
    example: "{priorityClassName: high}",
    fields: &[
        ON_CONFLICT,
        Field::new("replace", Kind::List(&Kind::Text), "The fields beside it that replace existing values.")
            .example("[image]"),
        Field::refused("containers", "blocks for existing containers belong in `spec.containers`"),
        Field::refused("ephemeralContainers", "they can only be added to running pods"),
        Field::refused("imagePullSecrets", "they belong in `spec.imagePullSecrets`"),
        Field::refused(
            "initContainers",
            "they belong in `spec.initContainers`, native sidecars in `spec.sidecars`",
        ),
        Field::refused("volumes", "they belong in `spec.volumes`"),
    ],
};

const ON_CONFLICT: Field =
    Field::new("onConflict", Kind::Word(&POLICIES), "What happens if the pod already has another one.");

const PLACE: Field = Field::new("position", Kind::Map(&POSITION), "The position in its list.");

/// The fields that the format adds to an item of a pod's list.
pub(crate) static ITEM: Table =
    Table { what: "an item", example: "{name: data, onConflict: keep}", fields: &[ON_CONFLICT] };

/// The fields that the format adds to a sidecar.
pub(crate) static CONTAINER: Table = Table {
    what: "a sidecar",
    example: "{name: proxy, image: 'proxy:1.2', mode: native}",
    fields: &[
        ON_CONFLICT,
        PLACE,
        Field::new(
            "mode",
            Kind::Word(&MODES),
            "`native` starts before the application and ends after it, `regular` beside it; `auto` is native unless the settings say otherwise.",
        )
        .default("auto"),
    ],
};

/// The fields that the format adds to an init container.
pub(crate) static INIT_CONTAINER: Table = Table {
    what: "an init container",
    example: "{name: setup, image: 'setup:1.2'}",
    fields: &[ON_CONFLICT, PLACE],
};

pub(crate) static POSITION: Table = Table {
    what: "`position`",
    example: "{containers: first}",
    fields: &[
        Field::new("containers", ANCHORED, "The position among the containers."),
        Field::new("initContainers", ANCHORED, "The position among the init containers."),
        Field::new(
            "strict",
            Kind::Boolean,
            "Whether it is moved back when other webhooks insert containers.",
        )
        .default("false"),
    ],
};

const ANCHORED: Kind = Kind::Either(&[Kind::Word(&POSITIONS), Kind::Map(&ANCHOR)]);

pub(crate) static ANCHOR: Table = Table {
    what: "a position",
    example: "{before: proxy}",
    fields: &[
        Field::new("before", Kind::Text, "The container that it comes before."),
        Field::new("after", Kind::Text, "The container that it comes after."),
    ],
};

/// Whether the container goes to the end of its list.
pub(crate) static POSITIONS: Choice<bool, 2> = [("first", false), ("last", true)];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Native,
    Regular,
}

/// `None` leaves the choice to the settings.
pub(crate) static MODES: Choice<Option<Mode>, 3> =
    [("auto", None), ("native", Some(Mode::Native)), ("regular", Some(Mode::Regular))];
