//! Tests of every example on a real kube-apiserver, and of its length. They are in `tests/it`, one module for each example; start at
//! `tests/it/main.rs`.

/// The code on the page of comparisons compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../COMPARE.md")]
struct Compare;
