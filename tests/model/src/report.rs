//! Writes the results as a page.

use std::fmt::Write;

use crate::catalogue::MutationCase;
use crate::{Counterexample, INVARIANTS, Shown, Walk};

/// Collects the results.
#[derive(Default)]
pub struct Report {
    walks: Vec<(&'static str, crate::Scenario, Walk)>,
    found: Vec<(MutationCase, Counterexample)>,
}

impl Report {
    /// A scenario was walked.
    pub fn walked(&mut self, name: &'static str, scenario: crate::Scenario, walk: Walk) {
        self.walks.push((name, scenario, walk));
    }

    /// A counterexample was found.
    pub fn found(&mut self, case: MutationCase, counterexample: Counterexample) {
        self.found.push((case, counterexample));
    }

    /// The page, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = include_str!("report/head.md").to_owned();
        self.invariants(&mut page);
        page.push_str(&self.clusters());
        page.push_str(include_str!("report/rules.md"));
        self.rules(false, &mut page);
        page.push_str(include_str!("report/carrier.md"));
        self.rules(true, &mut page);
        page.push_str(include_str!("report/example.md"));
        self.example(&mut page);
        page
    }

    /// The table of scenarios.
    #[must_use]
    pub fn clusters(&self) -> String {
        let mut page = include_str!("report/scenarios.md").to_owned();
        self.scenarios(&mut page);
        page
    }

    /// Every counterexample, step by step.
    #[must_use]
    pub fn traces(&self) -> String {
        let mut traces = String::new();
        for (case, found) in &self.found {
            heading(&mut traces, case, found);
            steps(&mut traces, found);
        }
        traces
    }

    fn invariants(&self, page: &mut String) {
        for invariant in INVARIANTS {
            let shown = match invariant.shown {
                Shown::Everywhere => "every scenario".to_owned(),
                Shown::Where(filter) => {
                    let names = self.walks.iter().filter(|(_, scenario, _)| filter(scenario));
                    names.map(|(name, ..)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                }
                Shown::Elsewhere(why) => format!("not here: {why}"),
            };
            line(page, &[invariant.says, &shown]);
        }
    }

    fn scenarios(&self, page: &mut String) {
        for (name, scenario, walk) in &self.walks {
            let size = format!(
                "{} / {} / {} / {}",
                scenario.clocks.len(),
                scenario.servers,
                scenario.configurations,
                scenario.seconds
            );
            let more = if walk.is_whole { "" } else { " and more" };
            let (states, depth) = (format!("{}{more}", thousands(walk.states)), walk.depth.to_string());
            let took = format!("{:.1}", walk.took.as_secs_f32());
            line(page, &[&format!("`{name}`"), scenario.about, &size, &states, &depth, &took]);
        }
        let states = self.walks.iter().map(|(.., walk)| walk.states).sum();
        let took: f32 = self.walks.iter().map(|(.., walk)| walk.took.as_secs_f32()).sum();
        line(page, &["all", "", "", &thousands(states), "", &format!("{took:.1}")]);
    }

    fn rules(&self, carrier: bool, page: &mut String) {
        for (case, found) in
            self.found.iter().filter(|(case, _)| case.mutation.is_of_the_carrier() == carrier)
        {
            let beside = case.beside.map_or_else(String::new, |rule| format!(" and {rule:?}"));
            let name = format!("{}{beside}", case.mutation);
            let scenario = format!("`{}`", case.name);
            let (number, steps) = (found.number(), found.steps.len().to_string());
            line(page, &[&name, case.mutation.says(), &scenario, &steps, number, &thousands(found.states)]);
        }
    }

    /// The shortest counterexample with at least five steps.
    fn example(&self, page: &mut String) {
        const ENOUGH: usize = 5;
        let told = self.found.iter().filter(|(_, found)| found.steps.len() >= ENOUGH);
        if let Some((case, found)) = told.min_by_key(|(_, found)| found.steps.len()) {
            heading(page, case, found);
            steps(page, found);
        }
    }
}

impl Counterexample {
    /// The number of the invariant that does not hold.
    #[must_use]
    pub fn number(&self) -> &'static str {
        let invariant = INVARIANTS.iter().find(|invariant| invariant.says == self.invariant);
        invariant.map_or("", |invariant| invariant.number)
    }
}

fn heading(page: &mut String, case: &MutationCase, found: &Counterexample) {
    let beside = case.beside.map_or_else(String::new, |rule| format!(" and without {rule:?}"));
    let MutationCase { mutation, name, .. } = case;
    let _ = writeln!(
        page,
        "\n### Without {mutation}{beside}, `{name}`\n\n{}: {}.\n",
        mutation.says(),
        found.invariant
    );
}

fn steps(page: &mut String, found: &Counterexample) {
    for (at, step) in found.steps.iter().enumerate() {
        let _ = writeln!(page, "{}. {step}", at + 1);
    }
}

fn line(page: &mut String, cells: &[&str]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}
