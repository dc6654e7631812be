//! The table of functions: name, way of calling, number and types of arguments, type of the result, and body.

use std::ops::RangeInclusive;

use kube_cel::cel::Value;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::quantity;
use super::super::types::{Argument, ResultType as R};
use super::{format, general, library, strings};
use Argument::{Anything, Duration, Int, List, Opaque, Optional, Sized, Text};
use Body::{DisplayName, OptionalMap, Or};
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
    pub(crate) body: Body,
}

/// What evaluates a call.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// All arguments are evaluated first.
    Eager(Eager),
    /// `or` and `orValue`, which gives the content of the optional.
    Or { unwraps: bool },
    /// `optFlatMap`, and `optMap`, which makes an optional of the result.
    OptionalMap { wraps: bool },
    /// The name of the object.
    DisplayName,
}

/// Calls the function of this name.
pub(crate) type Eager = fn(&str, &[Value], &Budget) -> Result<Value, EvaluationError>;

const FORMAT: Body = Body::Eager(format::call);
const GENERAL: Body = Body::Eager(general::call);
const LIBRARY: Body = Body::Eager(library::function);
const LIBRARY_METHOD: Body = Body::Eager(library::method);
const QUANTITY: Body = Body::Eager(|name, arguments, _| quantity::call(name, arguments));
const STRINGS: Body = Body::Eager(strings::call);

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
    body: Body,
) -> Function {
    Function { name, form, arguments, takes, gives, body }
}

