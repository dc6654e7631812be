//! Reads `forEach` of items of lists.

use std::sync::Arc;

use vestibule_patch::List;

use super::expressions::KNOWN_BEFORE;
use super::reader::Reader;
use crate::diagnostic::{EXPRESSION_PLACE, SAME_ITEMS};
use crate::expression::{Expression, FOR_EACH, Type};
use crate::overlay::{Loop, Overlay};
use crate::pod;
use crate::yaml::Node;

impl Reader {
    /// Reads `node`, an item of the list `name`, by `read`. If the item has `forEach`, its expressions may name `each`.
    pub(super) fn repeated(
        &mut self,
        node: &Node,
        name: &str,
        list: List,
        read: impl FnOnce(&mut Self) -> Option<Overlay>,
    ) -> Option<Overlay> {
        let Some(written) = node.get(FOR_EACH) else { return read(self) };
        let outer = self.each.take();
        if outer.is_some() {
            let help = "let one expression make the list of all pairs, with `map` and `flatten`";
            self.error(&EXPRESSION_PLACE, written.at(), "`forEach` within an item that has `forEach`", help);
        }
        let over = self.range(written);
        // Without a type, `each` is known all the same, so that its readers are not reported as well.
        self.each = Some(over.as_ref().map_or(Type::Any, |(_, each)| each.clone()));
        let item = read(self);
        self.each = outer;
        let ((over, _), item) = (over?, item?);
        if let Some(member) = same_member(&item, name, list) {
            let message = format!("`{member}` is the same in all items of this `forEach`");
            let help = "let its expression read `each`, or move `forEach` to the list that differs";
            self.error(&SAME_ITEMS, written.at(), message, help);
        } else if !reads_each(&item) {
            let message = "all items of this `forEach` are the same";
            self.error(&SAME_ITEMS, written.at(), message, "let an expression read `each`");
        }
        let size = item.size();
        Some(Overlay::Loop(Arc::new(Loop { over, item, size })))
    }

    /// The expression of `forEach`, and the type of `each`.
    fn range(&mut self, node: &Node) -> Option<(Expression, Type)> {
        // How many items there are decides about their keys.
        self.logic.dynamic = true;
        self.logic.computes_keys = true;
        let over = self.compiled(node, FOR_EACH)?;
        if over.reads.object {
            let message = "`forEach` reads the object, which rules change";
            let help = "annotations of the pod come by a parameter with `annotationPrefix`; ";
            self.error(&EXPRESSION_PLACE, node.at(), message, format!("{help}{KNOWN_BEFORE}"));
        }
        match over.type_of_each() {
            Ok(each) => Some((over, each)),
            Err(mismatch) => {
                self.report_mismatch(node, &mismatch);
                None
            }
        }
    }
}

/// A member of `item` that has to differ from that of the other items of the list `name`, and does not read `each`.
fn same_member(item: &Overlay, name: &str, list: List) -> Option<&'static str> {
    let reads = |member: &str| item.get(member).is_some_and(reads_each);
    if let Some(keys) = pod::item_keys(name, list)
        && !keys.iter().any(|key| reads(key.name))
    {
        return keys.first().map(|key| key.name);
    }
    let same = |member: &str, beside: &[&str]| {
        item.get(member).is_some() && !reads(member) && !beside.iter().copied().any(reads)
    };
    pod::distinct(name).find(|(member, beside)| same(member, beside)).map(|(member, _)| member)
}

fn reads_each(value: &Overlay) -> bool {
    value.contains(&|value| matches!(value, Overlay::Expression(expression) if expression.reads.each))
}
