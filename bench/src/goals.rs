//! The goals G1 to G17 of the design, judged by the medians of a run.

use std::fmt;

use crate::figure::{CPU, Figure, P99, P999, RATIO, Row};
use crate::measurement::{connections, growth, memory, overload, rotation, start};
use crate::report::table::number;
use crate::servers::{FLOOR, INJECTOR, INJECTOR_WARN, PEERS, TYPED};

/// A goal with its parts.
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) parts: Vec<Part>,
}

/// A figure with its limits.
pub(crate) struct Part {
    pub(crate) what: &'static str,
    /// `None` if the run has no such figure.
    pub(crate) measured: Option<f64>,
    limit: Limit,
}

/// The limit that must hold, and the stretch.
enum Limit {
    AtMost(f64, f64),
    AtLeast(f64, f64),
}

/// Whether a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// The measured part is within the limits, and a part was not measured.
    Partly,
    NotMeasured,
}

const SMALL: &str = "Pod 8 KB, 16 connections";
const MIDDLE: &str = "Pod 92 KB, 16 connections";
const LARGE: &str = "Pod 1.4 MB, 4 connections";

/// All goals.
pub(crate) fn of(rows: &[Row], allocations: Option<u64>) -> Vec<Goal> {
    let run = Run(rows);
    let ratio = |case, server| run.median("S1", case, server, RATIO);
    let idle = |figure| run.median("S9", memory::CASE, INJECTOR, figure);
    let overloaded =
        |times: &str, figure| run.median("S8", &format!("{times} × capacity, 2 s timeout"), TYPED, figure);
    let rotated = |figure| run.median("S7", rotation::CASE, INJECTOR, figure);
    let half = |server| run.median("S4", "Pod 8 KB, half of its own capacity", server, P999);
    let (p256, rsa, classic) = (connections::P256, connections::RSA, connections::CLASSIC);
    let handshake = |case| run.median("S5", case, FLOOR, CPU);
    let slowest = |case, server, figure| run.least_multiple("S1", case, server, figure);
    vec![
        goal(
            "G1",
            "the injector at 8 KB",
            vec![
                at_most("× floor, as shipped", ratio(SMALL, INJECTOR), 1.75, 1.40),
                at_most("× floor, log level warn", ratio(SMALL, INJECTOR_WARN), 1.75, 1.40),
            ],
        ),
        goal("G2", "a typed Pod at 8 KB", vec![at_most("× floor", ratio(SMALL, TYPED), 4.5, 3.0)]),
        goal(
            "G3",
            "the injector with larger Pods",
            vec![
                at_most("× floor at 92 KB", ratio(MIDDLE, INJECTOR), 2.0, 1.5),
                at_most("× floor at 1.4 MB", ratio(LARGE, INJECTOR), 2.2, 1.5),
            ],
        ),
        goal(
            "G4",
            "the injector against frameworks in Go",
            vec![
                at_least("times less CPU at 8 KB", slowest(SMALL, INJECTOR, CPU), 50.0, 80.0),
                at_least("times less CPU at 92 KB", slowest(MIDDLE, INJECTOR, CPU), 100.0, 150.0),
                at_least("times less CPU at 1.4 MB", slowest(LARGE, INJECTOR, CPU), 100.0, 150.0),
            ],
        ),
        goal(
            "G5",
            "a typed Pod against frameworks in Go",
            vec![at_least("times less CPU at 8 KB", slowest(SMALL, TYPED, CPU), 20.0, 30.0)],
        ),
        goal(
            "G6",
            "latency of the injector",
            vec![
                at_least(
                    "times shorter p99 than frameworks in Go, saturated",
                    slowest(SMALL, INJECTOR, P99),
                    75.0,
                    130.0,
                ),
                at_most("ms p99.9 at half load", half(INJECTOR).map(|micros| micros / 1e3), 2.0, 2.0),
            ],
        ),
        goal(
            "G7",
            "a new connection for each call",
            vec![
                at_most("× floor", run.median("S5", p256, INJECTOR, RATIO), 1.3, 1.15),
                at_least(
                    "times less CPU than frameworks in Go",
                    run.least_multiple("S5", p256, INJECTOR, CPU),
                    8.0,
                    10.0,
                ),
                at_least(
                    "times less CPU than controller-runtime with RSA-2048",
                    run.median("S5", rsa, PEERS[0], CPU)
                        .zip(run.median("S5", p256, INJECTOR, CPU))
                        .map(|(peer, own)| peer / own),
                    14.0,
                    14.0,
                ),
            ],
        ),
        goal(
            "G8",
            "the hybrid key exchange by default",
            vec![at_most(
                "µs more for each handshake",
                handshake(p256).zip(handshake(classic)).map(|(hybrid, classic)| hybrid - classic),
                25.0,
                17.0,
            )],
        ),
        goal(
            "G9",
            "rotation under load",
            vec![
                at_most(
                    "calls or handshakes failed",
                    run.most("S7", rotation::CASE, INJECTOR, rotation::FAILED),
                    0.0,
                    0.0,
                ),
                at_most(
                    "connections closed",
                    run.most("S7", rotation::CASE, INJECTOR, rotation::CLOSED),
                    0.0,
                    0.0,
                ),
                at_most("% of the p99 without rotation", rotated(rotation::CHANGE), 105.0, 105.0),
            ],
        ),
        goal(
            "G10",
            "heap allocations of a call",
            vec![at_most("allocations of the framework", allocations.map(|count| count as f64), 12.0, 6.0)],
        ),
        goal(
            "G11",
            "start with a new CA and certificate",
            vec![at_most(
                "ms to the first answer",
                run.median("S10", start::NEW, INJECTOR, start::FIRST_ANSWER),
                35.0,
                28.0,
            )],
        ),
        goal("G12", "memory at rest, rules from a file", vec![at_most("MB", idle(memory::IDLE), 10.0, 7.0)]),
        goal(
            "G13",
            "peak memory with 64 connections",
            vec![
                at_most("MB at 8 KB", idle("peak 64 × Pod 8 KB"), 16.0, 12.0),
                at_most("MB at 1.4 MB", idle("peak 64 × Pod 1.4 MB"), 64.0, 40.0),
            ],
        ),
        goal("G14", "an idle connection", vec![at_most("KB", idle(memory::EACH), 32.0, 16.0)]),
        goal(
            "G15",
            "overload of a handler of 1 ms",
            vec![
                at_least("% goodput at 2 ×", overloaded("2", overload::GOODPUT), 95.0, 95.0),
                at_least("% goodput at 4 ×", overloaded("4", overload::GOODPUT), 95.0, 95.0),
                at_most(
                    "ms p99 at 4 × with 500 ms of queue",
                    overloaded("4", P99).map(|micros| micros / 1e3),
                    750.0,
                    750.0,
                ),
                at_most("% memory at 4 ×", overloaded("4", overload::GROWTH), 200.0, 200.0),
            ],
        ),
        goal(
            "G16",
            "the stripped program of the injector",
            vec![at_most("MB", idle(memory::PROGRAM), 9.0, 6.5)],
        ),
        goal(
            "G17",
            "50 rules that act in place of one",
            vec![at_most(
                "µs more",
                run.median("S12", growth::CASE, growth::FIFTY, growth::SLOPE).map(|slope| slope * 49.0),
                10.0,
                3.0,
            )],
        ),
    ]
}

