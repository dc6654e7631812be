//! The files and commands of a release, from given bytes: without a build and without a registry.

use std::collections::BTreeMap;
use std::io::Read;

use super::archive::{self, PLATFORMS};
use super::publish::{Release, pushed_digest};
use super::{check, files};
use crate::files::read_here;
use crate::tarball::Contents;

const DIGEST: &str = "sha256:00000000000000000000000000000000000000000000000000000000000000aa";

#[test]
fn everything_in_the_repository_is_of_one_version() {
    let version = check::version().unwrap();
    assert_eq!(check::differences(&version).unwrap(), [""; 0]);
    let other = check::differences("99.0.0").unwrap();
    for place in [
        "crate vestibule ",
        "Chart.yaml has no line `version",
        "Chart.yaml has no line `appVersion",
        "install.yaml",
    ] {
        assert!(other.iter().any(|line| line.contains(place)), "{place}: {other:?}");
    }
}

#[test]
fn a_tag_of_another_version_is_refused() {
    let error = check::run(Some("v99.0.0")).unwrap_err().to_string();
    assert!(error.contains("the tag is v99.0.0, not v"), "{error}");
}

#[test]
fn an_archive_keeps_modes_and_equal_files_give_equal_bytes() {
    let contents = Contents::from([
        ("vestibule".to_owned(), (0o755, b"binary".to_vec())),
        ("man/man1/vestibule.1".to_owned(), (0o644, b"page".to_vec())),
    ]);
    let packed = archive::pack(&contents).unwrap();
    assert_eq!(packed, archive::pack(&contents).unwrap());
    let mut found = BTreeMap::new();
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let (path, mode) = (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        found.insert(path, (mode, bytes));
    }
    assert_eq!(found, contents);
}

#[test]
fn the_krew_manifest_names_every_archive_and_its_checksum() {
    let template = read_here("deploy/krew/vestibule.yaml").unwrap();
    let checksum = |at: usize| format!("{at:064x}");
    let archives: BTreeMap<_, _> = PLATFORMS
        .iter()
        .enumerate()
        .map(|(at, (system, architecture))| (format!("{system}-{architecture}"), checksum(at)))
        .collect();
    let manifest = files::krew(&template, "1.2.3", &archives).unwrap();
    assert!(manifest.starts_with("apiVersion: krew.googlecontainertools.github.com/v1alpha2\n"));
    assert!(manifest.contains("\n  version: v1.2.3\n"));
    for (at, (system, architecture)) in PLATFORMS.iter().enumerate() {
        let name = archive::name("1.2.3", system, architecture);
        let program = archive::program_name(system);
        let expected = format!(
            "  - selector: {{matchLabels: {{os: {system}, arch: {architecture}}}}}\n    \
             uri: https://github.com/vestibule-dev/vestibule/releases/download/v1.2.3/{name}\n    \
             sha256: {}\n    bin: {program}\n",
            checksum(at)
        );
        assert!(manifest.contains(&expected), "{expected}\nis not in\n{manifest}");
    }
    assert!(!manifest.contains("VERSION") && !manifest.contains("SHA256-"), "{manifest}");
    let mut fewer = archives.clone();
    fewer.remove("linux-arm64");
    assert!(files::krew(&template, "1.2.3", &fewer).unwrap_err().to_string().contains("SHA256-linux-arm64"));
    let more = BTreeMap::from([("plan9-amd64".to_owned(), checksum(0))]);
    assert!(files::krew(&template, "1.2.3", &more).unwrap_err().to_string().contains("plan9"));
}

#[test]
fn manifests_and_chart_pin_the_digest_of_the_image() {
    let version = check::version().unwrap();
    let manifests = files::pinned(&read_here("deploy/install.yaml").unwrap(), &version, DIGEST).unwrap();
    assert!(manifests.contains(&format!("image: ghcr.io/vestibule-dev/vestibule@{DIGEST}\n")));
    assert!(files::pinned("kind: Deployment\n", &version, DIGEST).is_err());

    let chart = files::chart(DIGEST).unwrap();
    let text = |path: &str| String::from_utf8(chart[path].1.clone()).unwrap();
    assert!(text("vestibule/values.yaml").contains(&format!("\n  digest: \"{DIGEST}\"\n")));
    assert!(text("vestibule/Chart.yaml").contains("name: vestibule\n"));
    for file in ["values.schema.json", "templates/deployment.yaml", "templates/tests/certificate.yaml"] {
        assert!(chart.contains_key(&format!("vestibule/{file}")), "{file}");
    }
}

