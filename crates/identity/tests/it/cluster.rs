//! The ring on a real API server.

mod bundles;
mod fixture;
mod listener;
mod rights;
mod ring;
mod start;
