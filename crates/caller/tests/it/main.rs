//! The judge's table, the review as the API server writes it, and the client against a small server of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    missing_docs
)]

mod calling;
mod expectation;
mod fixture;
mod judging;
mod patching;
mod pooling;
mod recorded;
mod reviewing;
mod server;

use vestibule_caller::{Hook, Review, ReviewVersion};

use self::fixture::{UID, allowed, answered, mutating, pod, review};

fn review_v1beta1() -> Review {
    Review::create(pod()).version(ReviewVersion::V1Beta1).uid(UID).build().unwrap()
}

fn validating() -> Hook {
    Hook::validating("v.example.com", "/validate")
}
