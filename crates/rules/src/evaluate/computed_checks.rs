//! The checks of values that expressions compute: the same as those of written values.

use std::sync::Arc;

use vestibule_patch::Schema;

use crate::diagnostic::Position;
use crate::expression::EvaluationError;
use crate::merge::{Failure, invalid};
use crate::overlay::Overlay;
use crate::pod::Shape;
use crate::pod_types::{type_error, unknown_member};
use crate::rule::{Base, Clause, Item, PartDestination};
use crate::syntax;

/// Refuses a member of the computed `value` of the field `name` that pods do not have. Its name may be a value of the object.
pub(super) fn check_fields(
    item: &Item,
    value: &Overlay,
    name: &str,
    schema: Schema<'_>,
) -> Result<(), Failure> {
    let found = item.overlay.is_dynamic().then(|| unknown_member(value, name, schema)).flatten();
    found.map_or(Ok(()), |(name, _)| {
        let sentence = format!("`{name}` has a field that pods do not have");
        Err(invalid(&item.clause, sentence))
    })
}

/// Checks the computed `value` as a written one: an item of a list, or else the value of the map or list of `destination`.
pub(super) fn check_types(
    destination: &PartDestination<'_>,
    item: &Item,
    value: &Overlay,
    shape: &Shape,
) -> Result<(), Failure> {
    if !item.overlay.is_dynamic() {
        return Ok(());
    }
    let schema = destination.schema(shape);
    let (field, schema, whole) = match (destination.list, destination.base) {
        (Some(list), _) => (list, schema.item(), value.clone()),
        (None, Base::Metadata) => return Ok(()),
        (None, base) => {
            let nested = |below, name: &str| Overlay::map([(name.to_owned(), below)]);
            let whole = destination.path().rev().fold(value.clone(), nested);
            match base {
                Base::Spec => ("pod.spec", shape.spec, whole),
                _ => ("containerPatches", shape.container, whole),
            }
        }
    };
    let ports = if field == "ports" { std::slice::from_ref(&whole) } else { whole.items_of("ports") };
    let named = ports.iter().filter_map(|port| port.text("name")).try_for_each(syntax::port);
    let invalid_port = named.err().map(|wanted| format!("the name of a port wants {wanted}"));
    match invalid_port.or_else(|| type_error(field, &whole, schema)) {
        Some(sentence) => Err(invalid(&item.clause, sentence)),
        None => Ok(()),
    }
}

/// The failure of the expression at `at` within the clause with this text.
pub(super) fn failure(clause: &Arc<str>, at: Position, error: &EvaluationError) -> Failure {
    let sentence = format!("`{clause}`: {}", error.sentence());
    invalid(&Clause::new(Arc::clone(clause), at), sentence)
}
