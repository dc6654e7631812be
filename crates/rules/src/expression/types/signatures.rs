//! The types of the arguments and results of functions.

use super::Type;

/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    Anything,
    Text,
    Int,
    List,
    /// A text, bytes, a list or a map.
    Sized,
    Duration,
    Optional,
    /// A quantity, a version, an address or a URL.
    Opaque,
}

/// The type of a result.
#[derive(Clone, Copy)]
pub(super) enum ResultType {
    Anything,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Duration,
    Map,
    Opaque,
    Texts,
    Ints,
    /// The type of the first argument.
    Same,
    /// The type of the items of the first argument, or of its content.
    Item,
    /// An optional item of the first argument.
    OptionalItem,
    /// The first argument as an optional.
    Optional,
}

impl Argument {
    pub(super) fn takes(self, given: &Type) -> bool {
        match (self, given) {
            (Self::Anything, _) | (_, Type::Any | Type::Never) => true,
            (Self::Text, given) => *given == Type::Text,
            (Self::Int, given) => *given == Type::Int,
            (Self::List, given) => matches!(given, Type::List(_)),
            (Self::Sized, given) => matches!(given, Type::Text | Type::Bytes | Type::Map | Type::List(_)),
            (Self::Duration, given) => *given == Type::Duration,
            (Self::Optional, given) => matches!(given, Type::Optional(_)),
            (Self::Opaque, given) => *given == Type::Opaque,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Anything => "anything",
            Self::Text => "text",
            Self::Int => "a whole number",
            Self::List => "a list",
            Self::Sized => "text, a list or a map",
            Self::Duration => "a duration",
            Self::Optional => "an optional",
            Self::Opaque => "a quantity, a version or an address",
        }
    }

    /// How to convert a value of the type `given`.
    pub(super) fn help(self, given: &Type) -> &'static str {
        match (self, given) {
            (_, Type::Optional(_)) => "`orValue()` says what counts where there is none",
            (Self::Text, Type::Int | Type::Uint | Type::Double | Type::Bool | Type::Opaque) => {
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

/// The types of the arguments and of the result of the function `name`. The value before the dot is the first argument;
/// arguments beyond the list may have any type.
pub(super) fn of(name: &str) -> (&'static [Argument], ResultType) {
    use Argument::{Anything, Duration, Int, List, Opaque, Optional, Sized, Text};
    match name {
        "contains" | "startsWith" | "endsWith" | "matches" => (&[Text, Text], ResultType::Bool),
        "lowerAscii" | "upperAscii" | "trim" | "labelValue" | "strings.quote" => (&[Text], ResultType::Text),
        "replace" => (&[Text, Text, Text, Int], ResultType::Text),
        "substring" => (&[Text, Int, Int], ResultType::Text),
        "charAt" => (&[Text, Int], ResultType::Text),
        "find" => (&[Text, Text], ResultType::Text),
        "findAll" | "split" => (&[Text, Text, Int], ResultType::Texts),
        "format" => (&[Text, List], ResultType::Text),
        "join" => (&[List, Text], ResultType::Text),
        "pod.displayName" | "string" => (&[], ResultType::Text),
        "size" => (&[Sized], ResultType::Int),
        "indexOf" | "lastIndexOf" | "int" | "sign" | "compareTo" => (&[], ResultType::Int),
        "uint" => (&[], ResultType::Uint),
        "double" => (&[], ResultType::Double),
        "bool" | "isSorted" | "sets.contains" | "sets.equivalent" | "sets.intersects" | "math.isFinite"
        | "math.isInf" | "math.isNaN" => (&[], ResultType::Bool),
        "isQuantity" | "isURL" | "isIP" | "isCIDR" | "ip.isCanonical" | "isSemver" => {
            (&[Text], ResultType::Bool)
        }
        "quantity" | "cidr" | "url" | "semver" => (&[Text], ResultType::Opaque),
        "ip" => (&[], ResultType::Opaque),
        "duration" => (&[Text], ResultType::Duration),
        "add" | "sub" | "masked" => (&[Opaque], ResultType::Opaque),
        "asInteger" | "major" | "minor" | "patch" | "prefixLength" | "family" => (&[Opaque], ResultType::Int),
        "asApproximateFloat" => (&[Opaque], ResultType::Double),
        "isInteger"
        | "isGlobalUnicast"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isLoopback"
        | "isUnspecified"
        | "containsCIDR"
        | "containsIP"
        | "isGreaterThan"
        | "isLessThan" => (&[Opaque], ResultType::Bool),
        "getEscapedPath" | "getHost" | "getHostname" | "getPort" | "getScheme" => {
            (&[Opaque], ResultType::Text)
        }
        "getQuery" => (&[Opaque], ResultType::Map),
        "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => (&[Duration], ResultType::Int),
        "lists.range" => (&[Int], ResultType::Ints),
        "distinct" | "sort" => (&[List], ResultType::Same),
        "slice" => (&[List, Int, Int], ResultType::Same),
        "reverse" => (&[], ResultType::Same),
        "min" | "max" => (&[List], ResultType::Item),
        "first" | "last" => (&[List], ResultType::OptionalItem),
        "math.ceil" | "math.floor" | "math.round" | "math.trunc" | "math.sqrt" => (&[], ResultType::Double),
        "optional.of" | "optional.ofNonZeroValue" => (&[Anything], ResultType::Optional),
        "hasValue" => (&[Optional], ResultType::Bool),
        "value" => (&[Optional], ResultType::Item),
        _ => (&[], ResultType::Anything),
    }
}
