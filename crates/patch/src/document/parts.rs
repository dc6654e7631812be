//! Walks over opened values. Nothing here recurses: an operation may open as many levels as a document has.

use std::mem;
use std::sync::Arc;

use super::members::Members;
use super::{Member, Node, Raw, Written};
use crate::text;

/// What is still to be visited of an opened container.
enum Parts<'n, 'a> {
    Items(std::slice::Iter<'n, Node<'a>>),
    Members(std::slice::Iter<'n, Option<Member<'a>>>),
}

impl<'n, 'a> Parts<'n, 'a> {
    /// Of a container that was opened.
    fn of(node: &'n Node<'a>) -> Option<Self> {
        match node {
            Node::Raw(_) => None,
            Node::Array(items) => Some(Self::Items(items.iter())),
            Node::Object(members) => Some(Self::Members(members.slots())),
        }
    }

    /// The next part, with the name that a member has.
    fn next(&mut self) -> Option<(Option<&'n str>, &'n Node<'a>)> {
        match self {
            Self::Items(items) => items.next().map(|item| (None, item)),
            Self::Members(slots) => {
                slots.find_map(Option::as_ref).map(|member| (Some(&*member.name), &member.value))
            }
        }
    }

    fn brackets(&self) -> (char, char) {
        match self {
            Self::Items(_) => ('[', ']'),
            Self::Members(_) => ('{', '}'),
        }
    }
}

impl<'a> Node<'a> {
    pub(crate) fn write(&self, json: &mut String) {
        let mut open: Vec<(Parts<'_, 'a>, bool)> = Vec::new();
        let mut next = Some(self);
        loop {
            match next.map(|node| (node, Parts::of(node))) {
                Some((_, Some(parts))) => {
                    json.push(parts.brackets().0);
                    open.push((parts, true));
                }
                Some((Node::Raw(raw), None)) => json.push_str(&raw.text),
                _ => {}
            }
            let Some((parts, is_first)) = open.last_mut() else { return };
            let Some((name, node)) = parts.next() else {
                json.push(parts.brackets().1);
                open.pop();
                next = None;
                continue;
            };
            if !mem::take(is_first) {
                json.push(',');
            }
            if let Some(name) = name {
                json.push_str(name);
                json.push(':');
            }
            next = Some(node);
        }
    }

    /// How deep the value nests: 0 for a scalar.
    pub(crate) fn depth(&self) -> usize {
        let (mut open, mut deepest) = (Vec::new(), 0);
        let mut next = Some(self);
        loop {
            match next.map(|node| (node, Parts::of(node))) {
                Some((_, Some(parts))) => {
                    open.push(parts);
                    deepest = deepest.max(open.len());
                }
                Some((Node::Raw(raw), None)) => deepest = deepest.max(open.len() + text::depth(&raw.text)),
                _ => {}
            }
            let Some(parts) = open.last_mut() else { return deepest };
            next = parts.next().map(|(_, node)| node);
            if next.is_none() {
                open.pop();
            }
        }
    }

    /// Moves the opened containers directly inside to `others`, unless another clone of the document has them too.
    fn give_away(&mut self, others: &mut Vec<Self>) {
        let mut give = |node: &mut Self| {
            if !matches!(node, Node::Raw(_)) {
                let nothing = Node::Raw(Raw { text: Written::Received(""), spans: 0..0 });
                others.push(mem::replace(node, nothing));
            }
        };
        match self {
            Node::Raw(_) => {}
            Node::Array(items) => Arc::get_mut(items).into_iter().flatten().for_each(give),
            Node::Object(members) => {
                let values = Arc::get_mut(members).into_iter().flat_map(Members::values_mut);
                values.for_each(&mut give);
            }
        }
    }
}

/// One level after the other: the drop of a value that drops its parts would need as much stack as it has levels.
impl Drop for Node<'_> {
    fn drop(&mut self) {
        let mut others = Vec::new();
        self.give_away(&mut others);
        while let Some(mut node) = others.pop() {
            node.give_away(&mut others);
        }
    }
}
