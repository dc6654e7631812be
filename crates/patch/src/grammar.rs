//! Checks the grammar of a whole document in one pass, without recursion.

use crate::index::{Index, Indexer};
use crate::string_scan::Stops;

/// The most levels of arrays and objects in a document: the limit of kube-apiserver (encoding/json). No function that works on a
/// document recurses that deep.
pub const MAX_DEPTH: usize = 10_000;

/// Why a text cannot be a document. The text is not quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is not JSON (RFC 8259).
    #[error("not JSON: {expected} expected at line {line} column {column}")]
    Syntax {
        /// The expected token.
        expected: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in bytes.
        column: usize,
    },
    /// The text nests deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels at line {line} column {column}")]
    Depth {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in bytes.
        column: usize,
    },
}

/// Checks that `text` is one JSON value no deeper than [`MAX_DEPTH`], and trims the white space around it.
pub(crate) fn check(text: &str) -> Result<(&str, Index), DocumentError> {
    let bytes = text.as_bytes();
    let mut checker = Checker {
        bytes,
        stops: Stops::of(bytes),
        open: OpenContainers::new(),
        index: Indexer::new(text.len()),
    };
    match checker.document() {
        Ok(()) => Ok((trimmed(text), checker.index.finish(text.len()))),
        Err(error) => Err(error.describe(bytes)),
    }
}

/// Trims the white space that JSON allows.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// The methods take the position of the next byte and return the position behind the text that they have read: a position in a
/// local variable stays in a register.
struct Checker<'t> {
    bytes: &'t [u8],
    stops: Stops,
    open: OpenContainers,
    index: Indexer,
}

/// The kinds of the open containers.
struct OpenContainers {
    /// Their number, for [`MAX_DEPTH`].
    depth: usize,
    /// The innermost is in the lowest bit: 1 is an object, 0 an array. A bit 1 above all of them marks the end of the word.
    objects: u64,
    /// Containers outside of these, in full words; few documents have any.
    outer: Vec<u64>,
}

/// An error, and the position of the byte that is not the expected one.
struct GrammarError {
    at: usize,
    kind: ErrorKind,
}

