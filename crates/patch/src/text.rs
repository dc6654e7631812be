//! Navigates in JSON text whose grammar was checked. No function recurses.

use std::borrow::Cow;
use std::ops::Range;

use crate::Kind;
use crate::index::Span;
use crate::string_scan;

/// The text of a value, with its containers if they are known.
#[derive(Clone, Copy)]
pub(crate) struct Text<'t, 's> {
    pub(crate) written: &'t str,
    /// Its containers, itself first; empty if they were not recorded.
    pub(crate) spans: &'s [Span],
}

impl<'t, 's> Text<'t, 's> {
    /// A text without recorded containers.
    pub(crate) fn plain(written: &'t str) -> Self {
        Self { written, spans: &[] }
    }

    pub(crate) fn kind(self) -> Kind {
        kind(self.written)
    }

    /// A guess at the number of its parts.
    pub(crate) fn likely(self) -> usize {
        self.spans.len().clamp(8, 16)
    }

    /// The values directly inside a container; an object's names come before their values.
    pub(crate) fn values(self) -> Values<'t, 's> {
        Values { text: self.written, at: 0, spans: self.spans.get(1..).unwrap_or_default() }
    }

    /// The members of an object: written name, its [`letter`], value. Duplicates are included.
    pub(crate) fn members(self) -> impl Iterator<Item = (&'t str, u8, Self)> + use<'t, 's> {
        let mut values = self.values();
        std::iter::from_fn(move || {
            let (name, letter) = values.name()?;
            Some((self.written.get(name)?, letter, values.next()?))
        })
    }

    /// The values of the last members of these names, if this is an object.
    pub(crate) fn last_members<const N: usize>(self, names: [&str; N]) -> [Option<Self>; N] {
        let mut found = [None; N];
        if self.kind() != Kind::Object {
            return found;
        }
        let mut values = self.values();
        let wanted = names.map(letters);
        // One bit test excludes most members for all names at once.
        let sieve = wanted.iter().flatten().fold(0_u64, |sieve, letter| sieve | 1 << (letter % 64));
        while let Some((name, letter)) = values.name()
            && let Some((value, spans)) = values.step()
        {
            if sieve >> (letter % 64) & 1 == 0 {
                continue;
            }
            for ((letters, wanted), found) in wanted.iter().zip(&names).zip(&mut found) {
                if letters.contains(&letter)
                    && let Some(name) = self.written.get(name.clone())
                    && means(name, letter, wanted)
                {
                    *found = self.written.get(value.clone()).map(|written| Text { written, spans });
                }
            }
        }
        found
    }
}

/// The kind of the value at the start of `text`.
pub(crate) fn kind(text: &str) -> Kind {
    match text.as_bytes().first() {
        Some(b'n') => Kind::Null,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'"') => Kind::String,
        Some(b'[') => Kind::Array,
        Some(b'{') => Kind::Object,
        _ => Kind::Number,
    }
}

/// The number of levels: 0 for a scalar, 1 for `{}`.
pub(crate) fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at).0,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A quick test of a written string: the byte behind its opening quote, or a backslash if the string has one anywhere.
pub(crate) fn letter(written: &str) -> u8 {
    let is_escaped = written.bytes().any(|byte| byte == b'\\');
    if is_escaped { b'\\' } else { written.as_bytes().get(1).copied().unwrap_or_default() }
}

/// The [`letter`]s of written strings that may mean `plain`. Most names differ in their first letter.
#[inline]
pub(crate) fn letters(plain: &str) -> [u8; 2] {
    // The byte behind the first quote of an empty string is the second quote.
    [plain.as_bytes().first().copied().unwrap_or(b'"'), b'\\']
}

/// Whether the string `written`, with quotes and this [`letter`], means `plain`.
#[inline]
pub(crate) fn means(written: &str, letter: u8, plain: &str) -> bool {
    if letter == b'\\' { unescape(written) == plain } else { inner(written) == plain }
}

/// The meaning of the string `written`, with quotes and this [`letter`].
#[inline]
pub(crate) fn meaning(written: &str, letter: u8) -> Cow<'_, str> {
    if letter == b'\\' { unescape(written) } else { Cow::Borrowed(inner(written)) }
}

/// Passes the parts of the string with quotes and as few escapes as possible to `write`.
pub(crate) fn quote(plain: &str, mut write: impl FnMut(&str)) {
    write("\"");
    if string_scan::plain(plain.as_bytes(), 0) == plain.len() {
        write(plain);
        return write("\"");
    }
    for character in plain.chars() {
        match character {
            '"' => write("\\\""),
            '\\' => write("\\\\"),
            '\0'..='\x1f' => write(&format!("\\u{:04x}", u32::from(character))),
            other => write(other.encode_utf8(&mut [0; 4])),
        }
    }
    write("\"");
}

