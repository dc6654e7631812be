//! `new NAME`: the crate of a webhook.
//!
//! Each kind of webhook has a folder of templates below `webhook/`. They are the sources of the packages `tests/new-*` too, so the
//! test suite compiles and runs them. A crate gets its name in place of the template's. `manifest.toml` becomes `Cargo.toml`; under
//! that name Cargo would leave its folder out of the published package.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{ArgGroup, Args};
use vestibule_command::CommandError;

/// The crate to write.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("kind").multiple(false))]
pub(super) struct WebhookArguments {
    /// The name of the crate and of the webhook: lower-case letters, digits and hyphens.
    #[arg(required = true)]
    name: Option<String>,
    /// A webhook that changes objects; the default.
    #[arg(long, group = "kind")]
    mutating: bool,
    /// A webhook that admits or denies objects.
    #[arg(long, group = "kind")]
    validating: bool,
    /// A webhook that converts a custom resource between versions.
    #[arg(long, group = "kind")]
    conversion: bool,
    /// An operator and its validating webhook in one process.
    #[arg(long, group = "kind")]
    operator: bool,
    /// The folder in which the folder of the crate is made.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// A checkout of Vestibule whose crates are used instead of published ones.
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
}

/// The templates of one kind of webhook.
struct Kind {
    /// The name of the crate in the templates.
    name: &'static str,
    description: &'static str,
    manifest: &'static str,
    main: &'static str,
    library: &'static str,
    tests: &'static str,
}

macro_rules! kind {
    ($folder:literal, $name:literal, $description:literal) => {
        Kind {
            name: $name,
            description: $description,
            manifest: include_str!(concat!("webhook/", $folder, "/manifest.toml")),
            main: include_str!(concat!("webhook/", $folder, "/main.rs")),
            library: include_str!(concat!("webhook/", $folder, "/lib.rs")),
            tests: include_str!(concat!("webhook/", $folder, "/webhook.rs")),
        }
    };
}

const MUTATING: Kind = kind!(
    "mutating",
    "my-mutator",
    "A mutating webhook: it gives a memory limit to containers, in namespaces labelled `my-webhook=enabled`."
);
const VALIDATING: Kind = kind!(
    "validating",
    "my-validator",
    "A validating webhook: it refuses images without a tag or a digest, in namespaces labelled `my-webhook=enabled`."
);
const CONVERSION: Kind = kind!(
    "conversion",
    "my-converter",
    "A conversion webhook: it converts `Widget` objects between the versions `v1` and `v2`."
);
const OPERATOR: Kind = kind!(
    "operator",
    "my-operator",
    "An operator: it writes a ConfigMap for every `Greeting`. Its webhook refuses greetings without words. On a laptop it works on the \
        cluster of the kubeconfig."
);

/// The name of the crate in the files that all kinds share.
const NAME: &str = "my-webhook";
/// The place of the kind's description in the README.
const DESCRIPTION: &str = "DESCRIPTION";

/// The files that all kinds share.
const SHARED: [(&str, &str); 5] = [
    (".dockerignore", include_str!("webhook/dockerignore")),
    (".github/workflows/ci.yml", include_str!("webhook/ci.yml")),
    (".gitignore", include_str!("webhook/gitignore")),
    ("Dockerfile", include_str!("webhook/Dockerfile")),
    ("README.md", include_str!("webhook/README.md")),
];

/// The crates of this project in the templates, and their folders in a checkout.
const CRATES: [(&str, &str); 3] =
    [("vestibule", "vestibule"), ("vestibule-command", "command"), ("vestibule-test", "test")];

/// Names that Rust or Cargo refuses for a crate, besides those of dependencies.
const RESERVED: &str = " abstract alloc as async await become box break build const continue core crate deps do dyn else enum \
    examples extern false final fn for gen if impl in incremental let loop macro match mod move mut override priv proc-macro pub \
    ref return self static std struct super test trait true try type typeof unsafe unsized use virtual where while yield ";

impl WebhookArguments {
    /// The files of the crate by path, with their texts.
    pub(super) fn files(&self) -> Result<Vec<(PathBuf, String)>, CommandError> {
        let name = self.name.as_deref().unwrap_or_default();
        let kind = self.kind();
        check(name, kind).map_err(|why| {
            CommandError::input(format_args!("`{name}` cannot be the name of a webhook: {why}"))
        })?;
        let folder = self.dir.join(name);
        let own = [
            ("Cargo.toml", kind.manifest, self.patches()?),
            ("src/lib.rs", kind.library, String::new()),
            ("src/main.rs", kind.main, String::new()),
            ("tests/webhook.rs", kind.tests, String::new()),
        ];
        let own = own.map(|(path, text, end)| (path, renamed(text, kind.name, name) + &end));
        let shared = SHARED
            .map(|(path, text)| (path, renamed(&text.replace(DESCRIPTION, kind.description), NAME, name)));
        Ok(own.into_iter().chain(shared).map(|(path, text)| (folder.join(path), text)).collect())
    }

    fn kind(&self) -> &'static Kind {
        match () {
            () if self.validating => &VALIDATING,
            () if self.conversion => &CONVERSION,
            () if self.operator => &OPERATOR,
            () => &MUTATING,
        }
    }

    /// The section of `Cargo.toml` that names the crates of the checkout.
    fn patches(&self) -> Result<String, CommandError> {
        let Some(checkout) = &self.checkout else { return Ok(String::new()) };
        let checkout = std::path::absolute(checkout).map_err(CommandError::input)?;
        let mut text =
            "\n# The crates of a checkout instead of published ones.\n[patch.crates-io]\n".to_owned();
        for (name, folder) in CRATES {
            let path = checkout.join("crates").join(folder);
            if !path.join("Cargo.toml").is_file() {
                let checkout = checkout.display();
                return Err(CommandError::input(format_args!(
                    "{checkout} is no checkout of Vestibule: it has no crates/{folder}"
                )));
            }
            text.push_str(&format!("{name} = {{ path = {:?} }}\n", path.to_string_lossy()));
        }
        Ok(text)
    }
}

/// Formats the sources, because the length of the crate's name decides where lines break. `false` if that cannot be done.
pub(super) fn format<'p>(files: impl Iterator<Item = &'p Path>) -> bool {
    let sources: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    if sources.is_empty() {
        return true;
    }
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024"]).args(sources).stdout(Stdio::null()).stderr(Stdio::null());
    rustfmt.status().is_ok_and(|status| status.success())
}

/// Whether Cargo takes the name for a crate, and Kubernetes for a Service.
fn check(name: &str, kind: &Kind) -> Result<(), &'static str> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase())
        || !name.chars().all(is_plain)
        || name.ends_with('-')
    {
        return Err(
            "it needs lower-case letters, digits and hyphens, with a letter first and no hyphen last",
        );
    }
    if name.len() > 40 {
        return Err("it has more than 40 characters");
    }
    // Rust writes `_` in place of `-`.
    let crate_name = |name: &str| name.replace('-', "_");
    let is_dependency = |line: &str| {
        line.split_once(" = ").is_some_and(|(dependency, _)| crate_name(dependency) == crate_name(name))
    };
    if RESERVED.contains(&format!(" {name} ")) || kind.manifest.lines().any(is_dependency) {
        return Err("Rust or a dependency has this name");
    }
    Ok(())
}

/// The text with another name of the crate, in the spelling of Rust too.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let identifier = |name: &str| name.replace('-', "_");
    text.replace(from, to).replace(&identifier(from), &identifier(to))
}
