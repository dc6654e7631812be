//! Figures of rounds: least, median and most, and their names.

use serde::{Deserialize, Serialize};

/// One figure of one server in each round.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    /// One value for each round.
    pub(crate) rounds: Vec<f64>,
}

/// The figures of one server in one case of a scenario.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Row {
    /// `S1` to `S12`.
    pub(crate) scenario: String,
    /// Body and load.
    pub(crate) case: String,
    pub(crate) server: String,
    pub(crate) figures: Vec<Figure>,
    /// Remarks: the client was the limit, an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The figure by which servers are compared: processor time of the server for each call, in microseconds.
pub(crate) const CPU: &str = "CPU µs";
/// [`CPU`] divided by that of the floor in the same round.
pub(crate) const RATIO: &str = "× floor";
pub(crate) const RATE: &str = "calls/s";
/// Latencies in microseconds.
pub(crate) const P50: &str = "p50 µs";
pub(crate) const P99: &str = "p99 µs";
pub(crate) const P999: &str = "p99.9 µs";
pub(crate) const MOST: &str = "longest µs";
/// The share of its processor that the client used, in percent.
pub(crate) const CLIENT: &str = "client %";
/// Resident memory after the round, in MB.
pub(crate) const MEMORY: &str = "MB";

impl Figure {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), rounds: Vec::new() }
    }

    pub(crate) fn least(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The middle value, or the mean of the two in the middle; NaN without rounds.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
        match (sorted.get(lower), sorted.get(upper)) {
            (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
            _ => f64::NAN,
        }
    }
}

impl Row {
    pub(crate) fn new(scenario: &str, case: &str, server: &str) -> Self {
        let (scenario, case, server) = (scenario.to_owned(), case.to_owned(), server.to_owned());
        Self { scenario, case, server, figures: Vec::new(), notes: Vec::new() }
    }

    /// Adds the value of one round.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        // Five digits say more than a measurement.
        let unit = 10_f64.powf(4.0 - value.abs().max(f64::MIN_POSITIVE).log10().floor());
        let value = if unit.is_finite() { (value * unit).round() / unit } else { value };
        match self.figures.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.rounds.push(value),
            None => {
                let mut figure = Figure::new(name);
                figure.rounds.push(value);
                self.figures.push(figure);
            }
        }
    }

    pub(crate) fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        let figure = |rounds: &[f64]| Figure { name: String::new(), rounds: rounds.to_vec() };
        assert_eq!(figure(&[4.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(figure(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert!(figure(&[]).median().is_nan());
        let all = figure(&[4.0, 1.0, 2.0]);
        assert_eq!((all.least(), all.most()), (1.0, 4.0));
    }

    #[test]
    fn values_of_one_name_are_rounds_of_one_figure() {
        let mut row = Row::new("S1", "case", "floor");
        [1.0, 3.0].into_iter().for_each(|value| row.add(CPU, value));
        row.add(RATIO, 1.0);
        assert_eq!(row.figure(CPU).map(Figure::median), Some(2.0));
        assert_eq!(row.figures.len(), 2);
        assert_eq!(row.figure(MEMORY), None);
    }
}