/// The meaning of a written string, without quotes and escapes. Half a surrogate pair becomes U+FFFD, as in Go.
pub(crate) fn unescape(written: &str) -> Cow<'_, str> {
    let inner = inner(written);
    let Some(first) = inner.find('\\') else { return Cow::Borrowed(inner) };
    let (before, mut rest) = inner.split_at(first);
    let mut text = String::from(before);
    while let Some(escape) = rest.strip_prefix('\\') {
        let mut after = escape.chars();
        let character = match after.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => unescape_unicode(&mut after),
            Some(other) => other,
            None => break,
        };
        text.push(character);
        let (plain, next) =
            after.as_str().split_at(after.as_str().find('\\').unwrap_or(after.as_str().len()));
        text.push_str(plain);
        rest = next;
    }
    Cow::Owned(text)
}

/// The string without its quotes.
#[inline]
fn inner(written: &str) -> &str {
    written.get(1..written.len().saturating_sub(1)).unwrap_or_default()
}

pub(crate) struct Values<'t, 's> {
    text: &'t str,
    /// The end of the last value, or the opening bracket.
    at: usize,
    /// The containers from the next one on.
    spans: &'s [Span],
}

impl<'t, 's> Values<'t, 's> {
    /// The range of the next value, which is a member's name, and its [`letter`].
    #[inline(always)]
    fn name(&mut self) -> Option<(Range<usize>, u8)> {
        let (bytes, start) = (self.text.as_bytes(), self.start()?);
        if bytes.get(start) != Some(&b'"') {
            return None;
        }
        let (end, is_escaped) = string_end(bytes, start + 1);
        self.at = end;
        let letter = if is_escaped { b'\\' } else { *bytes.get(start + 1)? };
        Some((start..end, letter))
    }

    /// The range of the next value, and its containers.
    #[inline(always)]
    fn step(&mut self) -> Option<(Range<usize>, &'s [Span])> {
        let (bytes, start) = (self.text.as_bytes(), self.start()?);
        let (end, spans) = match bytes.get(start)? {
            b'"' => (string_end(bytes, start + 1).0, &[][..]),
            b'[' | b'{' => match self.spans.first() {
                Some(span) => {
                    let (spans, later) = self.spans.split_at_checked(span.containers())?;
                    self.spans = later;
                    (start + span.length(), spans)
                }
                None => (container_end(bytes, start), &[][..]),
            },
            _ => (scalar_end(bytes, start), &[][..]),
        };
        self.at = end;
        // The closing bracket reads as a number without digits.
        (end > start).then_some((start..end, spans))
    }

    /// The start of the next value, or the closing bracket.
    #[inline(always)]
    fn start(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        // Most values are preceded by one byte: the bracket, a comma or a colon.
        match (bytes.get(self.at)?, bytes.get(self.at + 1)) {
            (b',' | b':' | b'[' | b'{', Some(b'!'..)) => Some(self.at + 1),
            (b']' | b'}', _) => None,
            _ => self.behind_blanks(),
        }
    }

    /// As [`start`](Self::start), with white space around the separator.
    #[cold]
    fn behind_blanks(&self) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let parting = rest.iter().position(|byte| !blank(byte))?;
        let value = rest.get(parting + 1..)?.iter().position(|byte| !blank(byte))?;
        Some(self.at + parting + 1 + value)
    }
}

impl<'t, 's> Iterator for Values<'t, 's> {
    type Item = Text<'t, 's>;

    #[inline(always)]
    fn next(&mut self) -> Option<Text<'t, 's>> {
        let (range, spans) = self.step()?;
        self.text.get(range).map(|written| Text { written, spans })
    }
}

/// The end of the number or literal at `at`.
fn scalar_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at)
        && !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')
    {
        at += 1;
    }
    at
}

/// The end of the container at `at`.
fn container_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at).0,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The end of a string behind its closing quote, and whether it has escapes. Its opening quote is before `at`.
#[inline]
fn string_end(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut is_escaped = false;
    loop {
        at = string_scan::plain(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return (at + 1, is_escaped),
            Some(b'\\') => (at, is_escaped) = (at + 2, true),
            _ => return (bytes.len(), is_escaped),
        }
    }
}

/// The character of `\uXXXX` or of a pair of them; `after` begins behind the `u`.
fn unescape_unicode(after: &mut std::str::Chars<'_>) -> char {
    let Some(unit) = code_unit(after) else { return char::REPLACEMENT_CHARACTER };
    if (0xD800..0xDC00).contains(&unit) {
        let mut ahead = after.clone();
        if ahead.next() == Some('\\')
            && ahead.next() == Some('u')
            && let Some(low @ 0xDC00..0xE000) = code_unit(&mut ahead)
        {
            *after = ahead;
            return char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
                .unwrap_or(char::REPLACEMENT_CHARACTER);
        }
    }
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn code_unit(digits: &mut std::str::Chars<'_>) -> Option<u32> {
    let (written, rest) = digits.as_str().split_at_checked(4)?;
    *digits = rest.chars();
    u32::from_str_radix(written, 16).ok()
}
