//! The results of a run as one JSON file: the machine, the versions, and every figure of every round.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::figure::Row;

/// A run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Results {
    /// Processor, kernel, versions, commit, date, command.
    pub(crate) machine: BTreeMap<String, String>,
    /// Servers that were not measured, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
    /// Heap allocations of a call of the framework, as a test counts them.
    pub(crate) allocations: Option<u64>,
    pub(crate) rows: Vec<Row>,
}

impl Results {
    /// Reads a file that [`Results::write`] wrote.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} has no results", file.display()))
    }

    /// Writes the file, with a line for each row.
    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let mut head = serde_json::to_value(self)?;
        let mut rows = Vec::new();
        for row in &self.rows {
            rows.push(serde_json::to_string(row)?);
        }
        if let Some(head) = head.as_object_mut() {
            head.remove("rows");
        }
        let head = serde_json::to_string_pretty(&head)?;
        let head = head.strip_suffix("\n}").unwrap_or(&head);
        let text = format!("{head},\n  \"rows\": [\n{}\n  ]\n}}\n", rows.join(",\n"));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The facts that a reader needs to compare the figures with others.
pub(crate) fn machine(processors: usize, has_profile: bool) -> BTreeMap<String, String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    [
        ("processor", model.map_or_else(String::new, |(_, name)| name.trim().to_owned())),
        ("processors", processors.to_string()),
        ("load", load.split_whitespace().next().unwrap_or_default().to_owned()),
        ("kernel", output("uname", &["-sr"])),
        ("rustc", output("rustc", &["--version"])),
        ("go", output("go", &["version"])),
        ("profile", if has_profile { "by a" } else { "without a" }.to_owned()),
        ("commit", output("git", &["rev-parse", "--short", "HEAD"])),
        ("date", output("date", &["+%Y-%m-%d"])),
        ("command", format!("cargo xtask bench {}", arguments.join(" ")).trim().to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The first line that a program prints; `none` without the program.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.as_deref().and_then(|text| text.lines().next()).unwrap_or("none").to_owned()
}
