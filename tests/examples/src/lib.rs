//! Every example on a real kube-apiserver, and how long it is. The tests live in `tests/it`, one module an example.

/// The page beside its peers compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../COMPARE.md")]
struct Compare;
