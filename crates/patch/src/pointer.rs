//! RFC 6901 pointers.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A JSON pointer (RFC 6901), kept in its escaped form, such as `/metadata/annotations/example.com~1key`.
///
/// ```
/// use vestibule_patch::Pointer;
///
/// let pointer = Pointer::root().child("annotations").child("example.com/key");
/// assert_eq!(pointer.as_str(), "/annotations/example.com~1key");
/// assert_eq!(pointer.tokens().last().as_deref(), Some("example.com/key"));
/// # assert_eq!(pointer, pointer.as_str().parse()?);
/// # Ok::<(), vestibule_patch::PointerError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// The pointer to the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// The pointer to the member `token` of this value; `~` and `/` in it are escaped.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        let mut pointer = Self(String::with_capacity(self.0.len() + 1 + token.len()));
        pointer.0.push_str(&self.0);
        pointer.push(token);
        pointer
    }

    /// The pointer to the item `index` of this list.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        let mut pointer = String::with_capacity(self.0.len() + 4);
        pointer.push_str(&self.0);
        pointer.push('/');
        match u8::try_from(index) {
            // Most indexes have one digit.
            Ok(digit @ 0..10) => pointer.push(char::from(b'0' + digit)),
            _ => pointer.push_str(&index.to_string()),
        }
        Self(pointer)
    }

    /// Appends `token`; `~` and `/` in it are escaped.
    pub fn push(&mut self, token: &str) {
        self.0.push('/');
        if !token.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
            return self.0.push_str(token);
        }
        for character in token.chars() {
            match character {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
    }

    /// The pointer to the container; [`None`] for the whole document.
    pub fn parent(&self) -> Option<Self> {
        self.split_last_token().map(|(parent, _)| Self(parent.to_owned()))
    }

    /// The pointer to the container and the last token; [`None`] for the whole document.
    pub fn split_last(&self) -> Option<(Self, Cow<'_, str>)> {
        self.split_last_token().map(|(parent, last)| (Self(parent.to_owned()), last))
    }

    /// The container in its escaped form, and the last token.
    pub(crate) fn split_last_token(&self) -> Option<(&str, Cow<'_, str>)> {
        let (parent, last) = self.0.rsplit_once('/')?;
        Some((parent, unescape(last)))
    }

    /// The tokens, unescaped.
    pub fn tokens(&self) -> impl Iterator<Item = Cow<'_, str>> {
        tokens(&self.0)
    }

    /// The escaped form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this points to the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a text is not a pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// RFC 6901 section 3: a pointer is empty or starts with `/`.
    #[error("a JSON pointer is empty or starts with `/`")]
    NoSlash,
    /// RFC 6901 section 3: `~` is followed by `0` or `1`.
    #[error("`~` in a JSON pointer is followed by `0` or `1`")]
    Escape,
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(PointerError::NoSlash);
        }
        if text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            return Err(PointerError::Escape);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The tokens of a pointer in its escaped form.
pub(crate) fn tokens(written: &str) -> impl Iterator<Item = Cow<'_, str>> {
    // Most tokens have a few letters: one pass over the bytes is faster than a search function.
    let mut rest = written.get(1..);
    std::iter::from_fn(move || {
        let text = rest?;
        let plain = text.bytes().position(|byte| matches!(byte, b'/' | b'~')).unwrap_or(text.len());
        let escaped = text.as_bytes().get(plain) == Some(&b'~');
        let end = if escaped { text.find('/').unwrap_or(text.len()) } else { plain };
        rest = text.get(end + 1..);
        text.get(..end).map(|step| if escaped { unescape(step) } else { Cow::Borrowed(step) })
    })
}

fn unescape(token: &str) -> Cow<'_, str> {
    if !token.bytes().any(|byte| byte == b'~') {
        return Cow::Borrowed(token);
    }
    let mut parts = token.split('~');
    let mut plain = String::with_capacity(token.len());
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push(if part.starts_with('1') { '/' } else { '~' });
        plain.push_str(part.get(1..).unwrap_or_default());
    }
    Cow::Owned(plain)
}

/// The list index of `token` (RFC 6901 section 4): digits without a leading zero.
pub(crate) fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || token.len() > 1 && token.starts_with('0') {
        return None;
    }
    token.parse().ok()
}
