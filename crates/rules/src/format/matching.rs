//! `match`: the objects that a rule applies to.

use super::{Choice, Table, map, refused, text_map, texts, word};

pub(crate) static MATCH: Table = Table {
    what: "`spec.match`",
    example: "{namespaces: {matchLabels: {team: blue}}}",
    fields: &[
        map("namespaces", &NAMESPACES, "Conditions on the namespace."),
        map("objects", &OBJECTS, "Conditions on the object."),
        word("os", &OS, "The operating system of the pod, if the pod names one.").default("linux"),
        word("hostNetwork", &HOST_NETWORK, "Whether pods that use the network of their node are changed.")
            .default("inject"),
        texts(
            "ownerKinds",
            "Only objects whose controller is of one of these kinds; `Deployment` stands for its \
             ReplicaSets, `none` for objects without one.",
        )
        .example("[Deployment]"),
        refused("resources", "`targets` names what the rule changes"),
    ],
};

pub(crate) static NAMESPACES: Table = Table {
    what: "`match.namespaces`",
    example: "{matchLabels: {team: blue}}",
    fields: &[
        texts("names", "Only these namespaces.").example("[web]"),
        texts("exclude", "Never these namespaces.").example("[web]"),
        text_map("matchLabels", "Only namespaces with all of these labels.").example("{team: blue}"),
    ],
};

pub(crate) static OBJECTS: Table = Table {
    what: "`match.objects`",
    example: "{labels: {app: web}}",
    fields: &[
        text_map("labels", "Only objects with all of these labels.").example("{app: web}"),
        refused(
            "annotations",
            "objects are matched by labels; for an annotation by which pods ask for the rule, set \
             `optIn: pod` and, where its key is another injector's, `compatAnnotations`; for any \
             other, write a condition: `when: [\"object.metadata.?annotations.?KEY.orValue('') == \
             'VALUE'\"]`",
        ),
    ],
};

/// `None` matches any.
pub(crate) static OS: Choice<Option<&'static str>, 3> =
    [("linux", Some("linux")), ("windows", Some("windows")), ("any", None)];

/// Whether pods in the network of their node are skipped.
pub(crate) static HOST_NETWORK: Choice<bool, 2> = [("skip", true), ("inject", false)];
