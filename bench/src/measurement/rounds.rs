//! Rounds: every server once in each, in alternating order, compared with the floor of the same round.

use std::rc::Rc;
use std::sync::Arc;

use crate::certificates::Key;
use crate::connection::{Target, request};
use crate::figure::{CLIENT, CPU, MEMORY, P50, P99, P999, RATE, RATIO, Row};
use crate::load::{Closed, Sample};
use crate::process::Process;
use crate::run::Bench;
use crate::servers::{FLOOR, Server};
use bench::review::Review;

/// A client that uses more of its processor is the limit of the rate and of latencies.
const BUSY: f64 = 90.0;

/// A case of a scenario.
pub(super) struct Case<'c> {
    pub(super) scenario: &'static str,
    pub(super) name: String,
    pub(super) review: &'c Review,
    pub(super) key: Key,
    /// Whether the client offers X25519 only, without the hybrid with ML-KEM.
    pub(super) is_classic: bool,
    pub(super) load: Closed,
}

struct Contender {
    process: Rc<Process>,
    target: Target,
    request: Arc<[u8]>,
    row: Row,
    /// Why it is measured no more.
    failed: bool,
}

impl Case<'_> {
    /// Measures the servers in rounds. A server that fails keeps the rounds before and gets a note.
    pub(super) async fn run(&self, bench: &mut Bench, servers: &[Server]) -> anyhow::Result<Vec<Row>> {
        let mut contenders = Vec::new();
        for server in servers {
            let row = Row::new(self.scenario, &self.name, &server.name);
            let process = bench.running.process(&server.backend, self.key).await?;
            let target = match self.is_classic {
                true => bench.running.classic_target(&process)?,
                false => bench.running.target(&process)?,
            };
            let request = request(server.path, &self.review.body).into();
            contenders.push(Contender { process, target, request, row, failed: false });
        }
        for round in 0..bench.options.rounds() {
            let mut floor = None;
            for position in 0..contenders.len() {
                // The floor is the first of each round, the others alternate.
                let position =
                    if round % 2 == 1 && position > 0 { contenders.len() - position } else { position };
                let Some(contender) = contenders.get_mut(position) else { continue };
                if contender.failed {
                    continue;
                }
                match self.load.run(&contender.process, &contender.target, &contender.request).await {
                    Ok(sample) => contender.add(&sample, &mut floor)?,
                    Err(error) => {
                        contender.failed = true;
                        contender.row.note(format!("failed: {error:#}"));
                    }
                }
            }
        }
        Ok(contenders.into_iter().map(|contender| contender.row).collect())
    }
}

impl Contender {
    fn add(&mut self, sample: &Sample, floor: &mut Option<f64>) -> anyhow::Result<()> {
        let seconds = sample.elapsed.as_secs_f64();
        let calls = sample.calls.max(1) as f64;
        let cpu = sample.server_cpu.as_secs_f64() * 1e6 / calls;
        let row = &mut self.row;
        row.add(CPU, cpu);
        if row.server == FLOOR {
            *floor = Some(cpu);
        }
        if let Some(floor) = *floor {
            row.add(RATIO, cpu / floor);
        }
        row.add(RATE, sample.calls as f64 / seconds);
        for (name, share) in [(P50, 0.5), (P99, 0.99), (P999, 0.999)] {
            row.add(name, sample.latency.value_at_quantile(share) as f64 / 1e3);
        }
        let client = sample.client_cpu.as_secs_f64() / seconds * 100.0;
        row.add(CLIENT, client);
        row.add(MEMORY, self.process.memory()?.0 as f64 / 1024.0);
        if client > BUSY {
            row.note("client-bound");
        }
        Ok(())
    }
}
