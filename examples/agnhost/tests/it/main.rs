//! Every path of the real binary, over TLS, in both versions of reviews.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod conversions;
mod paths;
mod process;
