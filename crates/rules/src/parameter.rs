//! The parameters of a rule: values with a type and bounds, which users set by annotations of a pod or its namespace.
//!
//! `load` builds a [`Parameter`] from each item of `parameters`; `evaluate` calls [`values`] before the rule's expressions.

use std::collections::BTreeMap;

use kube_cel::cel::Value;

use crate::diagnostic::Position;
use crate::duration::nanoseconds;
use crate::expression::{self, EvaluationError, Pattern, SharedBudget};
use crate::quantity::nanos;
use crate::rule::item::Clause;
use crate::subject::{ObjectMetadata, Subject};
use crate::syntax;

/// The longest text of a parameter without `max`, in characters.
const MAX_LENGTH: i128 = 1024;

/// The maximum number of annotations with the prefix of a parameter.
const MAX_ANNOTATIONS: usize = expression::MAX_EACH;

/// The end of the message for a text whose match is beyond the budget.
const UNAFFORDABLE: &str = "a text for which its pattern and those of all other rules need fewer ticks";

/// An item of `parameters`.
#[derive(Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) bounds: Bounds,
    pub(crate) default: Option<String>,
    pub(crate) annotation: Option<String>,
    /// The start of the keys of annotations. The parameter then is a map from the rest of each key to its value.
    pub(crate) prefix: Option<String>,
    pub(crate) from: AnnotationSource,
}

/// The object whose annotation gives the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnnotationSource {
    Pod,
    Namespace,
}

impl AnnotationSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Namespace => "namespace",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Duration,
    Enum,
    Int,
    Quantity,
    Text,
}

/// The values that a parameter accepts.
#[derive(Clone)]
pub(crate) struct Bounds {
    pub(crate) of: Type,
    /// The bound as it is written, and as a number.
    pub(crate) least: Option<(String, i128)>,
    pub(crate) most: Option<(String, i128)>,
    /// It must match the whole value.
    pub(crate) pattern: Option<Pattern>,
    pub(crate) values: Vec<String>,
}

/// Why a parameter has no valid value.
pub(crate) struct Invalid {
    pub(crate) clause: Clause,
    pub(crate) sentence: String,
}

/// The values of `parameters` for the object as received, from the annotations in `metadata`. Patterns are charged to `total`.
pub(crate) fn values(
    parameters: &[Parameter],
    subject: &Subject<'_>,
    metadata: &ObjectMetadata<'_>,
    total: &SharedBudget,
) -> Result<BTreeMap<String, Value>, Invalid> {
    let mut values = BTreeMap::new();
    for parameter in parameters {
        let value = parameter.value(subject, metadata, total).map_err(|sentence| {
            let clause = Clause::new(format!("parameters[{}]", parameter.name), parameter.at);
            Invalid { clause, sentence }
        })?;
        values.insert(parameter.name.clone(), value);
    }
    Ok(values)
}

impl Parameter {
    /// The type of `params.NAME` in expressions.
    pub(crate) fn expression_type(&self) -> expression::Type {
        match self.bounds.of {
            _ if self.prefix.is_some() => expression::Type::Map(Vec::new()),
            Type::Int => expression::Type::Int,
            Type::Bool => expression::Type::Bool,
            Type::Duration | Type::Enum | Type::Quantity | Type::Text => expression::Type::Text,
        }
    }

    /// The annotation of the pod that gives its value.
    pub(crate) fn pod_annotation(&self) -> Option<&str> {
        self.annotation.as_deref().filter(|_| self.from == AnnotationSource::Pod)
    }

    /// The start of the annotations of the pod that give its values.
    pub(crate) fn pod_prefix(&self) -> Option<&str> {
        self.prefix.as_deref().filter(|_| self.from == AnnotationSource::Pod)
    }

    /// A value that it accepts, if one of a few simple candidates fits.
    pub(crate) fn example(&self) -> Option<String> {
        const SOME: &str = "x true 1 1s x1 X v1.0.0 1.0.0 x.example.com x/x https://x.example.com/x 10.0.0.1";
        let Bounds { least, most, values, .. } = &self.bounds;
        let edges = [least, most].into_iter().flatten();
        let lengths = edges.clone().filter_map(|(_, length)| usize::try_from(*length).ok());
        let long = lengths.filter(|length| *length <= 1024).map(|length| "x".repeat(length));
        let some = SOME.split(' ').map(str::to_owned).chain(edges.map(|(text, _)| text.clone())).chain(long);
        let total = SharedBudget::of_a_request();
        some.chain(values.iter().cloned()).find(|text| self.bounds.value(text, &total).is_ok())
    }

    fn value(
        &self,
        subject: &Subject<'_>,
        metadata: &ObjectMetadata<'_>,
        total: &SharedBudget,
    ) -> Result<Value, String> {
        if let Some(prefix) = &self.prefix {
            return self.entries(prefix, subject, metadata, total);
        }
        let of = |key: &str| match self.from {
            AnnotationSource::Pod => metadata.annotation(key),
            AnnotationSource::Namespace => subject.facts?.annotations.get(key).map(String::as_str),
        };
        let annotated = self.annotation.as_deref().and_then(|key| Some((key, of(key)?)));
        if let Some((key, text)) = annotated {
            return self.annotation_value(key, text, total);
        }
        let Some(default) = &self.default else {
            let key = self.annotation.as_deref().unwrap_or_default();
            return Err(format!(
                "parameter `{}` has no default, and there is no annotation `{key}`",
                self.name
            ));
        };
        self.bounds
            .value(default, total)
            .map_err(|wanted| format!("parameter `{}` wants {wanted}", self.name))
    }

