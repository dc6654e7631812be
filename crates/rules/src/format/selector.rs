//! `LabelSelector`, as the API server has it.

use super::{Choice, Kind, Table, field, refused, text, text_map, texts, word};
use crate::label_values::LabelOperator;

pub(crate) static LABEL_SELECTOR: Table = Table {
    what: "a label selector",
    example: "{matchLabels: {team: blue}}",
    fields: &[
        text_map("matchLabels", "Labels with the values that they must have.").example("{team: blue}"),
        field(
            "matchExpressions",
            Kind::List(&Kind::Map(&LABEL_REQUIREMENT)),
            "Requirements on labels; all of them must hold.",
        ),
        refused(
            "annotations",
            "objects are matched by labels; for an annotation by which pods ask for the rule, set \
             `optIn: pod` and, where its key is another injector's, `compatAnnotations`; for any \
             other, write a condition: `matchConditions: [{name: annotated, expression: \
             \"object.metadata.?annotations.?KEY.orValue('') == 'VALUE'\"}]`",
        ),
    ],
};

pub(crate) static LABEL_REQUIREMENT: Table = Table {
    what: "a requirement on a label",
    example: "{key: team, operator: In, values: [blue, green]}",
    fields: &[
        text("key", "The key of the label; `kubernetes.io/metadata.name` is the name of a namespace.")
            .required(),
        word(
            "operator",
            &LABEL_OPERATORS,
            "`In` and `NotIn` compare with `values`; a label that is absent meets `NotIn`.",
        )
        .required(),
        texts("values", "The values for `In` and `NotIn`.").example("[blue, green]"),
    ],
};

pub(crate) static LABEL_OPERATORS: Choice<LabelOperator, 4> = [
    ("In", LabelOperator::In),
    ("NotIn", LabelOperator::NotIn),
    ("Exists", LabelOperator::Exists),
    ("DoesNotExist", LabelOperator::DoesNotExist),
];
