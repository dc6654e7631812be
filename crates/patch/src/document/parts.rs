//! Traversals of opened values. None recurses: an operation may open as many levels as a document has.

use std::mem;

use smallvec::SmallVec;

use super::{Member, Node, Raw, Written};
use crate::text;

/// The parts of an opened container that are still to be visited.
enum Parts<'n, 'a> {
    Items(std::slice::Iter<'n, Node<'a>>),
    Members(std::slice::Iter<'n, Option<Member<'a>>>),
}

impl<'n, 'a> Parts<'n, 'a> {
    /// The parts of an opened container.
    fn of(node: &'n Node<'a>) -> Option<Self> {
        match node {
            Node::Raw(_) => None,
            Node::Array(items) => Some(Self::Items(items.iter())),
            Node::Object(members) => Some(Self::Members(members.slots())),
        }
    }

    /// The next part, with its name if it is a member.
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

    /// The number of levels: 0 for a scalar.
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

    /// Moves the opened containers directly inside to `others`, unless a clone of the document shares them.
    fn detach_children(&mut self, others: &mut SmallVec<[Self; 4]>) {
        let detach = |node: &mut Self| {
            if !matches!(node, Node::Raw(_)) {
                let nothing = Node::Raw(Raw { text: Written::Received(""), spans: 0..0 });
                others.push(mem::replace(node, nothing));
            }
        };
        match self {
            Node::Raw(_) => {}
            Node::Array(items) => {
                if items.is_unique() {
                    items.make_mut().iter_mut().for_each(detach);
                }
            }
            Node::Object(members) => {
                if members.is_unique() {
                    members.values_mut().for_each(detach);
                }
            }
        }
    }
}

/// Drops one level after the other: a recursive drop would need stack for each level.
impl Drop for Node<'_> {
    fn drop(&mut self) {
        if matches!(self, Node::Raw(_)) {
            return;
        }
        let mut others = SmallVec::new();
        self.detach_children(&mut others);
        while let Some(mut node) = others.pop() {
            node.detach_children(&mut others);
        }
    }
}
