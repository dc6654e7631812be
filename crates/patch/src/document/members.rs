//! The members of one object.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ecow::{EcoString, EcoVec};

use super::{Node, Written};
use crate::text;

/// Lookups compare member by member up to this many members, and beyond that for the first eight lookups; then an index is built.
const FEW: usize = 8;
const SMALL: usize = 64;

/// The members of an opened object, in their order. A clone shares them until one of the two changes them.
#[derive(Clone)]
pub(crate) struct Members<'a> {
    /// A removed member leaves a hole.
    list: EcoVec<Option<Member<'a>>>,
    /// The lookups of an object with more than [`SMALL`] members; [`None`] before the first one.
    lookups: Option<Arc<Lookups>>,
}

/// The lookups in a large object. With the index, as many operations as there are members take time in proportion to their number.
#[derive(Clone, Default)]
struct Lookups {
    /// The number of lookups before there was an index.
    without_index: usize,
    /// The position of each name.
    index: Option<HashMap<String, usize>>,
}

#[derive(Clone)]
pub(crate) struct Member<'a> {
    /// The text of the name, with quotes and escapes.
    pub(crate) name: Written<'a>,
    pub(crate) value: Node<'a>,
    /// The [`letter`](text::letter) of its name, by which most other names are told apart.
    letter: u8,
}

impl<'a> Members<'a> {
    pub(super) fn new(members: impl Iterator<Item = Member<'a>>) -> Self {
        let mut list = EcoVec::with_capacity(16);
        members.for_each(|member| list.push(Some(member)));
        Self { list, lookups: None }
    }

    /// Whether no clone shares the members.
    pub(super) fn is_unique(&mut self) -> bool {
        self.list.is_unique()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member<'a>> {
        self.list.iter().flatten()
    }

    /// The members with the holes.
    pub(super) fn slots(&self) -> std::slice::Iter<'_, Option<Member<'a>>> {
        self.list.iter()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Node<'a>> {
        self.list.make_mut().iter_mut().flatten().map(|member| &mut member.value)
    }

    /// The value of the last member of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Node<'a>> {
        let place = match self.index() {
            Some(index) => index.get(name).copied(),
            None => self.last(name),
        };
        self.list.get(place?)?.as_ref().map(|member| &member.value)
    }

    /// The mutable value of the last member of this name.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node<'a>> {
        let place = self.find(name)?;
        self.list.make_mut().get_mut(place)?.as_mut().map(|member| &mut member.value)
    }

    /// Replaces the value of a member, or appends the member.
    pub(super) fn set(&mut self, name: &str, value: Node<'a>) {
        if let Some(there) = self.get_mut(name) {
            *there = value;
            return;
        }
        let place = self.list.len();
        if let Some(index) = self.index_mut() {
            index.insert(name.to_owned(), place);
        }
        let mut written = EcoString::with_capacity(name.len() + 2);
        text::quote(name, |part| written.push_str(part));
        let letter = text::letter(&written);
        self.list.push(Some(Member::new(Written::Copied(written), letter, value)));
    }

    /// Removes all duplicates of a member: otherwise an earlier one would become visible.
    pub(super) fn remove(&mut self, name: &str) -> Option<Node<'a>> {
        let place = self.find(name)?;
        let removed = self.list.make_mut().get_mut(place)?.take();
        match self.index_mut() {
            Some(index) => drop(index.remove(name)),
            None => self
                .list
                .make_mut()
                .iter_mut()
                .for_each(|there| drop(there.take_if(|member| member.is(name)))),
        }
        removed.map(|member| member.value)
    }

    /// Builds the index of an object with many members for lookups that change nothing. An object with duplicate members gets
    /// none.
    pub(super) fn prepare(&mut self) {
        if self.list.len() <= SMALL || self.index().is_some() {
            return;
        }
        let names = self
            .list
            .iter()
            .enumerate()
            .filter_map(|(place, there)| Some((there.as_ref()?.plain_name().into_owned(), place)));
        let index: HashMap<String, usize> = names.collect();
        if index.len() == self.iter().count() {
            self.lookups = Some(Arc::new(Lookups { without_index: 0, index: Some(index) }));
        }
    }

    fn find(&mut self, name: &str) -> Option<usize> {
        if self.list.len() > SMALL && self.index().is_none() {
            let lookups = Arc::make_mut(self.lookups.get_or_insert_default());
            lookups.without_index += 1;
            if lookups.without_index > FEW {
                lookups.index = Some(last_places(self.list.make_mut()));
            }
        }
        self.index().map_or_else(|| self.last(name), |index| index.get(name).copied())
    }

    fn index(&self) -> Option<&HashMap<String, usize>> {
        self.lookups.as_ref()?.index.as_ref()
    }

    fn index_mut(&mut self) -> Option<&mut HashMap<String, usize>> {
        Arc::make_mut(self.lookups.as_mut()?).index.as_mut()
    }

    fn last(&self, name: &str) -> Option<usize> {
        let letters = text::letters(name);
        let may_be = |member: &&Member<'_>| letters.contains(&member.letter);
        self.list
            .iter()
            .rposition(|there| there.as_ref().filter(may_be).is_some_and(|member| member.is(name)))
    }
}

/// The position of each name; of duplicate members only the last one stays.
fn last_places(list: &mut [Option<Member<'_>>]) -> HashMap<String, usize> {
    let mut places = HashMap::with_capacity(list.len());
    for place in 0..list.len() {
        let Some(Some(member)) = list.get(place) else { continue };
        if let Some(before) = places.insert(member.plain_name().into_owned(), place) {
            list[before] = None;
        }
    }
    places
}

impl<'a> Member<'a> {
    /// A member whose name has this [`letter`](text::letter).
    pub(super) fn new(name: Written<'a>, letter: u8, value: Node<'a>) -> Self {
        Self { name, value, letter }
    }

    /// Its name, unescaped.
    pub(crate) fn plain_name(&self) -> Cow<'_, str> {
        text::meaning(&self.name, self.letter)
    }

    fn is(&self, name: &str) -> bool {
        text::means(&self.name, self.letter, name)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, Pointer};

    #[test]
    fn many_members_are_found_by_name_and_doubled_ones_stay() {
        for doubled in ["", r#","m7":"last""#] {
            let members: Vec<_> = (0..100).map(|n| format!(r#""m{n}":{n}"#)).collect();
            let text = format!("{{{}{doubled}}}", members.join(","));
            let mut document = Document::parse(&text).unwrap();
            document.open(&Pointer::root());
            assert_eq!(document.to_json(), text);
            let found = |name: &str| Some(document.view().get(name)?.to_json().into_owned());
            let seventh = if doubled.is_empty() { "7" } else { r#""last""# };
            assert_eq!((found("m7").as_deref(), found("m99").as_deref()), (Some(seventh), Some("99")));
            assert_eq!(found("m100"), None);
        }
    }
}
