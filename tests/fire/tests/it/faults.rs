//! The fault table of the certificates, row by row, on real API servers: `docs/reference/rotation-faults.md` says which
//! test is for which row.

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
