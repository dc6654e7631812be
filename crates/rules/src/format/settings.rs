//! `InjectorSettings`.

use super::{Choice, Field, Kind, METADATA, Table};
use crate::settings::Mode;

pub(crate) static SETTINGS_DOCUMENT: Table = Table {
    what: "the document",
    example: concat!(
        "{apiVersion: ",
        api_version!(),
        ", kind: InjectorSettings, metadata: {name: injector}, spec: {mode: observe}}"
    ),
    fields: &[
        Field::new("apiVersion", Kind::Text, concat!("`", api_version!(), "`.")).required(),
        Field::new("kind", Kind::Text, "`InjectorSettings`.").required(),
        Field::new("metadata", Kind::Map(&METADATA), "The document's name.").required(),
        Field::new("spec", Kind::Map(&SETTINGS), "The settings for all rules.").required(),
    ],
};

pub(crate) static SETTINGS: Table = Table {
    what: "`spec` of the settings",
    example: "{mode: observe}",
    fields: &[
        Field::new(
            "mode",
            Kind::Word(&INJECTOR_MODES),
            "`off`: no rule is evaluated. `observe`: rules are evaluated and reported, but change nothing.",
        )
        .default("on"),
        Field::new(
            "exemptions",
            Kind::List(&Kind::Map(&EXEMPTION)),
            "The objects that no rule touches: every condition of an entry must hold.",
        ),
        Field::new(
            "ownNamespace",
            Kind::Word(&OWN_NAMESPACE),
            "Whether rules apply to other pods in the injector's own namespace.",
        )
        .default("skip"),
        Field::new("nativeSidecars", Kind::Boolean, "Whether `mode: auto` makes native sidecars.")
            .default("true"),
        Field::new(
            "requiredEverywhere",
            Kind::Word(&REQUIRED_EVERYWHERE),
            "Whether a required rule needs no restriction to namespaces.",
        )
        .default("refuse"),
        Field::new("successEvents", Kind::Boolean, "Whether successful injections are reported as Events.")
            .default("false"),
        Field::refused("tenantConfigs", "rules belong in the injector's own namespace"),
    ],
};

pub(crate) static EXEMPTION: Table = Table {
    what: "an exemption",
    example: "{namespaces: [shop]}",
    fields: &[
        Field::new("namespaces", Kind::List(&Kind::Text), "The names of namespaces.").example("[shop]"),
        Field::new("namespaceLabels", Kind::Entries(&Kind::Text), "Labels that the namespace must have.")
            .example("{team: blue}"),
        Field::new("objectLabels", Kind::Entries(&Kind::Text), "Labels that the object must have.")
            .example("{app: web}"),
        Field::new("users", Kind::List(&Kind::Text), "The names of users; a final `*` matches any suffix.")
            .example("['system:serviceaccount:ci:builder']"),
        Field::new("reason", Kind::Text, "The reason, for people."),
    ],
};

pub(crate) static INJECTOR_MODES: Choice<Mode, 3> =
    [("off", Mode::Off), ("observe", Mode::Observe), ("on", Mode::On)];

/// Whether rules apply to pods in the injector's own namespace.
pub(crate) static OWN_NAMESPACE: Choice<bool, 2> = [("skip", false), ("inject", true)];

/// Whether a required rule may apply to every namespace.
pub(crate) static REQUIRED_EVERYWHERE: Choice<bool, 2> = [("refuse", false), ("allow", true)];