    /// The values of all annotations whose keys begin with `prefix`, by the rest of the key.
    fn entries(
        &self,
        prefix: &str,
        subject: &Subject<'_>,
        metadata: &ObjectMetadata<'_>,
        total: &SharedBudget,
    ) -> Result<Value, String> {
        let found: Vec<(&str, &str)> = match self.from {
            AnnotationSource::Pod => metadata.annotations_from(prefix).collect(),
            AnnotationSource::Namespace => {
                let all = subject.facts.into_iter().flat_map(|facts| &facts.annotations);
                let all = all.map(|(key, text)| (key.as_str(), text.as_str()));
                all.filter(|(key, _)| key.starts_with(prefix)).collect()
            }
        };
        let whose = self.from.as_str();
        if found.len() > MAX_ANNOTATIONS {
            let count = found.len();
            return Err(format!(
                "{count} annotations of the {whose} begin with `{prefix}`, and at most {MAX_ANNOTATIONS} may"
            ));
        }
        let mut entries = Vec::new();
        for (key, text) in found {
            let rest = key.get(prefix.len()..).unwrap_or_default();
            // The API server checks keys only after it has called webhooks.
            if let Err(wanted) = syntax::annotation_key(key) {
                return Err(format!(
                    "an annotation of the {whose} that begins with `{prefix}` wants {wanted}"
                ));
            }
            if !rest.is_empty() {
                entries.push((rest.to_owned(), self.annotation_value(key, text, total)?));
            }
        }
        Ok(expression::map(entries))
    }

    /// The value of the annotation `key`.
    fn annotation_value(&self, key: &str, text: &str, total: &SharedBudget) -> Result<Value, String> {
        let whose = self.from.as_str();
        let value = self.bounds.value(text, total);
        value.map_err(|wanted| format!("annotation `{key}` of the {whose} wants {wanted}"))
    }
}

impl Bounds {
    /// The value of `text`, or the values that are accepted, for a message.
    pub(crate) fn value(&self, text: &str, total: &SharedBudget) -> Result<Value, String> {
        total.look_through(text.len()).map_err(|_| UNAFFORDABLE.to_owned())?;
        if !self.fits(text) {
            return Err(self.accepted_values());
        }
        if let (Type::Text, Some(pattern)) = (self.of, &self.pattern) {
            total.spend(pattern.search(text.len())).map_err(|_| UNAFFORDABLE.to_owned())?;
            if !pattern.is_match(text) {
                return Err(self.accepted_values());
            }
        }
        self.read(text).ok_or_else(|| self.accepted_values())
    }

    /// The number that is compared with the bounds: the value of a number, the length of a text.
    pub(crate) fn number(of: Type, text: &str) -> Option<i128> {
        match of {
            Type::Int => text.parse::<i64>().ok().map(i128::from),
            Type::Quantity => nanos(text),
            Type::Duration => nanoseconds(text),
            Type::Text => i128::try_from(text.chars().count()).ok(),
            Type::Bool | Type::Enum => Some(0),
        }
    }

    /// Whether `text` is within the bounds. The pattern is not checked.
    fn fits(&self, text: &str) -> bool {
        let Some(number) = Self::number(self.of, text) else { return false };
        let most = self.most.as_ref().map(|(_, most)| *most);
        let most = most.or((self.of == Type::Text).then_some(MAX_LENGTH));
        self.least.as_ref().is_none_or(|(_, least)| number >= *least)
            && most.is_none_or(|most| number <= most)
            && match (self.of, &self.pattern) {
                // The kubelet expands `$(X)`, and a line break could add a line to a configuration file.
                (Type::Text, None) => !text.contains("$(") && !text.chars().any(char::is_control),
                (Type::Enum, _) => self.values.iter().any(|value| value == text),
                _ => true,
            }
    }

    fn read(&self, text: &str) -> Option<Value> {
        match self.of {
            Type::Int => text.parse().ok().map(Value::Int),
            Type::Bool => text.parse().ok().map(Value::Bool),
            Type::Duration | Type::Enum | Type::Quantity | Type::Text => Some(expression::text(text)),
        }
    }

    fn accepted_values(&self) -> String {
        let what = match self.of {
            Type::Bool => return "`true` or `false`".to_owned(),
            Type::Enum => {
                let values: Vec<String> = self.values.iter().map(|value| format!("`{value}`")).collect();
                return format!("one of {}", values.join(", "));
            }
            Type::Duration => "a duration such as `1m30s`",
            Type::Int => "a whole number",
            Type::Quantity => "a quantity such as `100m`",
            Type::Text if self.pattern.is_some() => "text that fits the rule's pattern",
            Type::Text => "text without control characters and `$(`",
        };
        let unit = if self.of == Type::Text { " characters" } else { "" };
        let default = (self.of == Type::Text).then(|| MAX_LENGTH.to_string());
        let most = self.most.as_ref().map(|(most, _)| most.clone()).or(default);
        match (self.least.as_ref().map(|(least, _)| least), most) {
            (Some(least), Some(most)) => format!("{what}, from {least} to {most}{unit}"),
            (Some(least), None) => format!("{what}, at least {least}{unit}"),
            (None, Some(most)) => format!("{what}, at most {most}{unit}"),
            (None, None) => what.to_owned(),
        }
    }
}

/// Compiles `pattern` so that it matches whole values only.
pub(crate) fn compile_anchored(pattern: &str, total: &SharedBudget) -> Result<Pattern, EvaluationError> {
    let compile = |pattern: &str| Pattern::compile(pattern, |steps| total.spend(steps));
    compile(pattern)?;
    compile(&format!(r"\A(?:{pattern})\z"))
}
