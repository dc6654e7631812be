//! Tools that edit configurations, and what becomes of the bundle in them: those that people have, and those that
//! fight for it. Calls go past the webhook under `failurePolicy: Fail` meanwhile.

mod conversions;
mod edits;
mod fixture;
mod gitops;
mod history;
mod owner;
mod releases;
