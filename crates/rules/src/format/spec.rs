//! The document, and the `spec` of a rule.

use super::{
    BLOCK, CONDITION, CONTAINER, Choice, Field, INIT_CONTAINER, ITEM, Kind, MATCH, PARAMETER, POD, REMOVAL,
    REWRITE_PROBES, SETTINGS_DOCUMENT, Table, VARIABLE, field, flag, fragment, integer, map, refused,
    renamed, text, text_map, word,
};
use crate::rule::{MetadataOf, OnConflict, OnError, OptIn, Resource};

pub(crate) static INJECTION: Table = Table {
    what: "the document",
    example: concat!(
        "{apiVersion: ",
        api_version!(),
        ", kind: Injection, metadata: {name: team}, spec: {optIn: pod, pod: {labels: {team: blue}}}}"
    ),
    fields: &[
        text("apiVersion", concat!("`", api_version!(), "`.")).required(),
        text("kind", "`Injection`.").required(),
        map("metadata", &METADATA, "The document's name.").required(),
        map("spec", &SPEC, "The rule.").required(),
    ],
};

/// A rule of a namespace. Fields that are `cluster_only` are no fields of it.
pub(crate) static NAMESPACED: Table = Table {
    what: "the document",
    example: concat!(
        "{apiVersion: ",
        api_version!(),
        ", kind: NamespacedInjection, metadata: {name: team, namespace: shop}, spec: {pod: {labels: {team: blue}}}}"
    ),
    fields: &[
        text("apiVersion", concat!("`", api_version!(), "`.")).required(),
        text("kind", "`NamespacedInjection`.").required(),
        map("metadata", &NAMESPACED_METADATA, "The document's name and namespace.").required(),
        map("spec", &SPEC, "The rule: the fields of an Injection's `spec` except those that say so.")
            .example("{pod: {labels: {team: blue}}}")
            .required(),
    ],
};

pub(crate) static NAMESPACED_METADATA: Table = Table {
    what: "`metadata`",
    example: "{name: team, namespace: shop}",
    fields: &[
        text("name", "The name that opt-out keys use; messages and metrics say `NAMESPACE/NAME`.")
            .required()
            .called("metadata.name"),
        text("namespace", "The namespace whose pods the rule is for.")
            .required()
            .called("metadata.namespace"),
        LABELS,
        ANNOTATIONS,
    ],
};

const LABELS: Field =
    text_map("labels", "For people; the injector does not read them.").example("{team: blue}");

const ANNOTATIONS: Field = text_map("annotations", "For people; the injector does not read them.")
    .example("{example.com/team: blue}");

pub(crate) static METADATA: Table = Table {
    what: "`metadata`",
    example: "{name: team}",
    fields: &[
        text("name", "The name that messages, opt-in keys and metrics use.")
            .required()
            .called("metadata.name"),
        LABELS,
        ANNOTATIONS,
    ],
};

/// Whether an API server adds this field of a document or its metadata to the objects that it stores. `kubectl get --output yaml`
/// prints it, the reader ignores it, and it is no field of the format.
pub(crate) fn is_set_by_the_api_server(table: &Table, name: &str) -> bool {
    let is_one_of = |tables: &[&Table]| tables.iter().any(|one| std::ptr::eq(table, *one));
    if is_one_of(&[&METADATA, &NAMESPACED_METADATA]) {
        SERVER_METADATA.contains(&name)
    } else {
        name == "status" && is_one_of(&[&INJECTION, &NAMESPACED, &SETTINGS_DOCUMENT])
    }
}

const SERVER_METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

