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
    let index = Indexer::new(text.len());
    let mut checker = Checker {
        bytes: text.as_bytes(),
        at: 0,
        depth: 0,
        objects: 0,
        outer: Vec::new(),
        index,
        stops: Stops::of(text.as_bytes()),
    };
    match checker.document() {
        Ok(()) => Ok((trimmed(text), checker.index.finish(text.len()))),
        Err(stop) => Err(checker.describe(&stop)),
    }
}

/// Trims the white space that JSON allows.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

struct Checker<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    /// The kinds of the open containers, the innermost in the lowest bit: 1 is an object, 0 an array.
    objects: u128,
    /// The kinds of further containers outside of these, in full words; few documents have any.
    outer: Vec<u128>,
    index: Indexer,
    stops: Stops<'t>,
}

enum Stop {
    Expected(&'static str),
    TooDeep,
}

/// The levels whose bits fit one `u128`.
const LEVELS_PER_WORD: usize = u128::BITS as usize;

// Most values are separated by a single byte, so that is checked before white space.
impl Checker<'_> {
    fn document(&mut self) -> Result<(), Stop> {
        loop {
            if self.opened()? {
                continue;
            }
            while self.depth > 0 && self.closed()? {}
            if self.depth == 0 {
                self.blank();
                return if self.peek().is_none() { Ok(()) } else { Err(Stop::Expected("the end")) };
            }
        }
    }

    /// Reads a whole value (false), or the beginning of a container up to its first value (true).
    #[inline(always)]
    fn opened(&mut self) -> Result<bool, Stop> {
        self.blank();
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'{') => {
                if !self.empty(b'}')? {
                    self.open(1);
                    self.key()?;
                    return Ok(true);
                }
            }
            Some(b'[') => {
                if !self.empty(b']')? {
                    self.open(0);
                    return Ok(true);
                }
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            _ => return Err(Stop::Expected("a value")),
        }
        Ok(false)
    }

    /// Reads the text behind a value in a container: the end of the container (true), or a comma and everything up to the next
    /// value (false).
    #[inline(always)]
    fn closed(&mut self) -> Result<bool, Stop> {
        let object = self.objects & 1 == 1;
        loop {
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                Some(b'}') if object => break,
                Some(b']') if !object => break,
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                _ if object => return Err(Stop::Expected("`,` or `}`")),
                _ => return Err(Stop::Expected("`,` or `]`")),
            }
        }
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        if self.depth.is_multiple_of(LEVELS_PER_WORD) {
            self.objects = self.outer.pop().unwrap_or_default();
        }
        self.index.close(self.at);
        Ok(true)
    }

    /// Records the container that begins here; true if it is empty, and is then stepped over.
    #[inline(always)]
    fn empty(&mut self, end: u8) -> Result<bool, Stop> {
        if self.depth == MAX_DEPTH {
            return Err(Stop::TooDeep);
        }
        let start = self.at;
        self.at += 1;
        let empty = self.accept(end);
        if empty {
            self.index.empty(start, self.at);
        } else {
            self.index.open(start);
        }
        Ok(empty)
    }

    fn open(&mut self, object: u128) {
        if self.depth > 0 && self.depth.is_multiple_of(LEVELS_PER_WORD) {
            self.outer.push(std::mem::take(&mut self.objects));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | object;
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(), Stop> {
        self.blank();
        if self.peek() != Some(b'"') {
            return Err(Stop::Expected("a member's name"));
        }
        self.string()?;
        if self.accept(b':') { Ok(()) } else { Err(Stop::Expected("`:`")) }
    }

    #[inline(always)]
    fn string(&mut self) -> Result<(), Stop> {
        self.at += 1;
        loop {
            self.at = self.stops.next(self.at);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                _ => return Err(Stop::Expected("the end of a string")),
            }
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn escape(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => self.unicode()?,
            _ => return Err(Stop::Expected("an escape")),
        }
        Ok(())
    }

    #[cold]
    fn unicode(&mut self) -> Result<(), Stop> {
        self.at += 1;
        for _ in 0..4 {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(Stop::Expected("a hexadecimal digit"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Stop> {
        self.step(b'-');
        if !self.step(b'0') {
            self.digits()?;
        }
        if self.step(b'.') {
            self.digits()?;
        }
        if self.step(b'e') || self.step(b'E') {
            let _ = self.step(b'+') || self.step(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Stop::Expected("a digit")) }
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), Stop> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(Stop::Expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Steps over `byte`, after white space. The position of the next read must not depend on the byte read here: a CPU predicts
    /// branches, but it waits for additions.
    #[inline(always)]
    fn accept(&mut self, byte: u8) -> bool {
        match self.peek() {
            Some(next) if next == byte => {
                self.at += 1;
                true
            }
            Some(b' ' | b'\t' | b'\n' | b'\r') => self.accept_later(byte),
            _ => false,
        }
    }

    #[cold]
    fn accept_later(&mut self, byte: u8) -> bool {
        self.blank();
        self.step(byte)
    }

    /// Steps over `byte`, if it is the next one.
    #[inline(always)]
    fn step(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn describe(&self, stop: &Stop) -> DocumentError {
        let before = self.bytes.get(..self.at).unwrap_or(self.bytes);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        match stop {
            Stop::Expected(expected) => DocumentError::Syntax { expected, line, column },
            Stop::TooDeep => DocumentError::Depth { line, column },
        }
    }
}