fn goal(name: &'static str, text: &'static str, parts: Vec<Part>) -> Goal {
    Goal { name, text, parts }
}

fn at_most(what: &'static str, measured: Option<f64>, must: f64, stretch: f64) -> Part {
    Part { what, measured, limit: Limit::AtMost(must, stretch) }
}

fn at_least(what: &'static str, measured: Option<f64>, must: f64, stretch: f64) -> Part {
    Part { what, measured, limit: Limit::AtLeast(must, stretch) }
}

/// The rows of a run.
struct Run<'r>(&'r [Row]);

impl Run<'_> {
    fn row(&self, scenario: &str, case: &str, server: &str) -> Option<&Row> {
        self.0.iter().find(|row| row.scenario == scenario && row.case == case && row.server == server)
    }

    fn median(&self, scenario: &str, case: &str, server: &str, figure: &str) -> Option<f64> {
        Some(self.row(scenario, case, server)?.figure(figure)?.median())
    }

    fn most(&self, scenario: &str, case: &str, server: &str, figure: &str) -> Option<f64> {
        Some(self.row(scenario, case, server)?.figure(figure)?.most())
    }

    /// How many times less `server` needs than the peer that needs least, by the median over rounds.
    fn least_multiple(&self, scenario: &str, case: &str, server: &str, figure: &str) -> Option<f64> {
        let own = self.row(scenario, case, server)?.figure(figure)?;
        let peers = PEERS.iter().filter_map(|peer| self.row(scenario, case, peer)?.figure(figure));
        peers.map(|peer| multiple(peer, own)).reduce(f64::min)
    }
}

