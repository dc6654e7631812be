//! What functions want and give.

use super::Type;

/// What a function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Anything,
    Text,
    Int,
    List,
    /// Something with a size.
    Sized,
    Duration,
    Optional,
    /// A quantity, a version or an address.
    Own,
}

/// What a function gives.
#[derive(Clone, Copy)]
pub(super) enum Gives {
    Anything,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Duration,
    Map,
    Own,
    Texts,
    Ints,
    /// The same as it got first.
    Same,
    /// What the list or optional holds that it got first.
    Item,
    /// An optional of an item, and of the argument.
    PerhapsItem,
    Perhaps,
}

impl Wants {
    pub(super) fn takes(self, given: &Type) -> bool {
        match (self, given) {
            (Self::Anything, _) | (_, Type::Any | Type::Never) => true,
            (Self::Text, given) => *given == Type::Text,
            (Self::Int, given) => *given == Type::Int,
            (Self::List, given) => matches!(given, Type::List(_)),
            (Self::Sized, given) => matches!(given, Type::Text | Type::Bytes | Type::Map | Type::List(_)),
            (Self::Duration, given) => *given == Type::Duration,
            (Self::Optional, given) => matches!(given, Type::Optional(_)),
            (Self::Own, given) => *given == Type::Own,
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
            Self::Own => "a quantity, a version or an address",
        }
    }

    /// How to come from a given type to what is wanted.
    pub(super) fn help(self, given: &Type) -> &'static str {
        match (self, given) {
            (_, Type::Optional(_)) => "`orValue()` says what counts where there is none",
            (Self::Text, Type::Int | Type::Uint | Type::Double | Type::Bool | Type::Own) => {
                "`string()` makes it text"
            }
            (Self::Int, Type::Text | Type::Double | Type::Uint) => "`int()` makes it a whole number",
            (Self::Own, Type::Text) => {
                "`quantity()` makes a quantity of text, `semver()` a version, `ip()` and `url()` an address"
            }
            (Self::Duration, Type::Text) => "`duration()` makes a duration of text",
            _ => "",
        }
    }
}

/// What the function `name` wants, what stands before the dot first; of further arguments nothing is known.
pub(super) fn of(name: &str) -> (&'static [Wants], Gives) {
    use Wants::{Anything, Duration, Int, List, Optional, Own, Sized, Text};
    match name {
        "contains" | "startsWith" | "endsWith" | "matches" => (&[Text, Text], Gives::Bool),
        "lowerAscii" | "upperAscii" | "trim" | "labelValue" | "strings.quote" => (&[Text], Gives::Text),
        "replace" => (&[Text, Text, Text, Int], Gives::Text),
        "substring" => (&[Text, Int, Int], Gives::Text),
        "charAt" => (&[Text, Int], Gives::Text),
        "find" => (&[Text, Text], Gives::Text),
        "findAll" | "split" => (&[Text, Text, Int], Gives::Texts),
        "format" => (&[Text, List], Gives::Text),
        "join" => (&[List, Text], Gives::Text),
        "pod.displayName" | "string" => (&[], Gives::Text),
        "size" => (&[Sized], Gives::Int),
        "indexOf" | "lastIndexOf" | "int" | "sign" | "compareTo" => (&[], Gives::Int),
        "uint" => (&[], Gives::Uint),
        "double" => (&[], Gives::Double),
        "bool" | "isSorted" | "sets.contains" | "sets.equivalent" | "sets.intersects" | "math.isFinite"
        | "math.isInf" | "math.isNaN" => (&[], Gives::Bool),
        "isQuantity" | "isURL" | "isIP" | "isCIDR" | "ip.isCanonical" | "isSemver" => (&[Text], Gives::Bool),
        "quantity" | "cidr" | "url" | "semver" => (&[Text], Gives::Own),
        "ip" => (&[], Gives::Own),
        "duration" => (&[Text], Gives::Duration),
        "add" | "sub" | "masked" => (&[Own], Gives::Own),
        "asInteger" | "major" | "minor" | "patch" | "prefixLength" | "family" => (&[Own], Gives::Int),
        "asApproximateFloat" => (&[Own], Gives::Double),
        "isInteger"
        | "isGlobalUnicast"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isLoopback"
        | "isUnspecified"
        | "containsCIDR"
        | "containsIP"
        | "isGreaterThan"
        | "isLessThan" => (&[Own], Gives::Bool),
        "getEscapedPath" | "getHost" | "getHostname" | "getPort" | "getScheme" => (&[Own], Gives::Text),
        "getQuery" => (&[Own], Gives::Map),
        "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => (&[Duration], Gives::Int),
        "lists.range" => (&[Int], Gives::Ints),
        "distinct" | "sort" => (&[List], Gives::Same),
        "slice" => (&[List, Int, Int], Gives::Same),
        "reverse" => (&[], Gives::Same),
        "min" | "max" => (&[List], Gives::Item),
        "first" | "last" => (&[List], Gives::PerhapsItem),
        "math.ceil" | "math.floor" | "math.round" | "math.trunc" | "math.sqrt" => (&[], Gives::Double),
        "optional.of" | "optional.ofNonZeroValue" => (&[Anything], Gives::Perhaps),
        "hasValue" => (&[Optional], Gives::Bool),
        "value" => (&[Optional], Gives::Item),
        _ => (&[], Gives::Anything),
    }
}
