//! `cargo xtask test`: runs the tests, two programs at a time, and counts them.
//!
//! [`apiserver`] builds another version of the API server, if one is wanted. [`plan`] chooses packages, builds their test
//! programs and estimates the time; [`lanes`] runs the programs; [`report`] counts the results, and [`versions`] compares those of
//! another version with the page about versions. Tests on a real API server are counted twice, because a test that returns early looks like a passed one.

mod apiserver;
mod lanes;
mod plan;
mod report;
mod versions;

use anyhow::bail;
use clap::Args;

use crate::metadata::Metadata;
use crate::{controlplane, files};
use plan::Plan;
use report::{Report, Tally};

/// Tests write one line each to the file that this variable names: `ran NAME`, `skipped NAME REASON`, `left-out NAME REASON` if
/// they lack something else than an API server, or `shortened NAME REASON` if a part of them did not run.
const REPORT: &str = "VESTIBULE_TEST_REPORT";
/// If set, a test that skips fails.
const REQUIRE: &str = "VESTIBULE_REQUIRE_APISERVER";

/// The tested packages, and the version of the API server.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Only these packages, by folder: `patch`, `rules`, `cluster`, ...
    #[arg(value_name = "PART")]
    parts: Vec<String>,
    /// Fail when a test that needs the real API server was skipped, or none ran
    #[arg(long)]
    require_apiserver: bool,
    /// Run the tests on this minor version of kube-apiserver, which Go builds first
    #[arg(long, value_name = "MINOR")]
    apiserver: Option<String>,
    /// With the part `cluster` and another API server: write the results into docs/reference/versions.md, instead of comparing them
    #[arg(long, requires = "apiserver")]
    write: bool,
}

/// Finds or builds the control plane, then runs the tests and documentation examples of the packages that `parts` name, or of
/// all packages.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { parts, require_apiserver, apiserver, write } = arguments;
    let require_apiserver = *require_apiserver;
    if *write && parts != &[versions::PART] {
        bail!(
            "--write writes the results of `{0}` alone: `cargo xtask test {0} --apiserver MINOR --write`",
            versions::PART
        );
    }
    let workspace = Metadata::of_workspace()?;
    let plan = Plan::new(&workspace, parts)?;
    println!("== plan\n{}", plan.text());

    println!("\n== control plane");
    let assets = apiserver.as_deref().map(apiserver::assets).transpose()?;
    if let Err(error) =
        controlplane::find_or_build(assets.as_ref().and_then(|assets| assets.folder.as_deref()))
    {
        if require_apiserver {
            return Err(error.context("no real API server, but --require-apiserver requires one"));
        }
        println!("no real API server ({error:#}); the tests that need one will be skipped");
    }

    let lines = workspace.target_directory.join("apiserver-tests.txt");
    files::write(&lines, "")?;
    let mut environment = vec![(REPORT, lines.clone().into_os_string())];
    if require_apiserver {
        environment.push((REQUIRE, "1".into()));
    }
    if let Some(folder) = assets.as_ref().and_then(|assets| assets.folder.clone()) {
        environment.push((controlplane::ASSETS, folder.into_os_string()));
    }

    println!("\n== build");
    let programs = plan.build()?;
    println!("\n== tests");
    let mut tally = Tally::default();
    let durations = lanes::run(programs, &environment, &mut tally)?;
    plan.remember(&durations)?;
    if plan.has_library() {
        println!("\n== examples in the documentation");
        lanes::documentation(&plan.selection, &environment, &mut tally)?;
    }

    let text = files::read(&lines)?;
    let report = Report::read(&text);
    println!("\n== summary");
    print!("{}", report.text(&tally, require_apiserver));
    let all_parts = parts.is_empty();
    if require_apiserver && (all_parts && report.ran == 0 || !report.skipped.is_empty()) {
        bail!("--require-apiserver requires that every test on the real API server runs");
    }
    if let Some(assets) = assets.filter(|_| parts == &[versions::PART]) {
        return versions::run(&assets.version, &text, &tally, *write);
    }
    if !tally.is_success() {
        bail!("tests failed or did not compile");
    }
    Ok(())
}
