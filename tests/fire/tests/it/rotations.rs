//! Renewals and rotations under load: rows 1 to 3 of the fault table, in short.

use crate::fixture::Fixture;

/// Row 1, and row 2 with three replicas.
#[tokio::test]
async fn fifty_renewals_and_three_rotations_fail_no_call() {
    let arguments = ["--leaf-renewals=50", "--rotations=3", "--replicas=3", "--leaf=5", "--minutes=4"];
    let Some(fixture) = Fixture::start_or_skip(&arguments).await else { return };
    let report = fixture.soak().await;
    assert!(report.is_good(), "{report}");
    let book = &report.book;
    assert!(book.renewals() >= 50 && book.rotations >= 3 && book.switches() >= 9, "{report}");
    // Made, two CAs held; then for each rotation: asked for, promoted, removed, held. Nothing for a leaf.
    assert!(book.secret_writes <= 3 + 4 * book.promotions, "{report}");
}

/// Row 3. The cross certificate carries what the bundle of the second API server does not say yet. It is row 2 with one
/// replica as well.
#[tokio::test]
async fn an_api_server_that_lags_is_served() {
    let arguments = ["--rotations=2", "--replicas=1", "--lag=5", "--minutes=4"];
    let Some(fixture) = Fixture::start_or_skip(&arguments).await else { return };
    let report = fixture.soak().await;
    assert!(report.is_good(), "{report}");
}

/// The measure is able to fail: the same load, the same lag, and the order that others have.
#[tokio::test]
async fn the_wrong_order_fails_calls() {
    let arguments = ["--order=leaf-first", "--bundle-delay=0", "--rotations=2", "--lag=3", "--minutes=2"];
    let Some(fixture) = Fixture::start_or_skip(&arguments).await else { return };
    let report = fixture.soak().await;
    assert!(!report.is_good() && report.book.failed() > 0, "{report}");
    let unknown = |what: &String| what.contains("certificate signed by unknown authority");
    assert!(report.book.failures.keys().all(unknown), "{report}");
    // A call on its way when the counting ends has met its alert already.
    assert!(report.book.failed() <= report.book.failed_handshakes(), "{report}");
}
