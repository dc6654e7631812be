//! The members of one object.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Node, Written};
use crate::text;

/// Lookups compare member by member up to this many members, and beyond that for the first eight lookups; then an index is built.
const FEW: usize = 8;
const SMALL: usize = 64;

/// The members of an opened object, in their order. With the index, as many operations as there are members take time in
/// proportion to their number.
#[derive(Clone)]
pub(crate) struct Members<'a> {
    /// A removed member leaves a hole.
    list: Vec<Option<Member<'a>>>,
    /// The position of each name, once many lookups were made.
    places: Option<HashMap<String, usize>>,
    lookups: usize,
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
        let mut list = Vec::with_capacity(16);
        list.extend(members.map(Some));
        Self { list, places: None, lookups: 0 }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member<'a>> {
        self.list.iter().flatten()
    }

    /// The members with the holes.
    pub(super) fn slots(&self) -> std::slice::Iter<'_, Option<Member<'a>>> {
        self.list.iter()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Node<'a>> {
        self.list.iter_mut().flatten().map(|member| &mut member.value)
    }

    /// The value of the last member of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Node<'a>> {
        let place = match &self.places {
            Some(places) => places.get(name).copied(),
            None => self.last(name),
        };
        self.list.get(place?)?.as_ref().map(|member| &member.value)
    }

    /// The mutable value of the last member of this name.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node<'a>> {
        let place = self.find(name)?;
        self.list.get_mut(place)?.as_mut().map(|member| &mut member.value)
    }

    /// Replaces the value of a member, or appends the member.
    pub(super) fn set(&mut self, name: &str, value: Node<'a>) {
        if let Some(there) = self.get_mut(name) {
            *there = value;
            return;
        }
        if let Some(places) = &mut self.places {
            places.insert(name.to_owned(), self.list.len());
        }
        let name = text::quote(name);
        self.list.push(Some(Member::new(Written::Copied(name.as_str().into()), text::letter(&name), value)));
    }

    /// Removes all duplicates of a member: otherwise an earlier one would become visible.
    pub(super) fn remove(&mut self, name: &str) -> Option<Node<'a>> {
        let place = self.find(name)?;
        let removed = self.list.get_mut(place)?.take();
        match &mut self.places {
            Some(places) => drop(places.remove(name)),
            None => self.list.iter_mut().for_each(|there| drop(there.take_if(|member| member.is(name)))),
        }
        removed.map(|member| member.value)
    }

    /// Builds the index of an object with many members for lookups that change nothing. An object with duplicate members gets
    /// none.
    pub(super) fn prepare(&mut self) {
        if self.list.len() <= SMALL || self.places.is_some() {
            return;
        }
        let names = self
            .list
            .iter()
            .enumerate()
            .filter_map(|(place, there)| Some((there.as_ref()?.plain_name().into_owned(), place)));
        let places: HashMap<String, usize> = names.collect();
        if places.len() == self.iter().count() {
            self.places = Some(places);
        }
    }

    fn find(&mut self, name: &str) -> Option<usize> {
        self.lookups += 1;
        if self.lookups > FEW && self.list.len() > SMALL && self.places.is_none() {
            self.places = Some(self.index());
        }
        self.places.as_ref().map_or_else(|| self.last(name), |places| places.get(name).copied())
    }

    fn last(&self, name: &str) -> Option<usize> {
        let letters = text::letters(name);
        let may_be = |member: &&Member<'_>| letters.contains(&member.letter);
        self.list
            .iter()
            .rposition(|there| there.as_ref().filter(may_be).is_some_and(|member| member.is(name)))
    }

    /// Builds the index; of duplicate members only the last one stays.
    fn index(&mut self) -> HashMap<String, usize> {
        let mut places = HashMap::with_capacity(self.list.len());
        for place in 0..self.list.len() {
            let Some(Some(member)) = self.list.get(place) else { continue };
            if let Some(before) = places.insert(member.plain_name().into_owned(), place) {
                self.list[before] = None;
            }
        }
        places
    }
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
