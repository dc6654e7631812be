//! The rules in force at a replica, from `/readyz?verbose`.

use std::net::SocketAddr;

use crate::rig::get;
use anyhow::Context;

/// The rules in force at a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) hash: String,
    /// Whether the newest rule documents have errors.
    pub(super) wrong: bool,
}

/// Asks a replica for its rules.
pub(super) async fn rules(probes: SocketAddr) -> anyhow::Result<Rules> {
    let text = get(probes, "/readyz?verbose").await?;
    let line = text.lines().find_map(|line| line.strip_prefix("configuration: hash "));
    let line = line.with_context(|| format!("no rules in force: {text}"))?;
    let (hash, rest) = line.split_once(',').context("a hash")?;
    Ok(Rules { hash: hash.to_owned(), wrong: rest.contains("wrong in the newest texts") })
}
