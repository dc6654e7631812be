//! The ring on a real API server.

mod bundles;
mod fixture;
mod rights;
mod ring;
mod start;
