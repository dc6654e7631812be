//! S1 to S3: keep-alive connections, one call after the other.

use super::rounds::Case;
use crate::certificates::Key;
use crate::figure::Row;
use crate::load::Closed;
use crate::run::{Bench, Expected};
use crate::servers::{Server, allowing, denying, mutating, of_deployments};
use bench::review::{LARGE, MIDDLE, Review, SMALL, Shape};

/// S1: every server makes the same change.
pub(super) async fn changed(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let baseline = bench.options.baseline.clone();
    let mut rows = Vec::new();
    for (shape, connections) in sizes(bench) {
        let servers = mutating(baseline.as_deref());
        rows.extend(measured(bench, "S1", servers, shape, Expected::Sidecars(1), &connections).await?);
    }
    if !bench.options.main_cases_only() && bench.options.sizes.is_empty() {
        for shape in [Shape::Containers(200), Shape::Unicode] {
            let servers = mutating(baseline.as_deref());
            rows.extend(measured(bench, "S1", servers, shape, Expected::Sidecars(1), &[16]).await?);
        }
        let servers = of_deployments(baseline.as_deref());
        let expected = Expected::Sidecars(1);
        rows.extend(measured(bench, "S1", servers, Shape::Deployment, expected, &[16]).await?);
    }
    Ok(rows)
}

/// S2: every server allows the object as it is.
pub(super) async fn allowed(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let shapes = [Shape::OtherPod(8_000), Shape::OtherPod(92_000), Shape::Update(16_000)];
    for shape in shapes.into_iter().take(bench.options.cases(3)) {
        let servers = allowing(bench.options.baseline.as_deref());
        rows.extend(measured(bench, "S2", servers, shape, Expected::Unchanged, &[16]).await?);
    }
    Ok(rows)
}

/// S3: every server denies the object with a message.
pub(super) async fn denied(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let servers = denying(bench.options.baseline.as_deref());
    measured(bench, "S3", servers, SMALL, Expected::Denied, &[16]).await
}

async fn measured(
    bench: &mut Bench,
    scenario: &'static str,
    servers: Vec<Server>,
    shape: Shape,
    expected: Expected,
    connections: &[usize],
) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(shape)?;
    let servers = bench.agreeing(servers, &review, expected).await?;
    let mut rows = Vec::new();
    for connections in connections.iter().copied() {
        let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
        let load = Closed { connections, reconnects: false, warm_up, during };
        let name = format!("{shape}, {connections} connection{}", if connections == 1 { "" } else { "s" });
        let case = Case { scenario, name, review: &review, key: Key::P256, is_classic: false, load };
        let measured = case.run(bench, &servers).await?;
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}

/// The shapes, and for each the numbers of connections.
fn sizes(bench: &Bench) -> Vec<(Shape, Vec<usize>)> {
    let options = &bench.options;
    if !options.sizes.is_empty() {
        return options.sizes.iter().map(|size| (Shape::Pod(*size), vec![16])).collect();
    }
    if options.main_cases_only() {
        return vec![(SMALL, vec![16]), (MIDDLE, vec![16])];
    }
    vec![(SMALL, vec![1, 16, 64]), (MIDDLE, vec![16]), (LARGE, vec![4])]
}
