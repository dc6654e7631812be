//! S9: memory at rest, with idle connections, and under load; each server in a new process. And the size of the programs.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::certificates::Key;
use crate::connection::request;
use crate::figure::Row;
use crate::load::{Closed, expect_success};
use crate::run::Bench;
use crate::servers::{Server, mutating};
use bench::review::{LARGE, MIDDLE, Review, SMALL, Shape};

/// The case.
pub(crate) const CASE: &str = "memory in MB";
/// Resident memory after the start.
pub(crate) const IDLE: &str = "idle";
/// KB of an idle connection.
pub(crate) const EACH: &str = "KB each idle connection";
/// The size of the program without symbols, in MB.
pub(crate) const PROGRAM: &str = "stripped program";
/// Idle connections. The injector holds 4,096 by default.
const HELD: usize = 4_000;
/// Connections of the loads.
const CONNECTIONS: usize = 64;
/// How long each load takes.
const DURING: Duration = Duration::from_secs(3);

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let baseline = bench.options.baseline.clone();
    let mut rows = Vec::new();
    let idle = if bench.options.quick { 500 } else { HELD };
    for server in bench.available(mutating(baseline.as_deref())) {
        let mut row = Row::new("S9", CASE, &server.name);
        if let Err(error) = measured(bench, &server, idle, &mut row).await {
            row.note(format!("failed: {error:#}"));
        }
        rows.push(row);
    }
    Ok(bench.shown(rows))
}

async fn measured(bench: &Bench, server: &Server, idle: usize, row: &mut Row) -> anyhow::Result<()> {
    let program = bench.running.program(&server.backend);
    match program.map(|program| stripped(&program)) {
        Some(Ok(size)) => row.add(PROGRAM, size as f64 / 1e6),
        Some(Err(error)) => row.note(format!("size not measured: {error:#}")),
        None => {}
    }
    let process = bench.running.start(&server.backend, Key::P256).await?;
    row.add(IDLE, megabytes(process.memory()?.0));
    drop(process);

    let process = bench.running.start(&server.backend, Key::P256).await?;
    let target = bench.running.target(&process)?;
    let small = request(server.path, &Review::new(SMALL)?.body);
    let mut connection = target.connect().await?;
    expect_success(&connection.call(&small).await?)?;
    let before = process.memory()?.0;
    let mut connections = vec![connection];
    while connections.len() <= idle {
        let mut connection = target.connect().await?;
        expect_success(&connection.call(&small).await?)?;
        connections.push(connection);
    }
    let grown = process.memory()?.0.saturating_sub(before);
    row.add(EACH, grown as f64 * 1024.0 / 1e3 / idle as f64);
    drop((connections, process));

    let shapes: [Shape; 3] = [SMALL, MIDDLE, LARGE];
    for shape in shapes {
        let process = bench.running.start(&server.backend, Key::P256).await?;
        let target = bench.running.target(&process)?;
        let request: Arc<[u8]> = request(server.path, &Review::new(shape)?.body).into();
        let (warm_up, during) = (Duration::ZERO, DURING);
        let load = Closed { connections: CONNECTIONS, reconnects: false, warm_up, during };
        load.run(&process, &target, &request).await?;
        row.add(&format!("peak {CONNECTIONS} × {shape}"), megabytes(process.memory()?.1));
    }
    Ok(())
}

/// The size of a program without symbols, in bytes.
fn stripped(program: &Path) -> anyhow::Result<u64> {
    let file = tempfile::NamedTempFile::new()?;
    let status = Command::new("strip").arg("-o").arg(file.path()).arg(program).status();
    anyhow::ensure!(status.context("cannot start strip")?.success(), "strip failed");
    Ok(file.path().metadata()?.len())
}

/// MB of KiB.
fn megabytes(kibibytes: u64) -> f64 {
    kibibytes as f64 * 1024.0 / 1e6
}
