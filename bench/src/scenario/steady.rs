//! S1: every server makes the same change to Pods of three sizes.

use super::rounds::Case;
use crate::bench::Bench;
use crate::certificates::Key;
use crate::figure::Row;
use crate::load::Closed;
use crate::review::{LARGE, MIDDLE, Review, SMALL, Shape};

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (shape, connections) in cases(bench) {
        let review = Review::new(shape)?;
        let servers = bench.agreeing(&review, 1).await?;
        for connections in connections {
            let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
            let load = Closed { connections, reconnects: false, warm_up, during };
            let name = format!("{shape}, {connections} connections");
            let case = Case { scenario: "S1", name, review: &review, key: Key::P256, load };
            bench.begin(&case.name);
            let measured = case.run(bench, &servers).await?;
            rows.extend(bench.shown(measured));
        }
    }
    Ok(rows)
}

/// The shapes, and for each the numbers of connections.
fn cases(bench: &Bench) -> Vec<(Shape, Vec<usize>)> {
    let options = &bench.options;
    if !options.sizes.is_empty() {
        return options.sizes.iter().map(|size| (Shape::Pod(*size), vec![16])).collect();
    }
    if options.quick {
        return vec![(SMALL, vec![16]), (MIDDLE, vec![16])];
    }
    vec![(SMALL, vec![1, 16, 64]), (MIDDLE, vec![16]), (LARGE, vec![4])]
}
