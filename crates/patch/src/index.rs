//! The ends of all containers, recorded while the grammar is checked, so that a container can be skipped without reading it.

use std::ops::Range;
use std::sync::Arc;

/// The size of an array or object in a text. It has no position, so that it is valid in any part of the text that contains the
/// container.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// The number of bytes from the opening to the closing bracket, both included.
    length: u32,
    /// The number of containers in it, with itself.
    containers: u32,
}

/// The containers of one text, in the order in which they open. Without an index, containers are skipped by reading them.
#[derive(Clone, Default)]
pub(crate) struct Index {
    /// All containers of the text that was read; none without an index.
    spans: Option<Arc<Vec<Span>>>,
    /// The range of `spans` that this index covers: the containers of one part of the text.
    part: Range<u32>,
}

/// The structure of a text that was read, without the text. A later [`Document`](crate::Document) of the same text is made from
/// it without reading the text again.
///
/// A text is identified by its address and length. Drop an outline with its text: another text may get the same address.
#[derive(Clone)]
pub struct Outline {
    index: Index,
    address: usize,
    length: usize,
}

impl Outline {
    pub(crate) fn new(text: &str, index: Index) -> Self {
        Self { index, address: text.as_ptr().addr(), length: text.len() }
    }

    /// The containers of `text`, if this is its outline.
    pub(crate) fn of(&self, text: &str) -> Option<&Index> {
        let same = self.address == text.as_ptr().addr() && self.length == text.len();
        same.then_some(&self.index)
    }
}

impl Span {
    pub(crate) fn length(self) -> usize {
        self.length as usize
    }

    pub(crate) fn containers(self) -> usize {
        self.containers as usize
    }
}

impl Index {
    /// The containers of the part.
    pub(crate) fn spans_of_part(&self) -> &[Span] {
        let Range { start, end } = self.part;
        self.spans().get(start as usize..end as usize).unwrap_or_default()
    }

    /// The containers of the whole text that was read.
    pub(crate) fn spans(&self) -> &[Span] {
        self.spans.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The range of `spans` that this index covers.
    pub(crate) fn part(&self) -> Range<u32> {
        self.part.clone()
    }

    /// The index of a smaller part.
    pub(crate) fn of_part(&self, part: Range<u32>) -> Self {
        // Neighbouring values without containers have the same empty range, so such a value gets an empty index.
        if part.is_empty() { Self::default() } else { Self { spans: self.spans.clone(), part } }
    }

    /// Whether both indices cover the same part of one reading of one text; false without an index.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.spans, &other.spans) {
            (Some(spans), Some(others)) => Arc::ptr_eq(spans, others) && self.part == other.part,
            _ => false,
        }
    }
}

/// Builds an index.
pub(crate) struct Indexer {
    /// An open container has its position as `length`, and the container around it as `containers`.
    spans: Vec<Span>,
    /// The innermost open container.
    innermost: u32,
}

impl Indexer {
    /// An indexer for a text of `length` bytes.
    pub(crate) fn new(length: usize) -> Self {
        Self { spans: Vec::with_capacity(length / 28), innermost: 0 }
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, at: usize) {
        let next = self.spans.len() as u32;
        self.spans.push(Span { length: at as u32, containers: self.innermost });
        self.innermost = next;
    }

    #[inline(always)]
    pub(crate) fn close(&mut self, end: usize) {
        let last = self.spans.len() as u32;
        let index = self.innermost;
        let Some(span) = self.spans.get_mut(index as usize) else { return };
        self.innermost = span.containers;
        let length = (end as u32).wrapping_sub(span.length);
        *span = Span { length, containers: last.wrapping_sub(index) };
    }

    /// Records an empty container.
    #[inline(always)]
    pub(crate) fn empty(&mut self, start: usize, end: usize) {
        self.spans.push(Span { length: (end - start) as u32, containers: 1 });
    }

    /// The index of a text of `length` bytes. It is empty for a text longer than `u32` can count, whose positions wrapped.
    pub(crate) fn finish(self, length: usize) -> Index {
        if u32::try_from(length).is_err() {
            return Index::default();
        }
        let part = 0..self.spans.len() as u32;
        Index { spans: Some(Arc::new(self.spans)), part }
    }
}
