#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod authority;
mod bundle;
mod leaf;
mod verify;
mod words;

use std::time::Duration;

use rustls_pki_types::UnixTime;
use vestibule_pki::Authority;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NAMES: [&str; 4] = ["hooks.demo.svc", "localhost", "127.0.0.1", "::1"];

fn now() -> UnixTime {
    at(DAY * 20_000)
}

fn at(since_epoch: Duration) -> UnixTime {
    UnixTime::since_unix_epoch(since_epoch)
}

fn later(time: Duration) -> UnixTime {
    at(DAY * 20_000 + time)
}

fn authority() -> Authority {
    Authority::new("test CA", now(), DAY * 3650).unwrap()
}
