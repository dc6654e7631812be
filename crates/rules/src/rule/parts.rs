//! The one walk over the parts of a rule: every added item with its location in the pod.

use vestibule_patch::Schema;

use super::{Block, Injected, Item, Part, Rule, Select};
use crate::pod::Shape;

/// The object that a part is added to.
#[derive(Clone, Copy)]
pub(crate) enum Base<'r> {
    Metadata,
    /// The pod's specification.
    Spec,
    /// Each container that the block of this number selects.
    Containers(usize, &'r Select),
}

/// The list or map that a part is added to.
#[derive(Clone, Copy)]
pub(crate) struct PartDestination<'r> {
    pub(crate) base: Base<'r>,
    /// The list of the base, for volumes, injected containers and the lists of a block.
    pub(crate) list: Option<&'static str>,
    /// The path below the base, for all other parts.
    members: &'r [String],
    /// Whether the part is an item of a list; otherwise it is a member of a map.
    pub(crate) is_item: bool,
}

impl<'r> PartDestination<'r> {
    /// The members that lead from the base to the list or map.
    pub(crate) fn path(&self) -> impl DoubleEndedIterator<Item = &'r str> + use<'r> {
        self.list.into_iter().chain(self.members.iter().map(String::as_str))
    }

    /// The name of the list or map.
    pub(crate) fn name(&self) -> &'r str {
        self.path().next_back().unwrap_or_default()
    }

    /// The schema of the list or map.
    pub(crate) fn schema<'s>(&self, shape: &'s Shape) -> Schema<'s> {
        let base = match self.base {
            Base::Metadata => shape.metadata,
            Base::Spec => shape.spec,
            Base::Containers(..) => shape.container,
        };
        self.path().fold(base, Schema::field)
    }

    fn in_list(base: Base<'r>, list: &'static str) -> Self {
        Self { base, list: Some(list), members: &[], is_item: true }
    }

    fn at(base: Base<'r>, members: &'r [String], is_item: bool) -> Self {
        Self { base, list: None, members, is_item }
    }
}

impl Rule {
    /// Every item that the rule adds, in the order of the format.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (PartDestination<'_>, &Item)> {
        let metadata = self.metadata.iter().map(|part| part.located(Base::Metadata, ""));
        let spec = self.spec.iter().map(|part| part.located(Base::Spec, ""));
        let volumes = self.volumes.iter().map(|item| item.located(Base::Spec, "volumes"));
        let injected = self.injected.iter().map(|one| one.located(Base::Spec, ""));
        let blocks = self.blocks.iter().enumerate().flat_map(|(number, block)| block.parts(number));
        metadata.chain(spec).chain(volumes).chain(injected).chain(blocks)
    }

    /// Calls `copies` with every item, and puts the items that it returns, if any, in the place of that item. After an error the rule
    /// lacks items.
    pub(crate) fn replace_parts<E>(
        &mut self,
        mut copies: impl FnMut(PartDestination<'_>, &Item) -> Result<Option<Vec<Copied>>, E>,
    ) -> Result<(), E> {
        replace(&mut self.metadata, Base::Metadata, "", &mut copies)?;
        replace(&mut self.spec, Base::Spec, "", &mut copies)?;
        replace(&mut self.volumes, Base::Spec, "volumes", &mut copies)?;
        replace(&mut self.injected, Base::Spec, "", &mut copies)?;
        for (number, Block { select, lists, parts }) in self.blocks.iter_mut().enumerate() {
            let base = Base::Containers(number, select);
            lists.iter_mut().try_for_each(|list| replace(&mut list.items, base, list.member, &mut copies))?;
            replace(parts, base, "", &mut copies)?;
        }
        Ok(())
    }
}

/// An item in the place of another one.
pub(crate) struct Copied {
    /// The members that lead from the map or list of that item to the map or list of this one.
    pub(crate) below: Vec<String>,
    /// Whether it is an item of a list, if that differs.
    pub(crate) listed: Option<bool>,
    pub(crate) item: Item,
}

impl Copied {
    /// `item` in exactly the place of the other one.
    pub(crate) fn in_place(item: Item) -> Self {
        Self { below: Vec::new(), listed: None, item }
    }
}

/// A part with an item of the pod.
trait HasItem: Sized {
    /// The item and its destination. `list` is for items that do not know their list.
    fn located<'r>(&'r self, base: Base<'r>, list: &'static str) -> (PartDestination<'r>, &'r Item);
    /// The same part with another item.
    fn with_item(&self, copy: Copied) -> Self;
}

impl HasItem for Item {
    fn located<'r>(&'r self, base: Base<'r>, list: &'static str) -> (PartDestination<'r>, &'r Item) {
        (PartDestination::in_list(base, list), self)
    }

    fn with_item(&self, copy: Copied) -> Self {
        copy.item
    }
}

impl HasItem for Part {
    fn located<'r>(&'r self, base: Base<'r>, _: &'static str) -> (PartDestination<'r>, &'r Item) {
        (PartDestination::at(base, &self.path, self.listed), &self.item)
    }

    fn with_item(&self, Copied { below, listed, item }: Copied) -> Self {
        Self { path: [&*self.path, &*below].concat(), listed: listed.unwrap_or(self.listed), item }
    }
}

impl HasItem for Injected {
    fn located<'r>(&'r self, base: Base<'r>, _: &'static str) -> (PartDestination<'r>, &'r Item) {
        (PartDestination::in_list(base, self.list), &self.item)
    }

    fn with_item(&self, copy: Copied) -> Self {
        let Self { list, ref position, position_at, strict, regular, .. } = *self;
        Self { item: copy.item, list, position: position.clone(), position_at, strict, regular }
    }
}

impl Block {
    fn parts(&self, number: usize) -> impl Iterator<Item = (PartDestination<'_>, &Item)> {
        let base = Base::Containers(number, &self.select);
        let lists = self
            .lists
            .iter()
            .flat_map(move |list| list.items.iter().map(move |item| item.located(base, list.member)));
        lists.chain(self.parts.iter().map(move |part| part.located(base, "")))
    }
}

fn replace<T: HasItem, E>(
    all: &mut Vec<T>,
    base: Base<'_>,
    list: &'static str,
    copies: &mut impl FnMut(PartDestination<'_>, &Item) -> Result<Option<Vec<Copied>>, E>,
) -> Result<(), E> {
    let mut replaced = Vec::with_capacity(all.len());
    for one in all.drain(..) {
        let (destination, item) = one.located(base, list);
        match copies(destination, item)? {
            Some(copied) => replaced.extend(copied.into_iter().map(|copy| one.with_item(copy))),
            None => replaced.push(one),
        }
    }
    *all = replaced;
    Ok(())
}
