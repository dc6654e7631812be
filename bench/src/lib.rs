//! The bodies, the rules and the change of the bench, for its program and for the servers that it compares.

pub mod mutation;
pub mod review;
pub mod rules;
