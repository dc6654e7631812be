//! `parameters`, `variables` and `matchConditions`.

use super::{Choice, Kind, Table, field, renamed, text, word};
use crate::parameter::{AnnotationSource, Type};

const ANY: Kind = Kind::Either(&[Kind::Text, Kind::Integer(i64::MIN, i64::MAX), Kind::Boolean]);

pub(crate) static PARAMETER: Table = Table {
    what: "a parameter",
    example: "{name: port, type: int, default: 8080, annotation: example.com/port}",
    fields: &[
        text("name", "The name in expressions: letters, digits and `_`.").required(),
        word("type", &TYPES, "The type of its values.").required(),
        text("annotation", "The annotation that gives the value."),
        text(
            "annotationPrefix",
            "The start of the keys of annotations that give values: the parameter is a map from the rest of each key to the value.",
        ),
        word("from", &ANNOTATION_SOURCES, "The object that has the annotation.").default("pod"),
        field(
            "default",
            ANY,
            "The value without the annotation. Without a default, a missing annotation is an error.",
        ),
        field("min", ANY, "The least number, quantity or duration, or the fewest characters."),
        field("max", ANY, "The greatest number, quantity or duration, or the most characters."),
        text("pattern", "The regular expression that the whole text must match."),
        field("values", Kind::List(&ANY), "The possible values of an `enum`.").example("[debug, info]"),
    ],
};

pub(crate) static VARIABLE: Table = Table {
    what: "a variable",
    example: "{name: team, expression: namespaceObject.metadata.name}",
    fields: &[
        text("name", "The name in expressions: letters, digits and `_`.").required(),
        field("expression", Kind::Expression, "The expression; it is evaluated when it is used.").required(),
        renamed("expr", "expression: namespaceObject.metadata.name"),
    ],
};

pub(crate) static CONDITION: Table = Table {
    what: "a match condition",
    example: "{name: not-in-the-shop, expression: 'namespaceObject.metadata.name != \"shop\"'}",
    fields: &[
        text("name", "The name in explanations and reasons.").required(),
        field("expression", Kind::Expression, "The condition: an expression that is true or false.")
            .required(),
    ],
};

pub(crate) static TYPES: Choice<Type, 6> = [
    ("bool", Type::Bool),
    ("duration", Type::Duration),
    ("enum", Type::Enum),
    ("int", Type::Int),
    ("quantity", Type::Quantity),
    ("string", Type::Text),
];

pub(crate) static ANNOTATION_SOURCES: Choice<AnnotationSource, 2> =
    [("pod", AnnotationSource::Pod), ("namespace", AnnotationSource::Namespace)];
