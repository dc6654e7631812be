//! Reads `parameters`.

use super::expressions::MAX_NAMES;
use super::reader::Reader;
use crate::diagnostic;
use crate::expression::Pattern;
use crate::format;
use crate::parameter::{AnnotationSource, Bounds, Parameter, Type, compile_anchored};
use crate::syntax;
use crate::yaml::Node;

impl Reader {
    pub(super) fn parameters(&mut self, spec: &Node) {
        for node in spec.get("parameters").map(|node| self.list(node, "parameters")).unwrap_or_default() {
            if self.logic.parameters.len() >= MAX_NAMES {
                self.bad_parameter(
                    node,
                    &format!("a rule has at most {MAX_NAMES} parameters"),
                    String::new(),
                );
                break;
            }
            let Some(parameter) = self.parameter(node) else { continue };
            if self.logic.parameters.iter().any(|other| other.name == parameter.name) {
                let message = format!("parameter `{}` exists already", parameter.name);
                self.error(&diagnostic::DUPLICATE_NAME, parameter.at, message);
            }
            let asks = parameter.from == AnnotationSource::Namespace && parameter.annotation.is_some();
            self.logic.reads.namespace |= asks;
            self.logic.parameters.push(parameter);
        }
    }

    fn parameter(&mut self, node: &Node) -> Option<Parameter> {
        self.fields(node, &format::PARAMETER);
        let (name, kind) = (node.get("name")?, node.get("type")?);
        let (at, name) = (name.at(), self.identifier(name)?);
        let of = self.word(kind, "type", &format::TYPES)?;
        let bounds = self.bounds(node, of);
        let default = node.get("default").and_then(|node| self.text(node, "default"));
        if let (Some(default), Some(node)) = (default, node.get("default"))
            && let Err(wanted) = bounds.value(default, &self.total)
        {
            self.bad_parameter(node, "the default cannot be used", format!("wanted: {wanted}"));
        }
        let annotation = node.get("annotation").and_then(|node| self.text(node, "annotation"));
        if let (Some(annotation), Some(node)) = (annotation, node.get("annotation")) {
            self.check_format(
                syntax::label_key(annotation),
                "no object can have an annotation with this key",
                node.at(),
            );
        }
        if default.is_none() && annotation.is_none() {
            let message = format!("parameter `{name}` has neither an annotation nor a default");
            self.bad_parameter(node, &message, String::new());
        }
        let from = node.get("from").and_then(|node| self.word(node, "from", &format::ANNOTATION_SOURCES));
        Some(Parameter {
            name,
            at,
            bounds,
            default: default.map(str::to_owned),
            annotation: annotation.map(str::to_owned),
            from: from.unwrap_or(AnnotationSource::Pod),
        })
    }

    fn bounds(&mut self, node: &Node, of: Type) -> Bounds {
        for (field, fits) in [
            ("min", !matches!(of, Type::Bool | Type::Enum)),
            ("max", !matches!(of, Type::Bool | Type::Enum)),
            ("pattern", of == Type::Text),
            ("values", of == Type::Enum),
        ] {
            if let Some(node) = node.get(field).filter(|_| !fits) {
                self.bad_parameter(node, &format!("`{field}` does not apply to this type"), String::new());
            }
        }
        let mut bound = |field: &str| {
            let node = node.get(field)?;
            let text = self.text(node, field)?;
            let measured = if of == Type::Text { Type::Int } else { of };
            let number = Bounds::number(measured, text);
            if number.is_none() {
                self.bad_parameter(node, &format!("`{field}` is not a value of this type"), String::new());
            }
            Some((text.to_owned(), number?))
        };
        let (least, most) = (bound("min"), bound("max"));
        if let (Some((_, least)), Some((_, most)), Some(node)) = (&least, &most, node.get("min"))
            && least > most
        {
            self.bad_parameter(node, "`min` is more than `max`", String::new());
        }
        let values = node.get("values").map(|node| self.texts(node, "values")).unwrap_or_default();
        if of == Type::Enum && values.is_empty() {
            self.bad_parameter(node, "an enum needs `values`", String::new());
        }
        Bounds { of, least, most, pattern: self.pattern(node), values }
    }

    fn pattern(&mut self, node: &Node) -> Option<Pattern> {
        let node = node.get("pattern")?;
        let text = self.text(node, "pattern")?;
        match compile_anchored(text, &self.total) {
            Ok(pattern) => Some(pattern),
            Err(trouble) => {
                self.error(&diagnostic::BAD_PATTERN, node.at(), trouble.sentence());
                None
            }
        }
    }

    fn bad_parameter(&mut self, node: &Node, message: &str, help: String) {
        match help.as_str() {
            "" => self.error(&diagnostic::BAD_PARAMETER, node.at(), message),
            _ => self.error_with_help(&diagnostic::BAD_PARAMETER, node.at(), message, help),
        }
    }
}
