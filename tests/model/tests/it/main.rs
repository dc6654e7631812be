//! Every order of events of small clusters; a larger bound is `cargo xtask model --larger`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, clippy::print_stdout)]

mod explores;
mod holds;
mod mutation_cases;
mod page;