/// Every function.
pub(crate) static TABLE: &[Function] = &[
    of("add", Method, 1..=1, &[Opaque], R::Opaque, QUANTITY),
    of("asApproximateFloat", Method, 0..=0, &[Opaque], R::Double, QUANTITY),
    of("asInteger", Method, 0..=0, &[Opaque], R::Int, QUANTITY),
    of("bool", Plain, 1..=1, &[], R::Bool, GENERAL),
    of("charAt", Method, 1..=1, &[Text, Int], R::Text, LIBRARY_METHOD),
    of("cidr", Plain, 1..=1, &[Text], R::Opaque, LIBRARY),
    of("compareTo", Method, 1..=1, &[], R::Int, GENERAL),
    of("contains", Method, 1..=1, &[Text, Text], R::Bool, STRINGS),
    of("containsCIDR", Method, 1..=1, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("containsIP", Method, 1..=1, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("distinct", Method, 0..=0, &[List], R::Same, LIBRARY_METHOD),
    of("double", Plain, 1..=1, &[], R::Double, GENERAL),
    of("duration", Plain, 1..=1, &[Text], R::Duration, GENERAL),
    of("dyn", Plain, 1..=1, &[], R::Anything, GENERAL),
    of("endsWith", Method, 1..=1, &[Text, Text], R::Bool, STRINGS),
    of("family", Method, 0..=0, &[Opaque], R::Int, LIBRARY_METHOD),
    of("find", Method, 1..=1, &[Text, Text], R::Text, STRINGS),
    of("findAll", Method, 1..=2, &[Text, Text, Int], R::Texts, STRINGS),
    of("first", Method, 0..=0, &[List], R::OptionalItem, LIBRARY_METHOD),
    of("flatten", Method, 0..=1, &[], R::Anything, LIBRARY_METHOD),
    of("format", Method, 1..=1, &[Text, List], R::Text, FORMAT),
    of("getEscapedPath", Method, 0..=0, &[Opaque], R::Text, GENERAL),
    of("getHost", Method, 0..=0, &[Opaque], R::Text, GENERAL),
    of("getHostname", Method, 0..=0, &[Opaque], R::Text, GENERAL),
    of("getHours", Method, 0..=0, &[Duration], R::Int, GENERAL),
    of("getMilliseconds", Method, 0..=0, &[Duration], R::Int, GENERAL),
    of("getMinutes", Method, 0..=0, &[Duration], R::Int, GENERAL),
    of("getPort", Method, 0..=0, &[Opaque], R::Text, GENERAL),
    of("getQuery", Method, 0..=0, &[Opaque], R::Map, GENERAL),
    of("getScheme", Method, 0..=0, &[Opaque], R::Text, GENERAL),
    of("getSeconds", Method, 0..=0, &[Duration], R::Int, GENERAL),
    of("hasValue", Method, 0..=0, &[Optional], R::Bool, GENERAL),
    of("indexOf", Method, 1..=2, &[], R::Int, STRINGS),
    of("int", Plain, 1..=1, &[], R::Int, GENERAL),
    of("ip", Either, 0..=0, &[], R::Opaque, LIBRARY_METHOD),
    of("ip.isCanonical", Plain, 1..=1, &[Text], R::Bool, LIBRARY),
    of("isCIDR", Plain, 1..=1, &[Text], R::Bool, LIBRARY),
    of("isGlobalUnicast", Method, 0..=0, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("isGreaterThan", Method, 1..=1, &[Opaque], R::Bool, GENERAL),
    of("isIP", Plain, 1..=1, &[Text], R::Bool, LIBRARY),
    of("isInteger", Method, 0..=0, &[Opaque], R::Bool, QUANTITY),
    of("isLessThan", Method, 1..=1, &[Opaque], R::Bool, GENERAL),
    of("isLinkLocalMulticast", Method, 0..=0, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("isLinkLocalUnicast", Method, 0..=0, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("isLoopback", Method, 0..=0, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("isQuantity", Plain, 1..=1, &[Text], R::Bool, QUANTITY),
    of("isSemver", Plain, 1..=2, &[Text], R::Bool, GENERAL),
    of("isSorted", Method, 0..=0, &[], R::Bool, LIBRARY_METHOD),
    of("isURL", Plain, 1..=1, &[Text], R::Bool, GENERAL),
    of("isUnspecified", Method, 0..=0, &[Opaque], R::Bool, LIBRARY_METHOD),
    of("join", Method, 0..=1, &[List, Text], R::Text, STRINGS),
    of("labelValue", Either, 0..=0, &[Text], R::Text, STRINGS),
    of("last", Method, 0..=0, &[List], R::OptionalItem, LIBRARY_METHOD),
    of("lastIndexOf", Method, 1..=2, &[], R::Int, STRINGS),
    of("lists.range", Plain, 1..=1, &[Int], R::Ints, GENERAL),
    of("lowerAscii", Method, 0..=0, &[Text], R::Text, STRINGS),
    of("major", Method, 0..=0, &[Opaque], R::Int, LIBRARY_METHOD),
    of("masked", Method, 0..=0, &[Opaque], R::Opaque, LIBRARY_METHOD),
    of("matches", Either, 1..=1, &[Text, Text], R::Bool, STRINGS),
    of("math.abs", Plain, 1..=1, &[], R::Anything, LIBRARY),
    of("math.bitAnd", Plain, 2..=2, &[], R::Anything, LIBRARY),
    of("math.bitNot", Plain, 1..=1, &[], R::Anything, LIBRARY),
    of("math.bitOr", Plain, 2..=2, &[], R::Anything, LIBRARY),
    of("math.bitShiftLeft", Plain, 2..=2, &[], R::Anything, LIBRARY),
    of("math.bitShiftRight", Plain, 2..=2, &[], R::Anything, LIBRARY),
    of("math.bitXor", Plain, 2..=2, &[], R::Anything, LIBRARY),
    of("math.ceil", Plain, 1..=1, &[], R::Double, LIBRARY),
    of("math.floor", Plain, 1..=1, &[], R::Double, LIBRARY),
    of("math.greatest", Plain, 1..=8, &[], R::Anything, LIBRARY),
    of("math.isFinite", Plain, 1..=1, &[], R::Bool, LIBRARY),
    of("math.isInf", Plain, 1..=1, &[], R::Bool, LIBRARY),
    of("math.isNaN", Plain, 1..=1, &[], R::Bool, LIBRARY),
    of("math.least", Plain, 1..=8, &[], R::Anything, LIBRARY),
    of("math.round", Plain, 1..=1, &[], R::Double, LIBRARY),
    of("math.sign", Plain, 1..=1, &[], R::Anything, LIBRARY),
    of("math.sqrt", Plain, 1..=1, &[], R::Double, LIBRARY),
    of("math.trunc", Plain, 1..=1, &[], R::Double, LIBRARY),
    of("max", Method, 0..=0, &[List], R::Item, LIBRARY_METHOD),
    of("min", Method, 0..=0, &[List], R::Item, LIBRARY_METHOD),
    of("minor", Method, 0..=0, &[Opaque], R::Int, LIBRARY_METHOD),
    of("optFlatMap", Method, 2..=2, &[], R::Anything, OptionalMap { wraps: false }),
    of("optMap", Method, 2..=2, &[], R::Anything, OptionalMap { wraps: true }),
    of("optional.none", Plain, 0..=0, &[], R::Anything, GENERAL),
    of("optional.of", Plain, 1..=1, &[Anything], R::Optional, GENERAL),
    of("optional.ofNonZeroValue", Plain, 1..=1, &[Anything], R::Optional, GENERAL),
    of("or", Method, 1..=1, &[Optional], R::SameOr, Or { unwraps: false }),
    of("orValue", Method, 1..=1, &[Optional], R::ItemOr, Or { unwraps: true }),
    of("patch", Method, 0..=0, &[Opaque], R::Int, LIBRARY_METHOD),
    of("pod.displayName", Plain, 0..=0, &[], R::Text, DisplayName),
    of("prefixLength", Method, 0..=0, &[Opaque], R::Int, LIBRARY_METHOD),
    of("quantity", Plain, 1..=1, &[Text], R::Opaque, QUANTITY),
    of("replace", Method, 2..=3, &[Text, Text, Text, Int], R::Text, STRINGS),
    of("reverse", Method, 0..=0, &[], R::Same, LIBRARY_METHOD),
    of("semver", Plain, 1..=2, &[Text], R::Opaque, GENERAL),
    of("sets.contains", Plain, 2..=2, &[], R::Bool, LIBRARY),
    of("sets.equivalent", Plain, 2..=2, &[], R::Bool, LIBRARY),
    of("sets.intersects", Plain, 2..=2, &[], R::Bool, LIBRARY),
    of("sign", Either, 0..=0, &[], R::Int, QUANTITY),
    of("size", Either, 0..=0, &[Sized], R::Int, GENERAL),
    of("slice", Method, 2..=2, &[List, Int, Int], R::Same, LIBRARY_METHOD),
    of("sort", Method, 0..=0, &[List], R::Same, GENERAL),
    of("split", Method, 1..=2, &[Text, Text, Int], R::Texts, STRINGS),
    of("startsWith", Method, 1..=1, &[Text, Text], R::Bool, STRINGS),
    of("string", Either, 0..=0, &[], R::Text, GENERAL),
    of("strings.quote", Plain, 1..=1, &[Text], R::Text, LIBRARY),
    of("sub", Method, 1..=1, &[Opaque], R::Opaque, QUANTITY),
    of("substring", Method, 1..=2, &[Text, Int, Int], R::Text, LIBRARY_METHOD),
    of("sum", Either, 0..=0, &[], R::Anything, GENERAL),
    of("trim", Method, 0..=0, &[Text], R::Text, STRINGS),
    of("uint", Plain, 1..=1, &[], R::Uint, GENERAL),
    of("upperAscii", Method, 0..=0, &[Text], R::Text, STRINGS),
    of("url", Plain, 1..=1, &[Text], R::Opaque, GENERAL),
    of("value", Method, 0..=0, &[Optional], R::Item, GENERAL),
];

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

/// The macros, which the parser expands.
pub(crate) const MACROS: &[&str] = &["all", "exists", "exists_one", "filter", "has", "map"];