enum ErrorKind {
    Expected(&'static str),
    TooDeep,
}

/// The text that a method has read.
enum Read {
    /// A whole value, or the end of a container, up to this position.
    Whole(usize),
    /// The text before a value that begins at this position.
    UpToValue(usize),
}

// kube-apiserver writes no white space, so most tokens are compared before white space is skipped. The position of the next read must
// not depend on the byte read here: a CPU predicts branches, but it waits for additions (ADR 0046).
impl Checker<'_> {
    // Two loops: a single one takes a fifth longer (ADR 0113).
    fn document(&mut self) -> Result<(), GrammarError> {
        let mut at = 0;
        'value: loop {
            let mut read = self.value(at)?;
            loop {
                match read {
                    Read::UpToValue(next) => {
                        at = next;
                        continue 'value;
                    }
                    Read::Whole(end) if self.open.is_empty() => return self.end(end),
                    Read::Whole(end) => read = self.after_value(end)?,
                }
            }
        }
    }

    /// Checks that the document ends here.
    fn end(&self, at: usize) -> Result<(), GrammarError> {
        let at = self.blank(at);
        if self.peek(at).is_none() { Ok(()) } else { Err(GrammarError::expected("the end", at)) }
    }

    /// Reads a value, or the beginning of a container up to its first value.
    #[inline(always)]
    fn value(&mut self, mut at: usize) -> Result<Read, GrammarError> {
        loop {
            let end = match self.peek(at) {
                Some(b'"') => self.string(at)?,
                Some(b'{') => return self.container(at, true),
                Some(b'[') => return self.container(at, false),
                Some(b'-' | b'0'..=b'9') => self.number(at)?,
                Some(b't') => self.literal(at, b"true")?,
                Some(b'f') => self.literal(at, b"false")?,
                Some(b'n') => self.literal(at, b"null")?,
                Some(b' ' | b'\t' | b'\n' | b'\r') => {
                    at = self.blank(at);
                    continue;
                }
                _ => return Err(GrammarError::expected("a value", at)),
            };
            return Ok(Read::Whole(end));
        }
    }

    /// Reads an empty container, or the beginning of another one up to its first value.
    #[inline(always)]
    fn container(&mut self, start: usize, is_object: bool) -> Result<Read, GrammarError> {
        if self.open.depth == MAX_DEPTH {
            return Err(GrammarError { at: start, kind: ErrorKind::TooDeep });
        }
        let end = if is_object { b'}' } else { b']' };
        let mut at = start + 1;
        if matches!(self.peek(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at = self.blank(at);
        }
        if self.peek(at) == Some(end) {
            self.index.empty(start, at + 1);
            return Ok(Read::Whole(at + 1));
        }
        self.index.open(start);
        self.open.push(is_object);
        if is_object { self.key(at) } else { Ok(Read::UpToValue(at)) }
    }

    /// Reads the text behind a value in a container: the end of the container, or a comma and everything up to the next value.
    #[inline(always)]
    fn after_value(&mut self, mut at: usize) -> Result<Read, GrammarError> {
        let is_object = self.open.is_in_object();
        loop {
            match self.peek(at) {
                Some(b',') if is_object => return self.key(at + 1),
                Some(b',') => return Ok(Read::UpToValue(at + 1)),
                Some(b'}') if is_object => break,
                Some(b']') if !is_object => break,
                Some(b' ' | b'\t' | b'\n' | b'\r') => at = self.blank(at),
                _ if is_object => return Err(GrammarError::expected("`,` or `}`", at)),
                _ => return Err(GrammarError::expected("`,` or `]`", at)),
            }
        }
        self.open.pop();
        self.index.close(at + 1);
        Ok(Read::Whole(at + 1))
    }

    /// Reads the name of a member and the colon.
    #[inline(always)]
    fn key(&mut self, at: usize) -> Result<Read, GrammarError> {
        let start = self.find(at, b'"', "a member's name")?;
        let end = self.string(start)?;
        Ok(Read::UpToValue(self.find(end, b':', "`:`")? + 1))
    }

    /// The position of `byte`, which is the next byte after white space.
    #[inline(always)]
    fn find(&self, mut at: usize, byte: u8, expected: &'static str) -> Result<usize, GrammarError> {
        if self.peek(at) != Some(byte) {
            at = self.blank(at);
            if self.peek(at) != Some(byte) {
                return Err(GrammarError::expected(expected, at));
            }
        }
        Ok(at)
    }

    /// Reads a string that begins at `start`.
    #[inline(always)]
    fn string(&mut self, start: usize) -> Result<usize, GrammarError> {
        let mut at = start + 1;
        loop {
            at = self.stops.next(self.bytes, at);
            match self.peek(at) {
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => at = self.escape(at + 1)?,
                _ => return Err(GrammarError::expected("the end of a string", at)),
            }
        }
    }

    #[inline(always)]
    fn escape(&self, at: usize) -> Result<usize, GrammarError> {
        match self.peek(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
            Some(b'u') => self.unicode(at + 1),
            _ => Err(GrammarError::expected("an escape", at)),
        }
    }

    #[cold]
    fn unicode(&self, mut at: usize) -> Result<usize, GrammarError> {
        for _ in 0..4 {
            if !self.peek(at).is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(GrammarError::expected("a hexadecimal digit", at));
            }
            at += 1;
        }
        Ok(at)
    }

    fn number(&self, start: usize) -> Result<usize, GrammarError> {
        let mut at = self.step(start, b"-");
        at = match self.peek(at) {
            Some(b'0') => at + 1,
            _ => self.digits(at)?,
        };
        if self.peek(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if matches!(self.peek(at), Some(b'e' | b'E')) {
            at = self.digits(self.step(at + 1, b"+-"))?;
        }
        Ok(at)
    }

    fn digits(&self, start: usize) -> Result<usize, GrammarError> {
        let mut at = start;
        while self.peek(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        if at > start { Ok(at) } else { Err(GrammarError::expected("a digit", at)) }
    }

    fn literal(&self, at: usize, word: &'static [u8]) -> Result<usize, GrammarError> {
        if !self.bytes.get(at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(GrammarError::expected("a value", at));
        }
        Ok(at + word.len())
    }

    /// Steps over the next byte if it is one of `bytes`.
    fn step(&self, at: usize, bytes: &[u8]) -> usize {
        at + usize::from(self.peek(at).is_some_and(|byte| bytes.contains(&byte)))
    }

    /// Steps over white space.
    #[cold]
    fn blank(&self, mut at: usize) -> usize {
        while matches!(self.peek(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        at
    }

    #[inline(always)]
    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }
}

impl OpenContainers {
    /// A word without a container.
    const NONE: u64 = 1;

    fn new() -> Self {
        Self { depth: 0, objects: Self::NONE, outer: Vec::new() }
    }

    /// Whether no container is open: [`pop`](Self::pop) takes the next word from `outer` when a word becomes empty.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.objects == Self::NONE
    }

    #[inline(always)]
    fn is_in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    #[inline(always)]
    fn push(&mut self, is_object: bool) {
        if self.objects.leading_zeros() == 0 {
            self.outer.push(std::mem::replace(&mut self.objects, Self::NONE));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u64::from(is_object);
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
        if self.is_empty() {
            self.objects = self.outer.pop().unwrap_or(Self::NONE);
        }
    }
}

impl GrammarError {
    #[cold]
    #[inline(never)]
    fn expected(what: &'static str, at: usize) -> Self {
        Self { at, kind: ErrorKind::Expected(what) }
    }

    fn describe(&self, bytes: &[u8]) -> DocumentError {
        let before = bytes.get(..self.at).unwrap_or(bytes);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        match self.kind {
            ErrorKind::Expected(expected) => DocumentError::Syntax { expected, line, column },
            ErrorKind::TooDeep => DocumentError::Depth { line, column },
        }
    }
}
