//! The table of functions: name, way of calling, number of arguments.

use std::ops::RangeInclusive;

/// A function or method.
pub(crate) struct Function {
    /// The name, with the namespace.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The number of arguments without the receiver.
    pub(crate) arguments: RangeInclusive<usize>,
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

use Form::{Either, Function as Plain, Method};

const fn of(name: &'static str, form: Form, least: usize, most: usize) -> Function {
    Function { name, form, arguments: least..=most }
}

/// Every function.
pub(crate) static TABLE: &[Function] = &[
    of("add", Method, 1, 1),
    of("asApproximateFloat", Method, 0, 0),
    of("asInteger", Method, 0, 0),
    of("bool", Plain, 1, 1),
    of("charAt", Method, 1, 1),
    of("cidr", Plain, 1, 1),
    of("compareTo", Method, 1, 1),
    of("contains", Method, 1, 1),
    of("containsCIDR", Method, 1, 1),
    of("containsIP", Method, 1, 1),
    of("distinct", Method, 0, 0),
    of("double", Plain, 1, 1),
    of("duration", Plain, 1, 1),
    of("dyn", Plain, 1, 1),
    of("endsWith", Method, 1, 1),
    of("family", Method, 0, 0),
    of("find", Method, 1, 1),
    of("findAll", Method, 1, 2),
    of("first", Method, 0, 0),
    of("flatten", Method, 0, 1),
    of("format", Method, 1, 1),
    of("getEscapedPath", Method, 0, 0),
    of("getHost", Method, 0, 0),
    of("getHostname", Method, 0, 0),
    of("getHours", Method, 0, 0),
    of("getMilliseconds", Method, 0, 0),
    of("getMinutes", Method, 0, 0),
    of("getPort", Method, 0, 0),
    of("getQuery", Method, 0, 0),
    of("getScheme", Method, 0, 0),
    of("getSeconds", Method, 0, 0),
    of("hasValue", Method, 0, 0),
    of("indexOf", Method, 1, 2),
    of("int", Plain, 1, 1),
    of("ip", Either, 0, 0),
    of("ip.isCanonical", Plain, 1, 1),
    of("isCIDR", Plain, 1, 1),
    of("isGlobalUnicast", Method, 0, 0),
    of("isGreaterThan", Method, 1, 1),
    of("isIP", Plain, 1, 1),
    of("isInteger", Method, 0, 0),
    of("isLessThan", Method, 1, 1),
    of("isLinkLocalMulticast", Method, 0, 0),
    of("isLinkLocalUnicast", Method, 0, 0),
    of("isLoopback", Method, 0, 0),
    of("isQuantity", Plain, 1, 1),
    of("isSemver", Plain, 1, 2),
    of("isSorted", Method, 0, 0),
    of("isURL", Plain, 1, 1),
    of("isUnspecified", Method, 0, 0),
    of("join", Method, 0, 1),
    of("labelValue", Either, 0, 0),
    of("last", Method, 0, 0),
    of("lastIndexOf", Method, 1, 2),
    of("lists.range", Plain, 1, 1),
    of("lowerAscii", Method, 0, 0),
    of("major", Method, 0, 0),
    of("masked", Method, 0, 0),
    of("matches", Either, 1, 1),
    of("math.abs", Plain, 1, 1),
    of("math.bitAnd", Plain, 2, 2),
    of("math.bitNot", Plain, 1, 1),
    of("math.bitOr", Plain, 2, 2),
    of("math.bitShiftLeft", Plain, 2, 2),
    of("math.bitShiftRight", Plain, 2, 2),
    of("math.bitXor", Plain, 2, 2),
    of("math.ceil", Plain, 1, 1),
    of("math.floor", Plain, 1, 1),
    of("math.greatest", Plain, 1, 8),
    of("math.isFinite", Plain, 1, 1),
    of("math.isInf", Plain, 1, 1),
    of("math.isNaN", Plain, 1, 1),
    of("math.least", Plain, 1, 8),
    of("math.round", Plain, 1, 1),
    of("math.sign", Plain, 1, 1),
    of("math.sqrt", Plain, 1, 1),
    of("math.trunc", Plain, 1, 1),
    of("max", Method, 0, 0),
    of("min", Method, 0, 0),
    of("minor", Method, 0, 0),
    of("optFlatMap", Method, 2, 2),
    of("optMap", Method, 2, 2),
    of("optional.none", Plain, 0, 0),
    of("optional.of", Plain, 1, 1),
    of("optional.ofNonZeroValue", Plain, 1, 1),
    of("or", Method, 1, 1),
    of("orValue", Method, 1, 1),
    of("patch", Method, 0, 0),
    of("pod.displayName", Plain, 0, 0),
    of("prefixLength", Method, 0, 0),
    of("quantity", Plain, 1, 1),
    of("replace", Method, 2, 3),
    of("reverse", Method, 0, 0),
    of("semver", Plain, 1, 2),
    of("sets.contains", Plain, 2, 2),
    of("sets.equivalent", Plain, 2, 2),
    of("sets.intersects", Plain, 2, 2),
    of("sign", Either, 0, 0),
    of("size", Either, 0, 0),
    of("slice", Method, 2, 2),
    of("sort", Method, 0, 0),
    of("split", Method, 1, 2),
    of("startsWith", Method, 1, 1),
    of("string", Either, 0, 0),
    of("strings.quote", Plain, 1, 1),
    of("sub", Method, 1, 1),
    of("substring", Method, 1, 2),
    of("sum", Either, 0, 0),
    of("trim", Method, 0, 0),
    of("uint", Plain, 1, 1),
    of("upperAscii", Method, 0, 0),
    of("url", Plain, 1, 1),
    of("value", Method, 0, 0),
];

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

/// The macros, which the parser expands.
pub(crate) const MACROS: &[&str] = &["all", "exists", "exists_one", "filter", "has", "map"];
