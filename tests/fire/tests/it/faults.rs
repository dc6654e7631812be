//! Tests of docs/reference/rotation-faults.md on real API servers; that page names the test of each row.

mod bad_input;
mod clock;
mod crash;
mod fixture;
mod names;
mod partition;
mod registrations;
mod requests;
mod ring;
mod secrets_in_logs;
mod versions;
