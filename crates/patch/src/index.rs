//! Where containers end: noted while the grammar is checked, so that nobody reads a container to step over it.

use std::sync::Arc;

/// An array or an object in a text: how far to the next value behind it. It does not say where it stands itself, so that
/// it stays true of any part of the text that holds it.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Bytes from the opening bracket to the closing one, both included.
    length: u32,
    /// Itself and all containers within it.
    containers: u32,
}

/// The containers of one text, in the order they open. Without any it says nothing, and whoever asks has to read.
#[derive(Clone, Default)]
pub(crate) struct Index(Arc<Vec<Span>>);

impl Span {
    pub(crate) fn length(self) -> usize {
        self.length as usize
    }

    pub(crate) fn containers(self) -> usize {
        self.containers as usize
    }
}

impl Index {
    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }
}

/// An index in the making.
pub(crate) struct Indexer {
    /// One that is still open holds where it opens, and which one is around it.
    spans: Vec<Span>,
    /// The innermost of those that are open.
    innermost: u32,
}

impl Indexer {
    /// For a text of `length` bytes; of one that is longer than a `u32` can tell nothing is noted.
    pub(crate) fn new(length: usize) -> Option<Self> {
        u32::try_from(length).ok()?;
        Some(Self { spans: Vec::with_capacity(length / 48), innermost: 0 })
    }

    pub(crate) fn open(&mut self, at: usize) {
        let next = self.spans.len() as u32;
        self.spans.push(Span { length: at as u32, containers: self.innermost });
        self.innermost = next;
    }

    pub(crate) fn close(&mut self, end: usize) {
        let last = self.spans.len() as u32;
        let index = self.innermost;
        let Some(span) = self.spans.get_mut(index as usize) else { return };
        self.innermost = span.containers;
        *span = Span { length: end as u32 - span.length, containers: last - index };
    }

    pub(crate) fn finish(self) -> Index {
        Index(Arc::new(self.spans))
    }
}
