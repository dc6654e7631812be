//! A run of the bench: its options, its processes, and the servers that take part.

use serde_json::Value;

use crate::certificates::Key;
use crate::connection::request;
use crate::figure::Row;
use crate::load::expect_success;
use crate::options::Options;
use crate::report::table;
use crate::servers::{FLOOR, Running, Server, mutating};
use bench::mutation;
use bench::review::Review;

pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) running: Running,
    /// Servers that were left out, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

/// The answer that is expected of every server but the floor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// The object with this many sidecars.
    Sidecars(usize),
    /// The object as it was.
    Unchanged,
    /// A denial with a message.
    Denied,
}

impl Bench {
    /// The [available](Self::available) servers that answer as expected. The report names the others as left out.
    pub(crate) async fn agreeing(
        &mut self,
        servers: Vec<Server>,
        review: &Review,
        expected: Expected,
    ) -> anyhow::Result<Vec<Server>> {
        let mut agreeing = Vec::new();
        for server in self.available(servers) {
            match self.agrees(&server, review, expected).await {
                Ok(()) => agreeing.push(server),
                Err(error) => self.leave_out(&server.name, format!("{}: {error:#}", review.shape)),
            }
        }
        Ok(agreeing)
    }

    /// The servers that take part in cases of the Pod of `review`, to which each adds one sidecar.
    pub(crate) async fn mutating(&mut self, review: &Review) -> anyhow::Result<Vec<Server>> {
        let servers = mutating(self.options.baseline.as_deref());
        self.agreeing(servers, review, Expected::Sidecars(1)).await
    }

    /// The built servers that the options want, and the floor.
    pub(crate) fn available(&mut self, servers: Vec<Server>) -> Vec<Server> {
        let mut available = Vec::new();
        for server in servers {
            if server.name != FLOOR && !self.options.wants(&server.name) {
                continue;
            }
            if self.running.program(&server.backend).is_some() {
                available.push(server);
            } else if server.backend.folder.is_none() {
                self.leave_out(&server.name, format!("{} was not built", server.backend.program));
            }
        }
        available
    }

    fn leave_out(&mut self, name: &str, reason: String) {
        let line = (name.to_owned(), reason);
        if !self.left_out.contains(&line) {
            println!("left out: {name} ({})", line.1);
            self.left_out.push(line);
        }
    }

    async fn agrees(&mut self, server: &Server, review: &Review, expected: Expected) -> anyhow::Result<()> {
        let process = self.running.process(&server.backend, Key::P256).await?;
        if server.name == FLOOR {
            return Ok(());
        }
        let mut connection = self.running.target(&process)?.connect().await?;
        let answer = connection.call(&request(server.path, &review.body)).await?;
        expect_success(&answer)?;
        let verdict = mutation::read(review, &answer.body)?;
        let object: Value = match expected {
            Expected::Sidecars(sidecars) => mutation::changed(&review.object, sidecars)?,
            Expected::Unchanged => review.object.clone(),
            Expected::Denied => {
                anyhow::ensure!(!verdict.allowed, "it allows the request");
                anyhow::ensure!(!verdict.message.is_empty(), "the denial has no message");
                return Ok(());
            }
        };
        anyhow::ensure!(verdict.allowed, "it denies the request: {}", verdict.message);
        mutation::compare(&object, &verdict.object)
    }

    /// Prints the rows below their case and hands them on.
    pub(crate) fn shown(&self, rows: Vec<Row>) -> Vec<Row> {
        if let Some(row) = rows.first() {
            println!("\n{}, {}", row.scenario, row.case);
        }
        print!("{}", table::of(&rows));
        rows
    }
}
