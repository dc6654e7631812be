//! `InjectorSettings`.

use super::{
    Choice, Kind, LABEL_SELECTOR, METADATA, NAMES, Table, field, flag, map, refused, renamed, text, texts,
    word,
};
use crate::settings::Mode;

pub(crate) static SETTINGS_DOCUMENT: Table = Table {
    what: "the document",
    example: concat!(
        "{apiVersion: ",
        api_version!(),
        ", kind: InjectorSettings, metadata: {name: injector}, spec: {mode: observe}}"
    ),
    fields: &[
        text("apiVersion", concat!("`", api_version!(), "`.")).required(),
        text("kind", "`InjectorSettings`.").required(),
        map("metadata", &METADATA, "The document's name.").required(),
        map("spec", &SETTINGS, "The settings for all rules.").required(),
    ],
};

pub(crate) static SETTINGS: Table = Table {
    what: "`spec` of the settings",
    example: "{mode: observe}",
    fields: &[
        word(
            "mode",
            &INJECTOR_MODES,
            "`off`: no rule is evaluated. `observe`: rules are evaluated and reported, but change nothing.",
        )
        .default("on"),
        field(
            "exemptions",
            Kind::List(&Kind::Map(&EXEMPTION)),
            "The objects that no rule touches: every condition of an entry must hold.",
        ),
        word(
            "ownNamespace",
            &OWN_NAMESPACE,
            "Whether rules apply to other pods in the injector's own namespace.",
        )
        .default("skip"),
        flag("nativeSidecars", "Whether `mode: auto` makes native sidecars.").default("true"),
        word(
            "requiredEverywhere",
            &REQUIRED_EVERYWHERE,
            "Whether a required rule needs no restriction to namespaces.",
        )
        .default("refuse"),
        flag("successEvents", "Whether successful injections are reported as Events.").default("false"),
        map(
            "namespacedInjections",
            &NAMESPACED_INJECTIONS,
            "Switches rules of namespaces (NamespacedInjections) on, and bounds them. Without it none is in force.",
        ),
        refused("tenantConfigs", "`namespacedInjections` switches rules of namespaces on"),
    ],
};

pub(crate) static NAMESPACED_INJECTIONS: Table = Table {
    what: "`namespacedInjections`",
    example: "{allowedParts: [labels, env]}",
    fields: &[
        field(
            "allowedParts",
            Kind::List(&Kind::Word(&ALLOWED_PARTS)),
            "What the rules may add to pods. Everything else is refused, above all access to the node and more privileges.",
        )
        .required(),
        field(
            "maxRulesPerNamespace",
            Kind::Integer(1, 100),
            "The number of rules that a namespace may have; the first by name count.",
        )
        .default("10"),
    ],
};

/// The words of `allowedParts`: each allows rules of namespaces to add one kind of part. No word allows host paths, ports or namespaces of the node,
/// privileges, devices, other service accounts, or changes of what a pod has.
pub(crate) static ALLOWED_PARTS: Choice<(), 11> = [
    ("annotations", ()),
    // ConfigMaps as volumes and sources of variables.
    ("configMaps", ()),
    // Variables of existing containers.
    ("env", ()),
    ("imagePullSecrets", ()),
    ("initContainers", ()),
    ("labels", ()),
    ("persistentVolumeClaims", ()),
    // Secrets as volumes and sources of variables.
    ("secrets", ()),
    ("sidecars", ()),
    // Mounts in existing containers.
    ("volumeMounts", ()),
    // Volumes of the kinds `emptyDir` and `downwardAPI`, and of other kinds that are allowed besides.
    ("volumes", ()),
];

pub(crate) static EXEMPTION: Table = Table {
    what: "an exemption",
    example: "{namespaceSelector: {matchLabels: {team: blue}}}",
    fields: &[
        map("namespaceSelector", &LABEL_SELECTOR, "The labels of the namespace."),
        map(
            "objectSelector",
            &LABEL_SELECTOR,
            "The labels of the pod, or of the pod template of a workload.",
        ),
        texts("users", "The names of users; a final `*` matches any suffix.")
            .not_empty()
            .example("['system:serviceaccount:ci:builder']"),
        text("reason", "The reason, for people."),
        renamed("namespaces", NAMES),
        renamed("namespaceLabels", "namespaceSelector: {matchLabels: {team: blue}}"),
        renamed("objectLabels", "objectSelector: {matchLabels: {app: web}}"),
    ],
};

pub(crate) static INJECTOR_MODES: Choice<Mode, 3> =
    [("off", Mode::Off), ("observe", Mode::Observe), ("on", Mode::On)];

/// Whether rules apply to pods in the injector's own namespace.
pub(crate) static OWN_NAMESPACE: Choice<bool, 2> = [("skip", false), ("inject", true)];

/// Whether a required rule may apply to every namespace.
pub(crate) static REQUIRED_EVERYWHERE: Choice<bool, 2> = [("refuse", false), ("allow", true)];
