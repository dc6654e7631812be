//! Pushes and signs a release. The signatures are keyless: cosign asks the workflow's identity provider for a certificate, and the
//! transparency log keeps it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use super::files::{self, CHECKSUMS, NOTES};
use super::{CHARTS, IMAGE, check};
use crate::files::read_bytes;

/// Runs the commands, or prints them.
pub(super) fn run(image: &Path, output: &Path, dry_run: bool) -> anyhow::Result<()> {
    let release = Release::read(image, output)?;
    if dry_run {
        for command in release.push().iter().chain(&release.sign("sha256:CHART")) {
            println!("{}", command.join(" "));
        }
        return Ok(());
    }
    let mut printed = String::new();
    for command in &release.push() {
        printed = execute(command)?;
    }
    for command in &release.sign(pushed_digest(&printed)?) {
        execute(command)?;
    }
    Ok(())
}

type Words = Vec<String>;

/// The names and digests in the commands.
pub(super) struct Release {
    pub(super) version: String,
    /// The folder with the OCI layout of all architectures, and its digest.
    pub(super) image: String,
    pub(super) digest: String,
    /// The digest of each architecture's image, and its SBOM.
    pub(super) bills: Vec<(String, String)>,
    /// The folder with the other files, and these files.
    pub(super) output: String,
    pub(super) files: Vec<String>,
}

impl Release {
    fn read(image: &Path, output: &Path) -> anyhow::Result<Self> {
        let digest = files::digest(image)?;
        let index = image.join("image/blobs").join(digest.replace(':', "/"));
        let index: Value = serde_json::from_slice(&read_bytes(&index)?)?;
        let mut bills = Vec::new();
        for manifest in index["manifests"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let architecture = text(&manifest["platform"]["architecture"]);
            let bill = image.with_file_name(&architecture).join("image.cdx.json");
            if !bill.is_file() {
                bail!("{} is missing: it is the SBOM of the image for {architecture}", bill.display());
            }
            bills.push((text(&manifest["digest"]), bill.display().to_string()));
        }
        let files = files::published(output)?.into_values().map(|path| path.display().to_string());
        Ok(Self {
            version: check::version()?,
            image: image.join("image").display().to_string(),
            digest,
            bills,
            files: files.collect(),
            output: output.display().to_string(),
        })
    }

    /// The commands that push. The last one prints the chart's digest.
    pub(super) fn push(&self) -> Vec<Words> {
        let Self { version, image, .. } = self;
        let chart = format!("{}/{}", self.output, files::chart_name(version));
        vec![
            words(&[
                "skopeo",
                "copy",
                "--all",
                "--preserve-digests",
                &format!("oci:{image}:{version}"),
                &format!("docker://{IMAGE}:{version}"),
            ]),
            words(&["helm", "push", &chart, &format!("oci://{CHARTS}")]),
        ]
    }

    /// The commands that sign by digest, and the one that makes the page of the release.
    pub(super) fn sign(&self, chart_digest: &str) -> Vec<Words> {
        let Self { version, output, .. } = self;
        let checksums = format!("{output}/{CHECKSUMS}");
        let bundle = format!("{checksums}.sigstore.json");
        let mut commands =
            vec![words(&["cosign", "sign", "--yes", "--recursive", &format!("{IMAGE}@{}", self.digest)])];
        for (digest, bill) in &self.bills {
            let image = format!("{IMAGE}@{digest}");
            let attest = ["cosign", "attest", "--yes", "--type", "cyclonedx", "--predicate", bill, &image];
            commands.push(words(&attest));
        }
        commands.push(words(&["cosign", "sign", "--yes", &format!("{CHARTS}/vestibule@{chart_digest}")]));
        commands.push(words(&["cosign", "sign-blob", "--yes", "--bundle", &bundle, &checksums]));
        let tag = format!("v{version}");
        let notes = format!("{output}/{NOTES}");
        let mut page = words(&[
            "gh",
            "release",
            "create",
            &tag,
            "--verify-tag",
            "--title",
            &tag,
            "--notes-file",
            &notes,
        ]);
        page.extend(self.files.iter().cloned());
        page.extend([checksums, bundle]);
        commands.push(page);
        commands
    }
}

fn words(words: &[&str]) -> Words {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Runs a command, and returns what it printed to both outputs: helm writes the digest to one or the other.
fn execute(command: &Words) -> anyhow::Result<String> {
    println!("$ {}", command.join(" "));
    let Some((program, arguments)) = command.split_first() else { return Ok(String::new()) };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    print!("{printed}");
    if !output.status.success() {
        bail!("{program} ended with {}", output.status);
    }
    Ok(printed)
}

/// The digest in the output of `helm push`.
pub(super) fn pushed_digest(printed: &str) -> anyhow::Result<&str> {
    let digest = printed.lines().find_map(|line| line.trim().strip_prefix("Digest:"));
    digest.map(str::trim).context("helm push printed no digest")
}