/// The median of the quotients of each round.
fn multiple(more: &Figure, less: &Figure) -> f64 {
    let rounds = more.rounds.iter().zip(&less.rounds).map(|(more, less)| more / less).collect();
    Figure { name: String::new(), rounds }.median()
}

impl Goal {
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = || self.parts.iter().map(Part::holds);
        if verdicts().any(|holds| holds == Some(false)) {
            Verdict::Missed
        } else if verdicts().all(|holds| holds == Some(true)) {
            Verdict::Met
        } else if verdicts().any(|holds| holds.is_some()) {
            Verdict::Partly
        } else {
            Verdict::NotMeasured
        }
    }
}

impl Part {
    /// Whether the must holds.
    fn holds(&self) -> Option<bool> {
        let measured = self.measured?;
        Some(match self.limit {
            Limit::AtMost(must, _) => measured <= must,
            Limit::AtLeast(must, _) => measured >= must,
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, must, stretch) = match self.limit {
            Limit::AtMost(must, stretch) => ("≤", must, stretch),
            Limit::AtLeast(must, stretch) => ("≥", must, stretch),
        };
        let measured = self.measured.map_or_else(|| "-".to_owned(), number);
        write!(out, "{measured} {} (must {sign} {must}", self.what)?;
        if (must - stretch).abs() > f64::EPSILON {
            write!(out, ", stretch {sign} {stretch}")?;
        }
        out.write_str(")")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Partly => "partly measured",
            Self::NotMeasured => "not measured",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scenario: &str, case: &str, server: &str, figure: &str, rounds: &[f64]) -> Row {
        let mut row = Row::new(scenario, case, server);
        rounds.iter().for_each(|value| row.add(figure, *value));
        row
    }

    fn verdict(rows: &[Row], name: &str) -> Verdict {
        of(rows, None).iter().find(|goal| goal.name == name).unwrap().verdict()
    }

    #[test]
    fn a_goal_is_met_if_every_part_holds() {
        let ratio = |case, value| row("S1", case, INJECTOR, RATIO, &[value]);
        assert_eq!(verdict(&[], "G3"), Verdict::NotMeasured);
        assert_eq!(verdict(&[ratio(MIDDLE, 1.9)], "G3"), Verdict::Partly);
        assert_eq!(verdict(&[ratio(MIDDLE, 2.1)], "G3"), Verdict::Missed);
        assert_eq!(verdict(&[ratio(MIDDLE, 1.9), ratio(LARGE, 2.2)], "G3"), Verdict::Met);
        assert_eq!(verdict(&[ratio(MIDDLE, 1.9), ratio(LARGE, 2.3)], "G3"), Verdict::Missed);
    }

    #[test]
    fn multiples_are_of_the_same_round_and_of_the_better_peer() {
        let cpu = |server, rounds: &[f64]| row("S1", SMALL, server, CPU, rounds);
        let mut rows = vec![cpu(TYPED, &[10.0, 20.0]), cpu(PEERS[0], &[200.0, 500.0])];
        assert_eq!(verdict(&rows, "G5"), Verdict::Met);
        rows.push(cpu(PEERS[1], &[190.0, 380.0]));
        assert_eq!(verdict(&rows, "G5"), Verdict::Missed);
    }

    #[test]
    fn every_goal_is_there() {
        let goals = of(&[], Some(12));
        let names: Vec<_> = goals.iter().map(|goal| goal.name.to_owned()).collect();
        assert_eq!(names, (1..=17).map(|number| format!("G{number}")).collect::<Vec<_>>());
        assert_eq!(goals[9].verdict(), Verdict::Met);
        assert_eq!(
            goals[9].parts[0].to_string(),
            "12.0 allocations of the framework (must ≤ 12, stretch ≤ 6)"
        );
    }
}
