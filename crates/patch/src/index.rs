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

/// What reading a text found out, without the text: for whoever keeps the text and reads it again.
///
/// A text is known by where it lies and how long it is. Keep an outline no longer than its text: another text may come to
/// lie there.
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
    pub(crate) fn of(&self, text: &str) -> Option<Index> {
        let same = self.address == text.as_ptr().addr() && self.length == text.len();
        same.then(|| self.index.clone())
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
    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether both come from one reading of one text.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
    /// For a text of `length` bytes.
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

    /// One that has nothing in it.
    #[inline(always)]
    pub(crate) fn empty(&mut self, start: usize, end: usize) {
        self.spans.push(Span { length: (end - start) as u32, containers: 1 });
    }

    /// For the text of `length` bytes; of one that is longer than a `u32` can tell nothing was noted that is of use.
    pub(crate) fn finish(self, length: usize) -> Index {
        if u32::try_from(length).is_ok() { Index(Arc::new(self.spans)) } else { Index::default() }
    }
}
