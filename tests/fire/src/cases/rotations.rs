//! F15 and F16: certificates that change under load, on real API servers. `cargo xtask soak` is the same at any size.

use super::Row;
use crate::rig::beside;
use crate::{Options, Report, soak};

pub(super) async fn renewals(long: bool) -> anyhow::Result<Vec<Row>> {
    let renewals = if long { "--leaf-renewals=1000" } else { "--leaf-renewals=50" };
    let report = run(&[renewals, "--rotations=1", "--replicas=3", "--leaf=5", "--minutes=45"]).await?;
    let book = &report.book;
    // Made, two CAs held; then for each rotation: asked for, promoted, removed, held. Nothing for a leaf.
    let is_frugal = book.secret_writes <= 3 + 4 * book.promotions;
    let row = Row::of("F15", format!("{} leaves of three replicas renewed, one rotation", book.renewals()));
    let row = row.seen(format!("{}, {} writes of the Secret", told(&report), book.secret_writes));
    let limit = format!("0 failed of {} at least, no write of the Secret for a leaf", report.least_calls());
    Ok(vec![row.judged(failed(&report), limit, report.is_good() && is_frugal)])
}

pub(super) async fn authorities(long: bool) -> anyhow::Result<Vec<Row>> {
    let held = |done: String, report: &Report| {
        let limit = format!("0 failed of {} at least", report.least_calls());
        Row::of("F16", done).seen(told(report)).judged(failed(report), limit, report.is_good())
    };
    let (count, lag) = if long { (20, 30) } else { (3, 5) };
    let rotations = format!("--rotations={count}");
    let together = run(&[&rotations, "--replicas=3", "--leaf=5", "--minutes=20"]).await?;
    // Two of them are as many as it takes: the second follows a ring that has gone once around.
    let (count_behind, behind) = if long { (10, "--rotations=10") } else { (2, "--rotations=2") };
    let lagging = run(&[behind, "--replicas=1", &format!("--lag={lag}"), "--minutes=30"]).await?;
    let wrong = ["--order=leaf-first", "--bundle-delay=0", "--rotations=2", "--lag=3", "--minutes=2"];
    let wrong = run(&wrong).await?;
    let unknown = |what: &String| what.contains("certificate signed by unknown authority");
    let fails = !wrong.is_good() && wrong.book.failed() > 0 && wrong.book.failures.keys().all(unknown);
    let control = Row::of("F16", "2 rotations, leaf first and bundle after it, one API server 3 s behind");
    Ok(vec![
        held(format!("{count} rotations of the CA, three replicas"), &together),
        held(format!("{count_behind} rotations, one replica, one API server {lag} s behind"), &lagging),
        control.seen(told(&wrong)).judged(failed(&wrong), "the control: above 0", fails),
    ])
}

async fn run(arguments: &[&str]) -> anyhow::Result<Report> {
    soak(&Options::of(arguments)?, &beside("replica")?, |_| {}).await
}

fn failed(report: &Report) -> String {
    format!("{} of {} calls failed", report.book.failed(), report.book.calls)
}

fn told(report: &Report) -> String {
    let Report { book, took, short, .. } = report;
    let told = format!(
        "{} renewals, {} rotations, {} alerts, slowest call {} ms, {} s",
        book.renewals(),
        book.rotations,
        book.alerts(),
        book.worst.as_millis(),
        took.as_secs()
    );
    short.iter().fold(told, |told, short| told + "; " + short)
}
