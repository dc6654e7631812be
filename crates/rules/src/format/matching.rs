//! `match`: the objects that a rule applies to.

use super::{Choice, LABEL_SELECTOR, Table, map, refused, renamed, texts, word};

pub(crate) static MATCH: Table = Table {
    what: "`spec.match`",
    example: "{namespaceSelector: {matchLabels: {team: blue}}}",
    fields: &[
        map(
            "namespaceSelector",
            &LABEL_SELECTOR,
            "The labels of the namespace. Namespaces are named by the label `kubernetes.io/metadata.name`.",
        )
        .cluster_only(),
        map(
            "objectSelector",
            &LABEL_SELECTOR,
            "The labels of the pod; of a workload those of its pod template, unless `metadataOf` says otherwise.",
        ),
        word("os", &OS, "The operating system of the pod, if the pod names one.").default("linux"),
        word("hostNetwork", &HOST_NETWORK, "Whether pods that use the network of their node are changed.")
            .default("inject"),
        texts(
            "ownerKinds",
            "Only objects whose controller is of one of these kinds; `Deployment` stands for its \
             ReplicaSets, `none` for objects without one.",
        )
        .not_empty()
        .example("[Deployment]"),
        refused("resources", "`targets` names what the rule changes"),
        renamed("namespaces", NAMES),
        renamed("objects", "objectSelector: {matchLabels: {app: web}}"),
    ],
};

/// The names of namespaces in the words of a selector.
pub(crate) const NAMES: &str = "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [shop]}]}";

/// `None` matches any.
pub(crate) static OS: Choice<Option<&'static str>, 3> =
    [("linux", Some("linux")), ("windows", Some("windows")), ("any", None)];

/// Whether pods in the network of their node are skipped.
pub(crate) static HOST_NETWORK: Choice<bool, 2> = [("skip", true), ("inject", false)];
