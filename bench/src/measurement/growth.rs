//! S12: how the cost of a call of the injector grows with rules, templates, annotations and containers.

use super::rounds::Case;
use crate::certificates::Key;
use crate::figure::{CPU, Figure, Row};
use crate::load::Closed;
use crate::run::{Bench, Expected};
use crate::servers::{floor, injector_of};
use bench::review::{Review, SMALL, Shape};
use bench::rules::Rules;

/// The case.
pub(crate) const CASE: &str = "growth of the injector (warn)";
/// The step with 50 rules that act.
pub(crate) const FIFTY: &str = "50 × rule that acts";
/// One more unit costs this many microseconds.
pub(crate) const SLOPE: &str = "µs each";

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let rules = |acting, others| Rules { acting, others };
    let templates = [1, 10, 50].map(|count| (count, rules(count, 0), SMALL));
    let others = [0, 50, 200].map(|count| (count, rules(1, count), SMALL));
    let annotations = [2, 50, 200].map(|count| (count, rules(1, 0), Shape::Annotations(count)));
    let containers = [2, 50, 200].map(|count| (count, rules(1, 0), Shape::Containers(count)));
    let mut rows = Vec::new();
    for (unit, steps) in [
        ("rule that acts", templates),
        ("rule for other Pods", others),
        ("annotation", annotations),
        ("container", containers),
    ] {
        let mut measured = Vec::new();
        for (count, rules, shape) in steps {
            let row = at(bench, rules, shape, &format!("{count} × {unit}")).await?;
            measured.extend(row.map(|row| (count, row)));
        }
        slope(&mut measured);
        rows.extend(bench.shown(measured.into_iter().map(|(_, row)| row).collect()));
    }
    Ok(rows)
}

/// The row of the injector with these rules.
async fn at(bench: &mut Bench, rules: Rules, shape: Shape, name: &str) -> anyhow::Result<Option<Row>> {
    let review = Review::new(shape)?;
    let expected = Expected::Sidecars(rules.acting);
    let servers = bench.agreeing(vec![floor(), injector_of(rules)], &review, expected).await?;
    let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
    let load = Closed { connections: 16, reconnects: false, warm_up, during };
    let case = Case {
        scenario: "S12",
        name: name.to_owned(),
        review: &review,
        key: Key::P256,
        is_classic: false,
        load,
    };
    let row = case.run(bench, &servers).await?.into_iter().nth(1);
    Ok(row.map(|mut row| {
        row.server = name.to_owned();
        CASE.clone_into(&mut row.case);
        row
    }))
}

/// The slope from the first to each further count, in every round.
fn slope(rows: &mut [(usize, Row)]) {
    let Some((first, begin)) = rows.first() else { return };
    let (first, begin) = (*first, begin.figure(CPU).cloned().unwrap_or_else(|| Figure::new(CPU)));
    for (count, row) in rows.iter_mut().skip(1) {
        let Some(figure) = row.figure(CPU).cloned() else { continue };
        let units = count.saturating_sub(first).max(1) as f64;
        for (less, more) in begin.rounds.iter().zip(&figure.rounds) {
            row.add(SLOPE, (more - less) / units);
        }
    }
}
