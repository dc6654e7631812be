//! The kit, as authors use it, and its judge beside the real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;
