//! Calls the injector as an API server does, so that a build with counters writes a profile. Nothing is measured.
//!
//! The calls are the recorded reviews of `tests/corpus`, and the rules are those of `examples/rules`. The bench measures neither.

use std::fs;

use anyhow::{Context, bail};

use crate::certificates::Key;
use crate::connection;
use crate::servers::{Running, in_repository, training};

/// How often every review is sent. Each round has a connection of its own.
const ROUNDS: usize = 200;

/// Starts the injector, calls it, and ends it with SIGTERM.
pub(crate) async fn run(running: &Running) -> anyhow::Result<()> {
    let server = training();
    let requests = requests(server.path)?;
    let process = running.start(&server.backend, Key::P256).await?;
    let target = running.target(&process)?;
    let mut patched = 0;
    for _ in 0..ROUNDS {
        let mut connection = target.connect().await?;
        for request in &requests {
            // Reviews of other kinds than the rules have are refused, and that is a path to count too.
            let answer = connection.call(request).await?;
            patched += usize::from(String::from_utf8_lossy(&answer.body).contains("\"patchType\""));
            if answer.closes {
                connection = target.connect().await?;
            }
        }
    }
    process.terminate()?;
    println!("{} reviews, each {ROUNDS} times; {patched} answers with a patch", requests.len());
    if patched < ROUNDS {
        bail!("the rules change too few of the reviews for a profile");
    }
    Ok(())
}

fn requests(path: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let folder = in_repository("tests/corpus");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    if files.is_empty() {
        bail!("there are no reviews in {}", folder.display());
    }
    files.sort();
    files.iter().map(|file| Ok(connection::request(path, &fs::read_to_string(file)?))).collect()
}
