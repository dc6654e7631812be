//! F15 and F16: short soaks, in which certificates change under load on real API servers.

use super::Row;
use crate::rig::beside;
use crate::{Options, Report, soak};

pub(super) async fn renewals(long: bool) -> anyhow::Result<Vec<Row>> {
    let renewals = if long { "--leaf-renewals=1000" } else { "--leaf-renewals=50" };
    let report = run(&[renewals, "--rotations=1", "--replicas=3", "--leaf=5", "--minutes=45"]).await?;
    let counts = &report.counts;
    // The ring costs three writes, and each rotation four: request, promote, remove, hold. A leaf costs none.
    let is_frugal = counts.secret_writes <= 3 + 4 * counts.promotions;
    let row = Row::of("F15", format!("{} leaves of three replicas renewed, one rotation", counts.renewals()));
    let row = row.seen(format!("{}, {} writes of the Secret", summary(&report), counts.secret_writes));
    let limit = format!("0 failed of {} at least, no write of the Secret for a leaf", report.least_calls());
    Ok(vec![row.judged(failed(&report), limit, report.is_good() && is_frugal)])
}

pub(super) async fn authorities(long: bool) -> anyhow::Result<Vec<Row>> {
    let held = |done: String, report: &Report| {
        let limit = format!("0 failed of {} at least", report.least_calls());
        Row::of("F16", done).seen(summary(report)).judged(failed(report), limit, report.is_good())
    };
    let (count, lag) = if long { (20, 30) } else { (3, 5) };
    let rotations = format!("--rotations={count}");
    let together = run(&[&rotations, "--replicas=3", "--leaf=5", "--minutes=20"]).await?;
    // Two rotations suffice: the second one starts from a ring that has rotated once.
    let (count_behind, behind) = if long { (10, "--rotations=10") } else { (2, "--rotations=2") };
    let lagging = run(&[behind, "--replicas=1", &format!("--lag={lag}"), "--minutes=30"]).await?;
    let wrong = ["--order=leaf-first", "--bundle-delay=0", "--rotations=2", "--lag=3", "--minutes=2"];
    let wrong = run(&wrong).await?;
    let unknown = |what: &String| what.contains("certificate signed by unknown authority");
    let fails = !wrong.is_good() && wrong.counts.failed() > 0 && wrong.counts.failures.keys().all(unknown);
    let control = Row::of("F16", "2 rotations, leaf first and bundle after it, one API server 3 s behind");
    Ok(vec![
        held(format!("{count} rotations of the CA, three replicas"), &together),
        held(format!("{count_behind} rotations, one replica, one API server {lag} s behind"), &lagging),
        control.seen(summary(&wrong)).judged(failed(&wrong), "the control: above 0", fails),
    ])
}

async fn run(arguments: &[&str]) -> anyhow::Result<Report> {
    soak(&Options::of(arguments)?, &beside("replica")?, |_| {}).await
}

fn failed(report: &Report) -> String {
    format!("{} of {} calls failed", report.counts.failed(), report.counts.calls)
}

fn summary(report: &Report) -> String {
    let Report { counts, took, problems, .. } = report;
    let summary = format!(
        "{} renewals, {} rotations, {} alerts, slowest call {} ms, {} s",
        counts.renewals(),
        counts.rotations,
        counts.alerts(),
        counts.worst.as_millis(),
        took.as_secs()
    );
    problems.iter().fold(summary, |summary, problem| summary + "; " + problem)
}
