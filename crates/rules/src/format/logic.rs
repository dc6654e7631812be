//! `parameters` and `variables`.

use super::{Choice, Field, Kind, Table};
use crate::parameter::{AnnotationSource, Type};

const ANY: Kind = Kind::Either(&[Kind::Text, Kind::Integer, Kind::Boolean]);

pub(crate) static PARAMETER: Table = Table {
    what: "a parameter",
    example: "{name: port, type: int, default: 8080, annotation: example.com/port}",
    fields: &[
        Field::new("name", Kind::Text, "The name in expressions: letters, digits and `_`.").required(),
        Field::new("type", Kind::Word(&TYPES), "The type of its values.").required(),
        Field::new("annotation", Kind::Text, "The annotation that gives the value."),
        Field::new("from", Kind::Word(&ANNOTATION_SOURCES), "The object that has the annotation.")
            .default("pod"),
        Field::new(
            "default",
            ANY,
            "The value without the annotation. Without a default, a missing annotation is an error.",
        ),
        Field::new("min", ANY, "The least number, quantity or duration, or the fewest characters."),
        Field::new("max", ANY, "The greatest number, quantity or duration, or the most characters."),
        Field::new("pattern", Kind::Text, "The regular expression that the whole text must match."),
        Field::new("values", Kind::List(&ANY), "The possible values of an `enum`.").example("[debug, info]"),
    ],
};

pub(crate) static VARIABLE: Table = Table {
    what: "a variable",
    example: "{name: team, expr: namespaceObject.metadata.name}",
    fields: &[
        Field::new("name", Kind::Text, "The name in expressions: letters, digits and `_`.").required(),
        Field::new("expr", Kind::Text, "The expression; it is evaluated when it is used.").required(),
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
