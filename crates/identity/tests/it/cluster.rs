//! The ring on a real API server.

mod bundles;
mod clock;
mod entries;
mod fixture;
mod kinds;
mod listener;
mod rights;
mod ring;
mod silence;
mod start;
