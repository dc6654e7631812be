//! The table of functions: name, way of calling, number and types of arguments, type of the result.

use std::ops::RangeInclusive;

use super::super::types::{Argument, ResultType as R};
use Argument::{Anything, Duration, Int, List, Opaque, Optional, Sized, Text};
use Form::{Either, Function as Plain, Method};

/// A function or method.
pub(crate) struct Function {
    /// The name, with the namespace.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The number of arguments without the receiver.
    pub(crate) arguments: RangeInclusive<usize>,
    /// The types of the arguments, the receiver first. Arguments beyond the list may have any type.
    pub(crate) takes: &'static [Argument],
    pub(crate) gives: R,
}

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(value)`
    Function,
    /// `value.name()`
    Method,
    /// Both ways: the receiver is the first argument.
    Either,
}

const fn of(
    name: &'static str,
    form: Form,
    arguments: RangeInclusive<usize>,
    takes: &'static [Argument],
    gives: R,
) -> Function {
    Function { name, form, arguments, takes, gives }
}

/// Every function.
pub(crate) static TABLE: &[Function] = &[
    of("add", Method, 1..=1, &[Opaque], R::Opaque),
    of("asApproximateFloat", Method, 0..=0, &[Opaque], R::Double),
    of("asInteger", Method, 0..=0, &[Opaque], R::Int),
    of("bool", Plain, 1..=1, &[], R::Bool),
    of("charAt", Method, 1..=1, &[Text, Int], R::Text),
    of("cidr", Plain, 1..=1, &[Text], R::Opaque),
    of("compareTo", Method, 1..=1, &[], R::Int),
    of("contains", Method, 1..=1, &[Text, Text], R::Bool),
    of("containsCIDR", Method, 1..=1, &[Opaque], R::Bool),
    of("containsIP", Method, 1..=1, &[Opaque], R::Bool),
    of("distinct", Method, 0..=0, &[List], R::Same),
    of("double", Plain, 1..=1, &[], R::Double),
    of("duration", Plain, 1..=1, &[Text], R::Duration),
    of("dyn", Plain, 1..=1, &[], R::Anything),
    of("endsWith", Method, 1..=1, &[Text, Text], R::Bool),
    of("family", Method, 0..=0, &[Opaque], R::Int),
    of("find", Method, 1..=1, &[Text, Text], R::Text),
    of("findAll", Method, 1..=2, &[Text, Text, Int], R::Texts),
    of("first", Method, 0..=0, &[List], R::OptionalItem),
    of("flatten", Method, 0..=1, &[], R::Anything),
    of("format", Method, 1..=1, &[Text, List], R::Text),
    of("getEscapedPath", Method, 0..=0, &[Opaque], R::Text),
    of("getHost", Method, 0..=0, &[Opaque], R::Text),
    of("getHostname", Method, 0..=0, &[Opaque], R::Text),
    of("getHours", Method, 0..=0, &[Duration], R::Int),
    of("getMilliseconds", Method, 0..=0, &[Duration], R::Int),
    of("getMinutes", Method, 0..=0, &[Duration], R::Int),
    of("getPort", Method, 0..=0, &[Opaque], R::Text),
    of("getQuery", Method, 0..=0, &[Opaque], R::Map),
    of("getScheme", Method, 0..=0, &[Opaque], R::Text),
    of("getSeconds", Method, 0..=0, &[Duration], R::Int),
    of("hasValue", Method, 0..=0, &[Optional], R::Bool),
    of("indexOf", Method, 1..=2, &[], R::Int),
    of("int", Plain, 1..=1, &[], R::Int),
    of("ip", Either, 0..=0, &[], R::Opaque),
    of("ip.isCanonical", Plain, 1..=1, &[Text], R::Bool),
    of("isCIDR", Plain, 1..=1, &[Text], R::Bool),
    of("isGlobalUnicast", Method, 0..=0, &[Opaque], R::Bool),
    of("isGreaterThan", Method, 1..=1, &[Opaque], R::Bool),
    of("isIP", Plain, 1..=1, &[Text], R::Bool),
    of("isInteger", Method, 0..=0, &[Opaque], R::Bool),
    of("isLessThan", Method, 1..=1, &[Opaque], R::Bool),
    of("isLinkLocalMulticast", Method, 0..=0, &[Opaque], R::Bool),
    of("isLinkLocalUnicast", Method, 0..=0, &[Opaque], R::Bool),
    of("isLoopback", Method, 0..=0, &[Opaque], R::Bool),
    of("isQuantity", Plain, 1..=1, &[Text], R::Bool),
    of("isSemver", Plain, 1..=2, &[Text], R::Bool),
    of("isSorted", Method, 0..=0, &[], R::Bool),
    of("isURL", Plain, 1..=1, &[Text], R::Bool),
    of("isUnspecified", Method, 0..=0, &[Opaque], R::Bool),
    of("join", Method, 0..=1, &[List, Text], R::Text),
    of("labelValue", Either, 0..=0, &[Text], R::Text),
    of("last", Method, 0..=0, &[List], R::OptionalItem),
    of("lastIndexOf", Method, 1..=2, &[], R::Int),
    of("lists.range", Plain, 1..=1, &[Int], R::Ints),
    of("lowerAscii", Method, 0..=0, &[Text], R::Text),
    of("major", Method, 0..=0, &[Opaque], R::Int),
    of("masked", Method, 0..=0, &[Opaque], R::Opaque),
    of("matches", Either, 1..=1, &[Text, Text], R::Bool),
    of("math.abs", Plain, 1..=1, &[], R::Anything),
    of("math.bitAnd", Plain, 2..=2, &[], R::Anything),
    of("math.bitNot", Plain, 1..=1, &[], R::Anything),
    of("math.bitOr", Plain, 2..=2, &[], R::Anything),
    of("math.bitShiftLeft", Plain, 2..=2, &[], R::Anything),
    of("math.bitShiftRight", Plain, 2..=2, &[], R::Anything),
    of("math.bitXor", Plain, 2..=2, &[], R::Anything),
    of("math.ceil", Plain, 1..=1, &[], R::Double),
    of("math.floor", Plain, 1..=1, &[], R::Double),
    of("math.greatest", Plain, 1..=8, &[], R::Anything),
    of("math.isFinite", Plain, 1..=1, &[], R::Bool),
    of("math.isInf", Plain, 1..=1, &[], R::Bool),
    of("math.isNaN", Plain, 1..=1, &[], R::Bool),
    of("math.least", Plain, 1..=8, &[], R::Anything),
    of("math.round", Plain, 1..=1, &[], R::Double),
    of("math.sign", Plain, 1..=1, &[], R::Anything),
    of("math.sqrt", Plain, 1..=1, &[], R::Double),
    of("math.trunc", Plain, 1..=1, &[], R::Double),
    of("max", Method, 0..=0, &[List], R::Item),
    of("min", Method, 0..=0, &[List], R::Item),
    of("minor", Method, 0..=0, &[Opaque], R::Int),
    of("optFlatMap", Method, 2..=2, &[], R::Anything),
    of("optMap", Method, 2..=2, &[], R::Anything),
    of("optional.none", Plain, 0..=0, &[], R::Anything),
    of("optional.of", Plain, 1..=1, &[Anything], R::Optional),
    of("optional.ofNonZeroValue", Plain, 1..=1, &[Anything], R::Optional),
    of("or", Method, 1..=1, &[], R::Anything),
    of("orValue", Method, 1..=1, &[], R::Anything),
    of("patch", Method, 0..=0, &[Opaque], R::Int),
    of("pod.displayName", Plain, 0..=0, &[], R::Text),
    of("prefixLength", Method, 0..=0, &[Opaque], R::Int),
    of("quantity", Plain, 1..=1, &[Text], R::Opaque),
    of("replace", Method, 2..=3, &[Text, Text, Text, Int], R::Text),
    of("reverse", Method, 0..=0, &[], R::Same),
    of("semver", Plain, 1..=2, &[Text], R::Opaque),
    of("sets.contains", Plain, 2..=2, &[], R::Bool),
    of("sets.equivalent", Plain, 2..=2, &[], R::Bool),
    of("sets.intersects", Plain, 2..=2, &[], R::Bool),
    of("sign", Either, 0..=0, &[], R::Int),
    of("size", Either, 0..=0, &[Sized], R::Int),
    of("slice", Method, 2..=2, &[List, Int, Int], R::Same),
    of("sort", Method, 0..=0, &[List], R::Same),
    of("split", Method, 1..=2, &[Text, Text, Int], R::Texts),
    of("startsWith", Method, 1..=1, &[Text, Text], R::Bool),
    of("string", Either, 0..=0, &[], R::Text),
    of("strings.quote", Plain, 1..=1, &[Text], R::Text),
    of("sub", Method, 1..=1, &[Opaque], R::Opaque),
    of("substring", Method, 1..=2, &[Text, Int, Int], R::Text),
    of("sum", Either, 0..=0, &[], R::Anything),
    of("trim", Method, 0..=0, &[Text], R::Text),
    of("uint", Plain, 1..=1, &[], R::Uint),
    of("upperAscii", Method, 0..=0, &[Text], R::Text),
    of("url", Plain, 1..=1, &[Text], R::Opaque),
    of("value", Method, 0..=0, &[Optional], R::Item),
];

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

/// The macros, which the parser expands.
pub(crate) const MACROS: &[&str] = &["all", "exists", "exists_one", "filter", "has", "map"];
