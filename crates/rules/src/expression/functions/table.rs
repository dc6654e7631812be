//! The table of functions: name, way of calling, number and types of arguments, type of the result, and body.

use std::ops::RangeInclusive;

use kube_cel::cel::Value;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::quantity;
use super::super::types::{Argument, Type};
use super::{format, general, library, strings};
use Argument::{Anything, Duration, Int, List, Opaque, Optional, Single, Sized, Text};
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
    pub(crate) gives: Gives,
    pub(crate) body: Body,
}

/// The type of the result, from the types of the arguments.
pub(crate) type Gives = fn(&[Type]) -> Type;

const ADDRESS: Gives = |_| Type::Address;
const ANYTHING: Gives = |_| Type::Any;
const BOOL: Gives = |_| Type::Bool;
const BYTES: Gives = |_| Type::Bytes;
const DOUBLE: Gives = |_| Type::Double;
const DURATION: Gives = |_| Type::Duration;
const INT: Gives = |_| Type::Int;
const INTS: Gives = |_| Type::list(Type::Int);
const MAP: Gives = |_| Type::Map(Vec::new());
const OPAQUE: Gives = |_| Type::Opaque;
const TEXT: Gives = |_| Type::Text;
const TEXTS: Gives = |_| Type::list(Type::Text);
const UINT: Gives = |_| Type::Uint;
/// The type of the first argument.
const SAME: Gives = |given| given.first().cloned().unwrap_or(Type::Any);
/// The type of the items of the first argument, or of its content.
const ITEM: Gives = |given| match given {
    [Type::List(inner) | Type::Optional(inner), ..] => inner.as_ref().clone(),
    _ => Type::Any,
};
const OPTIONAL: Gives = |given| Type::optional(SAME(given));
const OPTIONAL_ITEM: Gives = |given| Type::optional(ITEM(given));
/// The type of the first argument, which is optional, or of the second.
const SAME_OR: Gives = |given| match given {
    [one @ Type::Optional(_), other] => one.clone().or(other.clone()),
    _ => Type::Any,
};
/// The type of the content of the first argument, or of the second.
const ITEM_OR: Gives = |given| match given {
    [Type::Optional(inner), other] => inner.as_ref().clone().or(other.clone()),
    _ => Type::Any,
};

/// The function that evaluates a call.
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
    gives: Gives,
    body: Body,
) -> Function {
    Function { name, form, arguments, takes, gives, body }
}