#[test]
fn checksums_are_of_everything_but_notes_and_signatures() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["b.tar.gz", "a.yaml", files::CHECKSUMS, "SHA256SUMS.sigstore.json", files::NOTES];
    for name in names {
        std::fs::write(folder.path().join(name), "text").unwrap();
    }
    std::fs::create_dir(folder.path().join("images")).unwrap();
    // `printf text | sha256sum`
    let sum = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";
    assert_eq!(files::checksums(folder.path()).unwrap(), format!("{sum}  a.yaml\n{sum}  b.tar.gz\n"));
}

#[test]
fn signatures_are_of_digests_and_pushes_come_first() {
    let release = Release {
        version: "1.2.3".to_owned(),
        image: "dist/images/all/image".to_owned(),
        digest: DIGEST.to_owned(),
        bills: vec![("sha256:bb".to_owned(), "dist/images/arm64/image.cdx.json".to_owned())],
        output: "dist".to_owned(),
        files: vec!["dist/install.yaml".to_owned()],
    };
    let lines = |commands: Vec<Vec<String>>| commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    let image = "ghcr.io/vestibule-dev/vestibule";
    assert_eq!(
        lines(release.push()),
        [
            format!(
                "skopeo copy --all --preserve-digests oci:dist/images/all/image:1.2.3 docker://{image}:1.2.3"
            ),
            "helm push dist/vestibule-chart-1.2.3.tgz oci://ghcr.io/vestibule-dev/charts".to_owned(),
        ]
    );
    assert_eq!(
        lines(release.sign("sha256:cc")),
        [
            format!("cosign sign --yes --recursive {image}@{DIGEST}"),
            format!("cosign attest --yes --type cyclonedx --predicate dist/images/arm64/image.cdx.json {image}@sha256:bb"),
            "cosign sign --yes ghcr.io/vestibule-dev/charts/vestibule@sha256:cc".to_owned(),
            "cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS".to_owned(),
            "gh release create v1.2.3 --verify-tag --title v1.2.3 --notes-file dist/notes.md dist/install.yaml \
             dist/SHA256SUMS dist/SHA256SUMS.sigstore.json"
                .to_owned(),
        ]
    );
    let printed = "Pushed: ghcr.io/vestibule-dev/charts/vestibule:1.2.3\nDigest: sha256:dd\n";
    assert_eq!(pushed_digest(printed).unwrap(), "sha256:dd");
    assert!(pushed_digest("").is_err());
}

/// Users copy these commands from SECURITY.md. They cannot run before there is a release.
#[test]
fn the_commands_of_security_md_verify_what_a_release_signs() {
    let page = read_here("SECURITY.md").unwrap();
    let (_, block) = page.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let version = check::version().unwrap();
    let workflow =
        "https://github.com/vestibule-dev/vestibule/.github/workflows/release.yml@refs/tags/v$VERSION";
    let archive = archive::name("$VERSION", "linux", "amd64");
    for part in [
        format!("VERSION={version}\n"),
        format!("IMAGE={}\n", super::IMAGE),
        format!("WORKFLOW={workflow}\n"),
        format!(" {}/vestibule:$VERSION\n", super::CHARTS),
        format!("--bundle {0}.sigstore.json ", files::CHECKSUMS),
        format!(" {}\n", files::CHECKSUMS),
        format!("gh attestation verify {archive} --repo vestibule-dev/vestibule\n"),
    ] {
        assert!(block.contains(&part), "{part}");
    }
    assert!(read_here(".github/workflows/release.yml").unwrap().contains("cargo xtask release publish"));
}
