//! The types of the arguments of functions.

use super::Type;

/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    Anything,
    Text,
    /// A value that has a text.
    Single,
    Int,
    List,
    /// A text, bytes, a list or a map.
    Sized,
    Duration,
    Optional,
    /// A quantity, a version, a URL or an address.
    Opaque,
}

impl Argument {
    pub(crate) fn takes(self, given: &Type) -> bool {
        match (self, given) {
            (Self::Anything, _) | (_, Type::Any | Type::Never) => true,
            (Self::Text, given) => *given == Type::Text,
            (Self::Single, given) => {
                !matches!(given, Type::Opaque | Type::Null | Type::Map(_) | Type::List(_) | Type::Optional(_))
            }
            (Self::Int, given) => *given == Type::Int,
            (Self::List, given) => matches!(given, Type::List(_)),
            (Self::Sized, given) => matches!(given, Type::Text | Type::Bytes | Type::Map(_) | Type::List(_)),
            (Self::Duration, given) => *given == Type::Duration,
            (Self::Optional, given) => matches!(given, Type::Optional(_)),
            (Self::Opaque, given) => matches!(given, Type::Opaque | Type::Address),
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Anything => "anything",
            Self::Text => "text",
            Self::Single => "a single value",
            Self::Int => "a whole number",
            Self::List => "a list",
            Self::Sized => "text, a list or a map",
            Self::Duration => "a duration",
            Self::Optional => "an optional",
            Self::Opaque => "a quantity, a version or an address",
        }
    }

    /// How to convert a value of the type `given`.
    pub(crate) fn help(self, given: &Type) -> &'static str {
        match (self, given) {
            (_, Type::Optional(_)) => "`orValue()` says what counts where there is none",
            (Self::Text, Type::Int | Type::Uint | Type::Double | Type::Bool | Type::Address) => {
                "`string()` makes it text"
            }
            (Self::Int, Type::Text | Type::Double | Type::Uint) => "`int()` makes it a whole number",
            (Self::Opaque, Type::Text) => {
                "`quantity()` makes a quantity of text, `semver()` a version, `ip()` and `url()` an address"
            }
            (Self::Duration, Type::Text) => "`duration()` makes a duration of text",
            _ => "",
        }
    }
}