/// Every function.
pub(crate) static TABLE: &[Function] = &[
    of("add", Method, 1..=1, &[Opaque], OPAQUE, QUANTITY),
    of("asApproximateFloat", Method, 0..=0, &[Opaque], DOUBLE, QUANTITY),
    of("asInteger", Method, 0..=0, &[Opaque], INT, QUANTITY),
    of("bool", Plain, 1..=1, &[], BOOL, GENERAL),
    of("bytes", Plain, 1..=1, &[], BYTES, GENERAL),
    of("charAt", Method, 1..=1, &[Text, Int], TEXT, LIBRARY_METHOD),
    of("cidr", Plain, 1..=1, &[Text], ADDRESS, GENERAL),
    of("compareTo", Method, 1..=1, &[], INT, GENERAL),
    of("contains", Method, 1..=1, &[Text, Text], BOOL, STRINGS),
    of("containsCIDR", Method, 1..=1, &[Opaque], BOOL, GENERAL),
    of("containsIP", Method, 1..=1, &[Opaque], BOOL, LIBRARY_METHOD),
    of("distinct", Method, 0..=0, &[List], SAME, LIBRARY_METHOD),
    of("double", Plain, 1..=1, &[], DOUBLE, GENERAL),
    of("duration", Plain, 1..=1, &[Text], DURATION, GENERAL),
    of("dyn", Plain, 1..=1, &[], ANYTHING, GENERAL),
    of("endsWith", Method, 1..=1, &[Text, Text], BOOL, STRINGS),
    of("family", Method, 0..=0, &[Opaque], INT, LIBRARY_METHOD),
    of("find", Method, 1..=1, &[Text, Text], TEXT, STRINGS),
    of("findAll", Method, 1..=2, &[Text, Text, Int], TEXTS, STRINGS),
    of("first", Method, 0..=0, &[List], OPTIONAL_ITEM, LIBRARY_METHOD),
    of("flatten", Method, 0..=1, &[], ANYTHING, LIBRARY_METHOD),
    of("format", Method, 1..=1, &[Text, List], TEXT, FORMAT),
    of("getEscapedPath", Method, 0..=0, &[Opaque], TEXT, GENERAL),
    of("getHost", Method, 0..=0, &[Opaque], TEXT, GENERAL),
    of("getHostname", Method, 0..=0, &[Opaque], TEXT, GENERAL),
    of("getHours", Method, 0..=0, &[Duration], INT, GENERAL),
    of("getMilliseconds", Method, 0..=0, &[Duration], INT, GENERAL),
    of("getMinutes", Method, 0..=0, &[Duration], INT, GENERAL),
    of("getPort", Method, 0..=0, &[Opaque], TEXT, GENERAL),
    of("getQuery", Method, 0..=0, &[Opaque], MAP, GENERAL),
    of("getScheme", Method, 0..=0, &[Opaque], TEXT, GENERAL),
    of("getSeconds", Method, 0..=0, &[Duration], INT, GENERAL),
    of("hasValue", Method, 0..=0, &[Optional], BOOL, GENERAL),
    of("indexOf", Method, 1..=2, &[], INT, STRINGS),
    of("int", Plain, 1..=1, &[], INT, GENERAL),
    of("ip", Either, 0..=0, &[], ADDRESS, LIBRARY_METHOD),
    of("ip.isCanonical", Plain, 1..=1, &[Text], BOOL, LIBRARY),
    of("isCIDR", Plain, 1..=1, &[Text], BOOL, GENERAL),
    of("isGlobalUnicast", Method, 0..=0, &[Opaque], BOOL, LIBRARY_METHOD),
    of("isGreaterThan", Method, 1..=1, &[Opaque], BOOL, GENERAL),
    of("isIP", Plain, 1..=1, &[Text], BOOL, LIBRARY),
    of("isInteger", Method, 0..=0, &[Opaque], BOOL, QUANTITY),
    of("isLessThan", Method, 1..=1, &[Opaque], BOOL, GENERAL),
    of("isLinkLocalMulticast", Method, 0..=0, &[Opaque], BOOL, LIBRARY_METHOD),
    of("isLinkLocalUnicast", Method, 0..=0, &[Opaque], BOOL, LIBRARY_METHOD),
    of("isLoopback", Method, 0..=0, &[Opaque], BOOL, LIBRARY_METHOD),
    of("isQuantity", Plain, 1..=1, &[Text], BOOL, QUANTITY),
    of("isSemver", Plain, 1..=2, &[Text], BOOL, GENERAL),
    of("isSorted", Method, 0..=0, &[], BOOL, LIBRARY_METHOD),
    of("isURL", Plain, 1..=1, &[Text], BOOL, GENERAL),
    of("isUnspecified", Method, 0..=0, &[Opaque], BOOL, LIBRARY_METHOD),
    of("join", Method, 0..=1, &[List, Text], TEXT, STRINGS),
    of("labelValue", Either, 0..=0, &[Text], TEXT, STRINGS),
    of("last", Method, 0..=0, &[List], OPTIONAL_ITEM, LIBRARY_METHOD),
    of("lastIndexOf", Method, 1..=2, &[], INT, STRINGS),
    of("lists.range", Plain, 1..=1, &[Int], INTS, GENERAL),
    of("lowerAscii", Method, 0..=0, &[Text], TEXT, STRINGS),
    of("major", Method, 0..=0, &[Opaque], INT, LIBRARY_METHOD),
    of("masked", Method, 0..=0, &[Opaque], ADDRESS, LIBRARY_METHOD),
    of("matches", Either, 1..=1, &[Text, Text], BOOL, STRINGS),
    of("math.abs", Plain, 1..=1, &[], ANYTHING, LIBRARY),
    of("math.bitAnd", Plain, 2..=2, &[], ANYTHING, LIBRARY),
    of("math.bitNot", Plain, 1..=1, &[], ANYTHING, LIBRARY),
    of("math.bitOr", Plain, 2..=2, &[], ANYTHING, LIBRARY),
    of("math.bitShiftLeft", Plain, 2..=2, &[], ANYTHING, LIBRARY),
    of("math.bitShiftRight", Plain, 2..=2, &[], ANYTHING, LIBRARY),
    of("math.bitXor", Plain, 2..=2, &[], ANYTHING, LIBRARY),
    of("math.ceil", Plain, 1..=1, &[], DOUBLE, LIBRARY),
    of("math.floor", Plain, 1..=1, &[], DOUBLE, LIBRARY),
    of("math.greatest", Plain, 1..=8, &[], ANYTHING, LIBRARY),
    of("math.isFinite", Plain, 1..=1, &[], BOOL, LIBRARY),
    of("math.isInf", Plain, 1..=1, &[], BOOL, LIBRARY),
    of("math.isNaN", Plain, 1..=1, &[], BOOL, LIBRARY),
    of("math.least", Plain, 1..=8, &[], ANYTHING, LIBRARY),
    of("math.round", Plain, 1..=1, &[], DOUBLE, LIBRARY),
    of("math.sign", Plain, 1..=1, &[], ANYTHING, LIBRARY),
    of("math.sqrt", Plain, 1..=1, &[], DOUBLE, LIBRARY),
    of("math.trunc", Plain, 1..=1, &[], DOUBLE, LIBRARY),
    of("max", Method, 0..=0, &[List], ITEM, LIBRARY_METHOD),
    of("min", Method, 0..=0, &[List], ITEM, LIBRARY_METHOD),
    of("minor", Method, 0..=0, &[Opaque], INT, LIBRARY_METHOD),
    of("optFlatMap", Method, 2..=2, &[], ANYTHING, OptionalMap { wraps: false }),
    of("optMap", Method, 2..=2, &[], ANYTHING, OptionalMap { wraps: true }),
    of("optional.none", Plain, 0..=0, &[], ANYTHING, GENERAL),
    of("optional.of", Plain, 1..=1, &[Anything], OPTIONAL, GENERAL),
    of("optional.ofNonZeroValue", Plain, 1..=1, &[Anything], OPTIONAL, GENERAL),
    of("or", Method, 1..=1, &[Optional], SAME_OR, Or { unwraps: false }),
    of("orValue", Method, 1..=1, &[Optional], ITEM_OR, Or { unwraps: true }),
    of("patch", Method, 0..=0, &[Opaque], INT, LIBRARY_METHOD),
    of("pod.displayName", Plain, 0..=0, &[], TEXT, DisplayName),
    of("prefixLength", Method, 0..=0, &[Opaque], INT, LIBRARY_METHOD),
    of("quantity", Plain, 1..=1, &[Text], OPAQUE, QUANTITY),
    of("replace", Method, 2..=3, &[Text, Text, Text, Int], TEXT, STRINGS),
    of("reverse", Method, 0..=0, &[], SAME, LIBRARY_METHOD),
    of("semver", Plain, 1..=2, &[Text], OPAQUE, GENERAL),
    of("sets.contains", Plain, 2..=2, &[], BOOL, LIBRARY),
    of("sets.equivalent", Plain, 2..=2, &[], BOOL, LIBRARY),
    of("sets.intersects", Plain, 2..=2, &[], BOOL, LIBRARY),
    of("sign", Either, 0..=0, &[], INT, QUANTITY),
    of("size", Either, 0..=0, &[Sized], INT, GENERAL),
    of("slice", Method, 2..=2, &[List, Int, Int], SAME, LIBRARY_METHOD),
    of("sort", Method, 0..=0, &[List], SAME, GENERAL),
    of("split", Method, 1..=2, &[Text, Text, Int], TEXTS, STRINGS),
    of("startsWith", Method, 1..=1, &[Text, Text], BOOL, STRINGS),
    of("string", Either, 0..=0, &[Single], TEXT, GENERAL),
    of("strings.quote", Plain, 1..=1, &[Text], TEXT, LIBRARY),
    of("sub", Method, 1..=1, &[Opaque], OPAQUE, QUANTITY),
    of("substring", Method, 1..=2, &[Text, Int, Int], TEXT, LIBRARY_METHOD),
    of("sum", Either, 0..=0, &[], ANYTHING, GENERAL),
    of("trim", Method, 0..=0, &[Text], TEXT, STRINGS),
    of("uint", Plain, 1..=1, &[], UINT, GENERAL),
    of("upperAscii", Method, 0..=0, &[Text], TEXT, STRINGS),
    of("url", Plain, 1..=1, &[Text], OPAQUE, GENERAL),
    of("value", Method, 0..=0, &[Optional], ITEM, GENERAL),
];

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

/// The macros, which the parser expands.
pub(crate) const MACROS: &[&str] = &["all", "exists", "exists_one", "filter", "has", "map"];
