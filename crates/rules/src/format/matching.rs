//! `match`: the objects that a rule applies to.

use super::{Choice, Field, Kind, Table};

pub(crate) static MATCH: Table = Table {
    what: "`spec.match`",
    example: "{namespaces: {matchLabels: {team: blue}}}",
    fields: &[
        Field::new("namespaces", Kind::Map(&NAMESPACES), "Conditions on the namespace."),
        Field::new("objects", Kind::Map(&OBJECTS), "Conditions on the object."),
        Field::new("os", Kind::Word(&OS), "The operating system of the pod, if the pod names one.")
            .default("linux"),
        Field::new("hostNetwork", Kind::Word(&HOST_NETWORK), "Whether pods that use the network of their node are changed.")
            .default("inject"),
        Field::new(
            "ownerKinds",
            Kind::List(&Kind::Text),
            "Only objects whose controller is of one of these kinds; `Deployment` stands for its ReplicaSets, `none` for objects without one.",
        ).example("[Deployment]"),
        Field::refused("resources", "`targets` names what the rule changes"),
    ],
};

pub(crate) static NAMESPACES: Table = Table {
    what: "`match.namespaces`",
    example: "{matchLabels: {team: blue}}",
    fields: &[
        Field::new("names", Kind::List(&Kind::Text), "Only these namespaces.").example("[web]"),
        Field::new("exclude", Kind::List(&Kind::Text), "Never these namespaces.").example("[web]"),
        Field::new("matchLabels", Kind::Entries(&Kind::Text), "Only namespaces with all of these labels.")
            .example("{team: blue}"),
    ],
};

pub(crate) static OBJECTS: Table = Table {
    what: "`match.objects`",
    example: "{labels: {app: web}}",
    fields: &[
        Field::new("labels", Kind::Entries(&Kind::Text), "Only objects with all of these labels.")
            .example("{app: web}"),
        Field::refused(
            "annotations",
            "objects are matched by labels; for an annotation by which pods ask for the rule, set `optIn: pod` and, where \
             its key is another injector's, `compatAnnotations`; for any other, write a condition: \
             `when: [\"object.metadata.?annotations.?KEY.orValue('') == 'VALUE'\"]`",
        ),
    ],
};

/// `None` matches any.
pub(crate) static OS: Choice<Option<&'static str>, 3> =
    [("linux", Some("linux")), ("windows", Some("windows")), ("any", None)];

/// Whether pods in the network of their node are skipped.
pub(crate) static HOST_NETWORK: Choice<bool, 2> = [("skip", true), ("inject", false)];
