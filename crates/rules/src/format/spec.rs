//! The document, and the `spec` of a rule.

use super::{
    BLOCK, CONTAINER, Choice, Field, INIT_CONTAINER, ITEM, Kind, MATCH, PARAMETER, POD, REMOVAL, Table,
    VARIABLE,
};
use crate::rule::{OnError, OptIn, Policy, Resource};

pub(crate) static INJECTION: Table = Table {
    what: "the document",
    example: concat!(
        "{apiVersion: ",
        api_version!(),
        ", kind: Injection, metadata: {name: team}, spec: {optIn: pod, pod: {labels: {team: blue}}}}"
    ),
    fields: &[
        Field::new("apiVersion", Kind::Text, concat!("`", api_version!(), "`.")).required(),
        Field::new("kind", Kind::Text, "`Injection`.").required(),
        Field::new("metadata", Kind::Map(&METADATA), "The document's name.").required(),
        Field::new("spec", Kind::Map(&SPEC), "The rule.").required(),
    ],
};

pub(crate) static METADATA: Table = Table {
    what: "`metadata`",
    example: "{name: team}",
    fields: &[
        Field::new("name", Kind::Text, "The name that messages, opt-in keys and metrics use.").required(),
        Field::new("labels", Kind::Entries(&Kind::Text), "For people; the injector does not read them.")
            .example("{team: blue}"),
        Field::new("annotations", Kind::Entries(&Kind::Text), "For people; the injector does not read them.")
            .example("{example.com/team: blue}"),
    ],
};

pub(crate) static SPEC: Table = Table {
    what: "`spec`",
    example: "{optIn: pod, pod: {labels: {team: blue}}}",
    fields: &[
        Field::new("targets", Kind::List(&Kind::Word(&RESOURCES)), "The resources that the rule changes.")
            .default("[pods]"),
        Field::new(
            "match",
            Kind::Map(&MATCH),
            "The objects that the rule applies to: every condition must hold.",
        ),
        Field::new(
            "optIn",
            Kind::Word(&OPT_IN),
            "The opt-in that the rule needs: of the namespace, of the pod, of either of them, or none (`always`).",
        )
        .default("always"),
        Field::new(
            "compatAnnotations",
            Kind::Entries(&Kind::List(&Kind::Text)),
            "Annotations of other injectors that opt in too, each with the values that opt in.",
        )
        .example("{sidecar.example.com/inject: ['yes']}"),
        Field::new("required", Kind::Boolean, "Deny pods that the rule fails to change.").default("false"),
        Field::new("order", Kind::Integer, "Rules act by rising order, then by name.").default("0"),
        Field::new(
            "onConflict",
            Kind::Word(&POLICIES),
            "What happens if the object already has another value.",
        ),
        Field::new("onError", Kind::Word(&ON_ERROR), "What happens when the rule itself fails."),
        Field::new("pod", Kind::Map(&POD), "Labels, annotations and fields of the pod."),
        Field::new("containers", Kind::List(&Kind::Map(&BLOCK)), "Fields and list items for existing containers."),
        Field::new(
            "sidecars",
            Kind::Fragment(&["spec", "containers"], Some(&CONTAINER)),
            "Containers that run beside the others.",
        )
        .example("[{name: proxy, image: 'proxy:1.2'}]"),
        Field::new(
            "initContainers",
            Kind::Fragment(&["spec", "initContainers"], Some(&INIT_CONTAINER)),
            "Containers that end before the others start.",
        )
        .example("[{name: setup, image: 'setup:1.2'}]"),
        Field::new("volumes", Kind::Fragment(&["spec", "volumes"], Some(&ITEM)), "Volumes of the pod.")
            .example("[{name: data, emptyDir: {}}]"),
        Field::new(
            "imagePullSecrets",
            Kind::Fragment(&["spec", "imagePullSecrets"], Some(&ITEM)),
            "Image pull secrets.",
        )
        .example("[{name: registry}]"),
        Field::refused("lookups", "write a handler that looks things up: see the how-to on lookups"),
        Field::new(
            "parameters",
            Kind::List(&Kind::Map(&PARAMETER)),
            "What users may set by annotations: `params.NAME` in expressions.",
        ),
        Field::new(
            "remove",
            Kind::List(&Kind::Map(&REMOVAL)),
            "Entries that the rule removes, by names and keys.",
        ),
        Field::refused("replace", "`replace` belongs beside the fields that it names"),
        Field::new("rollout", Kind::Map(&ROLLOUT), "The share of the workloads that the rule applies to."),
        Field::new(
            "securityProfile",
            Kind::Word(&SECURITY_PROFILES),
            "Fills the `securityContext` of sidecars and init containers where the rule says nothing, so that namespaces \
             under this Pod Security Standard admit them.",
        ),
        Field::new(
            "variables",
            Kind::List(&Kind::Map(&VARIABLE)),
            "Named expressions: later expressions read `variables.NAME`.",
        ),
        Field::new("when", Kind::List(&Kind::Text), "Expressions that must all hold for the rule to act.")
            .example("['namespaceObject.metadata.name != \"shop\"']"),
    ],
};

pub(crate) static RESOURCES: Choice<Resource, 7> = [
    ("pods", Resource::Pods),
    ("deployments", Resource::Deployments),
    ("statefulsets", Resource::StatefulSets),
    ("daemonsets", Resource::DaemonSets),
    ("replicasets", Resource::ReplicaSets),
    ("jobs", Resource::Jobs),
    ("cronjobs", Resource::CronJobs),
];

pub(crate) static ROLLOUT: Table = Table {
    what: "`rollout`",
    example: "{percent: 10}",
    fields: &[Field::new(
        "percent",
        Kind::Integer,
        "The share of workloads, 0 to 100; a higher share never leaves out a workload that a lower one had.",
    )
    .required()],
};

pub(crate) static OPT_IN: Choice<OptIn, 4> = [
    ("namespace", OptIn::Namespace),
    ("pod", OptIn::Pod),
    ("either", OptIn::Either),
    ("always", OptIn::Always),
];

pub(crate) static POLICIES: Choice<Policy, 4> = [
    ("keep", Policy::Keep),
    ("override", Policy::Override),
    ("skipRule", Policy::SkipRule),
    ("deny", Policy::Deny),
];

pub(crate) static SECURITY_PROFILES: Choice<(), 1> = [("restricted", ())];

pub(crate) static ON_ERROR: Choice<OnError, 2> = [("skip", OnError::Skip), ("deny", OnError::Deny)];
