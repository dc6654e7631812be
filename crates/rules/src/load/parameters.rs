//! Reads `parameters`.

use super::expressions::MAX_NAMES;
use super::reader::Reader;
use crate::diagnostic::{BAD_PARAMETER, BAD_PATTERN, DUPLICATE_NAME};
use crate::expression::Pattern;
use crate::format::{self, chosen};
use crate::merge::DEFAULT_CONTAINER;
use crate::parameter::{AnnotationSource, Bounds, Parameter, Type, compile_anchored};
use crate::syntax;
use crate::well_known::{PROBES_ANNOTATION, STATUS_ANNOTATION};
use crate::yaml::Node;

/// Annotations of pods that the injector itself writes: a second evaluation would find another value.
const OWN_ANNOTATIONS: &[&str] = &[STATUS_ANNOTATION, PROBES_ANNOTATION, DEFAULT_CONTAINER];

impl Reader {
    pub(super) fn parameters(&mut self, spec: &Node) {
        for node in spec.items("parameters") {
            if self.logic.parameters.len() >= MAX_NAMES {
                let message = format!("a rule has at most {MAX_NAMES} parameters");
                self.error(&BAD_PARAMETER, node.at(), message, "");
                break;
            }
            let Some(parameter) = self.parameter(node) else { continue };
            if self.logic.parameters.iter().any(|other| other.name == parameter.name) {
                let message = format!("parameter `{}` exists already", parameter.name);
                self.error(&DUPLICATE_NAME, parameter.at, message, "");
            }
            let reads = parameter.annotation.is_some() || parameter.prefix.is_some();
            let asks = parameter.from == AnnotationSource::Namespace && reads;
            self.logic.reads.namespace |= asks;
            self.logic.parameters.push(parameter);
        }
    }

    fn parameter(&mut self, node: &Node) -> Option<Parameter> {
        self.fields(node, &format::PARAMETER);
        let (at, name) = (node.get("name")?.at(), self.identifier(node)?);
        let of = chosen(node, "type", &format::TYPES)?;
        let bounds = self.bounds(node, of);
        let default = node.text("default");
        if let (Some(text), Some(node)) = (default, node.get("default"))
            && let Err(wanted) = bounds.value(text, &self.total)
        {
            let help = format!("wanted: {wanted}");
            self.error(&BAD_PARAMETER, node.at(), "the default cannot be used", help);
        }
        let annotation = node.text("annotation");
        if let (Some(key), Some(node)) = (annotation, node.get("annotation")) {
            let message = "no object can have an annotation with this key";
            self.check_format(syntax::annotation_key(key), message, node.at());
        }
        let prefix = node.text("annotationPrefix");
        if let (Some(prefix), Some(node)) = (prefix, node.get("annotationPrefix")) {
            let message = "no annotation can have a key that begins with this";
            self.check_format(syntax::annotation_key(&format!("{prefix}x")), message, node.at());
        }
        if default.is_none() && annotation.is_none() && prefix.is_none() {
            let message = format!("parameter `{name}` has neither an annotation nor a default");
            self.error(&BAD_PARAMETER, node.at(), message, "");
        }
        for (field, help) in [
            ("annotation", "declare two parameters"),
            ("default", "without annotations the parameter is an empty map"),
        ] {
            if let Some(node) = node.get(field).filter(|_| prefix.is_some()) {
                let message = format!("`{field}` does not apply to a parameter with `annotationPrefix`");
                self.error(&BAD_PARAMETER, node.at(), message, help);
            }
        }
        let from = chosen(node, "from", &format::ANNOTATION_SOURCES).unwrap_or(AnnotationSource::Pod);
        for field in ["annotation", "annotationPrefix"] {
            let reads = |own: &&&str| match field {
                "annotation" => annotation == Some(**own),
                _ => prefix.is_some_and(|prefix| own.starts_with(prefix)),
            };
            if let (Some(own), Some(node)) = (OWN_ANNOTATIONS.iter().find(reads), node.get(field))
                && from == AnnotationSource::Pod
            {
                let message = format!("the parameter reads `{own}`, which the injector itself writes");
                self.error(&BAD_PARAMETER, node.at(), message, "read an annotation that only users write");
            }
        }
        Some(Parameter {
            name,
            at,
            bounds,
            default: default.map(str::to_owned),
            annotation: annotation.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            from,
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
                let message = format!("`{field}` does not apply to this type");
                self.error(&BAD_PARAMETER, node.at(), message, "");
            }
        }
        let mut bound = |field: &str| {
            let (node, text) = (node.get(field)?, node.text(field)?);
            let measured = if of == Type::Text { Type::Int } else { of };
            let number = Bounds::number(measured, text);
            if number.is_none() {
                let message = format!("`{field}` is not a value of this type");
                self.error(&BAD_PARAMETER, node.at(), message, "");
            }
            Some((text.to_owned(), number?))
        };
        let (least, most) = (bound("min"), bound("max"));
        if let (Some((_, least)), Some((_, most)), Some(node)) = (&least, &most, node.get("min"))
            && least > most
        {
            self.error(&BAD_PARAMETER, node.at(), "`min` is more than `max`", "");
        }
        let values = node.texts("values");
        if of == Type::Enum && values.is_empty() {
            self.error(&BAD_PARAMETER, node.at(), "an enum needs `values`", "");
        }
        Bounds { of, least, most, pattern: self.pattern(node), values }
    }

    fn pattern(&mut self, node: &Node) -> Option<Pattern> {
        let (node, text) = (node.get("pattern")?, node.text("pattern")?);
        match compile_anchored(text, &self.total) {
            Ok(pattern) => Some(pattern),
            Err(trouble) => {
                self.error(&BAD_PATTERN, node.at(), trouble.sentence(), "");
                None
            }
        }
    }
}
