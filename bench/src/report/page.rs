//! The page of the documentation: what a run found, and what it means for a user.

use std::fmt::Write;

use super::results::Results;
use super::table;
use crate::figure::{CPU, Figure, Row};
use crate::goals;
use crate::scenario::Scenario;
use clap::ValueEnum;

const HEAD: &str = "# Performance

`cargo xtask bench` makes this page, its picture and its figures. Every server is a process on one processor, and the client
makes the calls from another; TLS 1.3 with a P-256 certificate and HTTP/1.1, as kube-apiserver calls. All servers get the same bytes and make
the same change: a sidecar, its volume, an annotation. Their patches are applied and the objects compared before anything is measured; a
server whose object differs is left out by name. The injector of a release is built with a profile
([why](../adr/0118-releases-use-a-profile.md)).

They run in alternating rounds. *CPU µs* is the processor time of the server for one call, with the kernel's part, as least / median /
most of the rounds. The *floor* reads the body and answers a constant, with hyper and rustls: no webhook on these can be cheaper. *× floor*
compares with the floor of the same round. On a machine with other work, times change by a third and more; compare ratios.

";

/// The page.
pub(crate) fn of(results: &Results) -> String {
    let mut page = HEAD.to_owned();
    machine(&mut page, results);
    meaning(&mut page, &results.rows);
    page.push_str("![Processor time of one call against the size of the Pod](performance.svg)\n\n");
    goals(&mut page, results);
    for scenario in Scenario::value_variants() {
        let rows: Vec<_> = results.rows.iter().filter(|row| row.scenario == scenario.name()).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(page, "## {}: {}\n\n{}\n", scenario.name(), scenario.title(), scenario.meaning());
        let mut rest = rows.as_slice();
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|row| row.case == first.case).count();
            let (case, after) = rest.split_at(count);
            cases(&mut page, &first.case, case);
            rest = after;
        }
    }
    left_out(&mut page, results);
    page
}

fn machine(page: &mut String, results: &Results) {
    let of = |name: &str| results.machine.get(name).map_or("unknown", String::as_str);
    let _ = writeln!(
        page,
        "The run below: `{}` on {}, commit {}; {} processors, {}; {}; {}; {}; the injector is \
         built {} profile; load average before the run {}.\n",
        of("command"),
        of("date"),
        of("commit"),
        of("processors"),
        of("processor"),
        of("kernel"),
        of("rustc"),
        of("go"),
        results.machine.get("profile").map_or("without a", String::as_str),
        of("load"),
    );
}

/// The meaning of the figures of S1 for a cluster.
fn meaning(page: &mut String, rows: &[Row]) {
    let cpu = |server: &str| {
        let case = super::picture::SIZES.first()?.0;
        let row = rows.iter().find(|row| row.scenario == "S1" && row.case == case && row.server == server)?;
        Some(row.figure(CPU)?.median())
    };
    page.push_str("## What it means\n\n| 500 Pods of 8 KB a second take | of one processor |\n|---|--:|\n");
    for server in ["injector", "typed", "kube-rs", "knative", "controller-runtime"] {
        if let Some(cpu) = cpu(server) {
            let _ = writeln!(page, "| {server} | {} % |", table::number(cpu * 500.0 / 1e4));
        }
    }
    page.push_str(
        "\nA user does not see these microseconds: kube-apiserver itself spends more on a request. What a user sees is the processor that \
         webhooks take from other work, the longest calls while many Pods start, and a webhook that is killed or throttled at its \
         limits.\n\n",
    );
}

fn goals(page: &mut String, results: &Results) {
    page.push_str("## Goals\n\n| Goal | | Verdict | Measured |\n|---|---|---|---|\n");
    for goal in goals::of(&results.rows, results.allocations) {
        let parts: Vec<_> = goal.parts.iter().map(ToString::to_string).collect();
        let _ =
            writeln!(page, "| {} | {} | {} | {} |", goal.name, goal.text, goal.verdict(), parts.join("; "));
    }
    page.push('\n');
}

fn cases(page: &mut String, case: &str, rows: &[&Row]) {
    let names = table::names(rows.iter().copied());
    let has_notes = rows.iter().any(|row| !row.notes.is_empty());
    let _ = write!(page, "| {case} | {} |", names.join(" | "));
    page.push_str(if has_notes { " |\n" } else { "\n" });
    let _ = writeln!(page, "|---|{}{}", "--:|".repeat(names.len()), if has_notes { "---|" } else { "" });
    for row in rows {
        let cell = |figure: Option<&Figure>| figure.map_or_else(|| "-".to_owned(), table::cell);
        let cells: Vec<_> = names.iter().map(|name| cell(row.figure(name))).collect();
        let _ = write!(page, "| {} | {} |", row.server, cells.join(" | "));
        if has_notes {
            let _ = write!(page, " {} |", row.notes.join("; ").replace('|', "/"));
        }
        page.push('\n');
    }
    page.push('\n');
}

fn left_out(page: &mut String, results: &Results) {
    page.push_str("## Left out\n\n");
    for (server, reason) in &results.left_out {
        let _ = writeln!(page, "- {server}: {}", reason.lines().next().unwrap_or_default());
    }
    page.push_str(
        "- kubewebhook: the registry of Go modules that the bench uses does not serve it.\n\
         - More than one processor for a server, a second machine, and a real API server in front.\n",
    );
}