pub(crate) static SPEC: Table = Table {
    what: "`spec`",
    example: "{optIn: pod, pod: {labels: {team: blue}}}",
    fields: &[
        field("targets", Kind::List(&Kind::Word(&Resource::ALL)), "The resources that the rule changes.")
            .not_empty()
            .default("[pods]")
            .cluster_only(),
        map("match", &MATCH, "The objects that the rule applies to: every condition must hold."),
        word(
            "metadataOf",
            &METADATA_SOURCES,
            "For targets other than pods: the labels and annotations that `match`, the opt-in and parameters read.",
        )
        .default("podTemplate")
        .cluster_only(),
        word(
            "optIn",
            &OPT_IN,
            "The opt-in that the rule needs: of the namespace, of the pod, of either of them, or \
             none (`always`).",
        )
        .default("always")
        .cluster_only(),
        field(
            "compatAnnotations",
            Kind::Entries(&Kind::List(&Kind::Text)),
            "Annotations of other injectors that opt in too, each with the values that opt in.",
        )
        .example("{sidecar.example.com/inject: ['yes']}")
        .cluster_only(),
        flag("required", "Deny pods that the rule fails to change.").default("false").cluster_only(),
        integer("order", "Rules act by rising order, then by name.").default("0"),
        word("onConflict", &ON_CONFLICT_WORDS, "What happens if the object already has another value. Without it, it depends on the part."),
        word("onError", &ON_ERROR, "What happens when the rule itself fails. Without it: `deny` if the rule is `required`, else `skip`.")
            .cluster_only(),
        map("pod", &POD, "Labels, annotations and fields of the pod."),
        field(
            "containerPatches",
            Kind::List(&Kind::Map(&BLOCK)),
            "Changes to containers that the pod has already: fields and list items.",
        ),
        renamed("containers", "containerPatches: [{select: {all: true}, env: [{name: TARGET, value: hall}]}]"),
        fragment("sidecars", &["spec", "containers"], &CONTAINER, "Containers that run beside the others.")
            .example("[{name: proxy, image: 'proxy:1.2'}]"),
        fragment(
            "initContainers",
            &["spec", "initContainers"],
            &INIT_CONTAINER,
            "Containers that end before the others start.",
        )
        .example("[{name: setup, image: 'setup:1.2'}]"),
        fragment("volumes", &["spec", "volumes"], &ITEM, "Volumes of the pod.")
            .example("[{name: data, emptyDir: {}}]"),
        fragment("imagePullSecrets", &["spec", "imagePullSecrets"], &ITEM, "Image pull secrets.")
            .example("[{name: registry}]"),
        refused("lookups", "write a handler that looks things up: see the how-to on lookups"),
        field(
            "parameters",
            Kind::List(&Kind::Map(&PARAMETER)),
            "What users may set by annotations: `params.NAME` in expressions.",
        ),
        field(
            "remove",
            Kind::List(&Kind::Map(&REMOVAL)),
            "Entries that the rule removes, by names and keys.",
        )
        .cluster_only(),
        map(
            "rewriteProbes",
            &REWRITE_PROBES,
            "Sends the kubelet's network probes of all containers to one container, which asks the others.",
        )
        .cluster_only(),
        refused("replace", "`replace` belongs beside the fields that it names"),
        map("rollout", &ROLLOUT, "The share of the workloads that the rule applies to."),
        word(
            "securityProfile",
            &SECURITY_PROFILES,
            "Fills the `securityContext` of sidecars and init containers where the rule says \
             nothing, so that namespaces under this Pod Security Standard admit them.",
        ),
        field(
            "variables",
            Kind::List(&Kind::Map(&VARIABLE)),
            "Named expressions: later expressions read `variables.NAME`.",
        ),
        field(
            "matchConditions",
            Kind::List(&Kind::Map(&CONDITION)),
            "Conditions that must all hold for the rule to act.",
        ),
        renamed("when", "matchConditions: [{name: small, expression: size(object.spec.containers) == 1}]"),
    ],
};

pub(crate) static ROLLOUT: Table = Table {
    what: "`rollout`",
    example: "{percent: 10}",
    fields: &[integer(
        "percent",
        "The share of workloads, 0 to 100; a higher share never leaves out a workload that a \
             lower one had.",
    )
    .required()],
};

pub(crate) static METADATA_SOURCES: Choice<MetadataOf, 2> =
    [("podTemplate", MetadataOf::PodTemplate), ("workload", MetadataOf::Workload)];

pub(crate) static OPT_IN: Choice<OptIn, 4> = [
    ("namespace", OptIn::Namespace),
    ("pod", OptIn::Pod),
    ("either", OptIn::Either),
    ("always", OptIn::Always),
];

pub(crate) static ON_CONFLICT_WORDS: Choice<OnConflict, 4> = [
    ("keep", OnConflict::Keep),
    ("override", OnConflict::Override),
    ("skipRule", OnConflict::SkipRule),
    ("deny", OnConflict::Deny),
];

pub(crate) static SECURITY_PROFILES: Choice<(), 1> = [("restricted", ())];

pub(crate) static ON_ERROR: Choice<OnError, 2> = [("skip", OnError::Skip), ("deny", OnError::Deny)];
