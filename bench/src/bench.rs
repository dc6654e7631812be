//! A run of the bench: its servers and what it prints.

use anyhow::Context;

use crate::certificates::Key;
use crate::connection::request;
use crate::figure::Row;
use crate::load::expect_success;
use crate::mutation;
use crate::options::Options;
use crate::report::table;
use crate::review::Review;
use crate::servers::{self, FLOOR, Running, Server};

pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) running: Running,
    /// Servers that were built and are wanted, the floor first.
    pub(crate) servers: Vec<Server>,
    /// Servers that were left out, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new(options: Options, running: Running) -> anyhow::Result<Self> {
        let (mut found, mut left_out) = (Vec::new(), Vec::new());
        let wanted = |server: &Server| server.name == FLOOR || options.wants(&server.name);
        for server in servers::all(options.baseline.as_deref()).into_iter().filter(wanted) {
            match running.program(&server.backend) {
                Some(_) => found.push(server),
                None if server.backend.folder.is_some() => {}
                None => left_out.push((server.name, format!("{} was not built", server.backend.program))),
            }
        }
        found.iter().any(|server| server.name == FLOOR).then_some(()).context("bench-floor was not built")?;
        Ok(Self { options, running, servers: found, left_out })
    }

    /// The servers that make the change of this many sidecars to the object of the review, and the floor. The others are left
    /// out, with the first difference as the reason.
    pub(crate) async fn agreeing(&mut self, review: &Review, sidecars: usize) -> anyhow::Result<Vec<Server>> {
        let expected = mutation::changed(&review.object, sidecars)?;
        let mut agreeing = Vec::new();
        for server in self.servers.clone() {
            match self.agrees(&server, review, &expected).await {
                Ok(()) => agreeing.push(server),
                Err(error) => {
                    let reason = format!("{}: {error:#}", review.shape);
                    println!("left out: {} ({reason})", server.name);
                    self.left_out.push((server.name, reason));
                }
            }
        }
        Ok(agreeing)
    }

    async fn agrees(
        &mut self,
        server: &Server,
        review: &Review,
        expected: &serde_json::Value,
    ) -> anyhow::Result<()> {
        let process = self.running.process(&server.backend, Key::P256).await?;
        if server.name == FLOOR {
            return Ok(());
        }
        let mut connection = self.running.target(&process)?.connect().await?;
        let answer = connection.call(&request(server.path, &review.body)).await?;
        expect_success(&answer)?;
        let verdict = mutation::read(review, &answer.body)?;
        mutation::compare(expected, &verdict.object)
    }

    /// Says what is measured next.
    pub(crate) fn begin(&self, case: &str) {
        println!("\n{case}");
    }

    /// Prints the rows and hands them on.
    pub(crate) fn shown(&self, rows: Vec<Row>) -> Vec<Row> {
        print!("{}", table::of(&rows));
        rows
    }
}
