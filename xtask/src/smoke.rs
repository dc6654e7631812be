//! `cargo xtask smoke`: the commands for a laptop, once each, on macOS and Windows too.
//!
//! The tests of the binary start servers, shells and signals as Linux has them. These few runs need none of that; [`serve`] is the
//! only one that starts a server.

mod serve;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::binary_build::{self, Build};
use crate::{cargo, generated};

/// A Deployment that the rule of [`RULES`] changes.
const OBJECT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: helloworld-go}}
  template:
    metadata: {labels: {app: helloworld-go}}
    spec: {containers: [{name: app, image: "alpine:3.22"}]}
"#;
const RULES: &str = "examples/rules/env-target.yaml";

/// A command, its exit code, and words of its output.
struct Case {
    arguments: &'static [&'static str],
    code: i32,
    words: &'static str,
}

/// `OBJECT` stands for the file with the object.
const CASES: &[Case] = &[
    case(&["try"], "second pass: no change"),
    case(&["try", "OBJECT", "--rules", RULES], "TARGET"),
    case(&["lint", RULES], "1 hint"),
    Case { arguments: &["lint", "--strict", RULES], code: 1, words: "1 hint" },
    case(&["inject", "-f", "OBJECT", "--rules", RULES], "Sample Injector v1"),
    case(&["explain", "-f", "OBJECT", "--rules", RULES], "rule env-target"),
    case(&["test", "examples/rules/tests"], "all as expected"),
    case(&["version", "-o", "json"], "vestibule.dev/v1alpha1"),
    case(&["schema"], "\"$schema\""),
    case(&["manifests", "--namespace", "webhooks", "--image", "IMAGE"], "kind: Deployment"),
];

const fn case(arguments: &'static [&'static str], words: &'static str) -> Case {
    Case { arguments, code: 0, words }
}

/// Runs every case with `binary`, or with a debug build of this checkout.
pub(crate) fn run(binary: Option<&Path>) -> anyhow::Result<()> {
    let binary = binary_build::find(binary, Build::Debug)?;
    let folder = tempfile::tempdir()?;
    let object = folder.path().join("web.yaml");
    fs::write(&object, OBJECT)?;
    let cases = CASES.iter().map(|case| (case.arguments.join(" "), case.run(&binary, &object)));
    let served = ("serve, ready and stopped".to_owned(), serve::run(&binary, RULES, folder.path()));
    let generated = ("completions and man, as a release packs them".to_owned(), generated::check(&binary));
    let (mut failed, mut count) = (0, 0);
    for (name, result) in cases.chain([served, generated]) {
        println!("{} vestibule {name}", if result.is_ok() { "ok    " } else { "FAILED" });
        if let Err(error) = result {
            println!("{error:#}");
            failed += 1;
        }
        count += 1;
    }
    if failed > 0 {
        bail!("{failed} of {count} commands failed");
    }
    println!("{count} commands on {}: all as expected", std::env::consts::OS);
    Ok(())
}

impl Case {
    fn run(&self, binary: &Path, object: &Path) -> anyhow::Result<()> {
        let mut command = Command::new(binary);
        for argument in self.arguments {
            match *argument {
                "OBJECT" => command.arg(object),
                argument => command.arg(argument),
            };
        }
        let output = command.current_dir(cargo::workspace()).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {}", binary.display()))?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() != Some(self.code) || !(out.contains(self.words) || err.contains(self.words))
        {
            bail!("expected code {} and `{}`, got {}:\n{out}{err}", self.code, self.words, output.status);
        }
        Ok(())
    }
}
