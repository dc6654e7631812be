//! `pod`, and the fields that the format adds to items, containers and the pod's specification.

use super::{
    Choice, Field, Kind, ON_CONFLICT_WORDS, REPLACE, Table, field, flag, fragment, map, refused, text, word,
};

pub(crate) static POD: Table = Table {
    what: "`pod`",
    example: "{labels: {team: blue}}",
    fields: &[
        field("labels", COMPUTED_TEXTS, "Labels of the pod.").example("{team: blue}"),
        field("annotations", COMPUTED_TEXTS, "Annotations of the pod.").example("{example.com/team: blue}"),
        fragment(
            "spec",
            &["spec"],
            &POD_SPEC,
            "Fields of the pod's specification, except those that have their own field in `spec`.",
        )
        .example("{priorityClassName: high}"),
    ],
};

const COMPUTED_TEXTS: Kind = Kind::Entries(&Kind::TextOrExpression);

/// The fields that the format adds to the specification of a pod, and those that belong elsewhere in a rule.
pub(crate) static POD_SPEC: Table = Table {
    what: "`pod.spec`",
    example: "{priorityClassName: high}",
    fields: &[
        ON_CONFLICT,
        REPLACE,
        refused("containers", "changes to existing containers belong in `spec.containerPatches`"),
        refused("ephemeralContainers", "they can only be added to running pods"),
        refused("imagePullSecrets", "they belong in `spec.imagePullSecrets`"),
        refused("initContainers", "they belong in `spec.initContainers`, native sidecars in `spec.sidecars`"),
        refused("volumes", "they belong in `spec.volumes`"),
    ],
};

const ON_CONFLICT: Field =
    word("onConflict", &ON_CONFLICT_WORDS, "What happens if the pod already has another one.");

const FOR_EACH: Field = field(
    "forEach",
    Kind::Expression,
    "A list or a map: the item is added once for each of its items or sorted keys, which the expressions of the item read as \
     `each`. Items of lists within a part, such as the `env` of a sidecar, may have it too.",
);

const PLACE: Field = map("position", &POSITION, "The position in its list.");

/// The fields that the format adds to an item of a pod's list.
pub(crate) static ITEM: Table =
    Table { what: "an item", example: "{name: data, onConflict: keep}", fields: &[ON_CONFLICT, FOR_EACH] };

/// The fields that the format adds to an item of a list within a part.
pub(crate) static REPEATED: Table = Table { what: "an item", example: "{name: data}", fields: &[FOR_EACH] };

/// The fields that the format adds to a sidecar.
pub(crate) static CONTAINER: Table = Table {
    what: "a sidecar",
    example: "{name: proxy, image: 'proxy:1.2', mode: native}",
    fields: &[
        ON_CONFLICT,
        PLACE,
        word(
            "mode",
            &MODES,
            "`native` starts before the application and ends after it, `regular` beside it; `auto` \
             is native unless the settings say otherwise.",
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
        field("containers", ANCHORED, "The position among the containers.").called("position"),
        field("initContainers", ANCHORED, "The position among the init containers.").called("position"),
        flag("strict", "Whether it is moved back when other webhooks insert containers.").default("false"),
    ],
};

const ANCHORED: Kind = Kind::Either(&[Kind::Word(&POSITIONS), Kind::Map(&ANCHOR)]);

pub(crate) static ANCHOR: Table = Table {
    what: "a position",
    example: "{before: proxy}",
    fields: &[
        text("before", "The container that it comes before."),
        text("after", "The container that it comes after."),
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
