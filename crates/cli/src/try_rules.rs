//! `try`: an injector and its caller in one process, over TLS on loopback.

mod loopback;
mod recorder;
mod report;
mod run;
mod stdin;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use vestibule_command::{CommandError, colour, namespace, shell_quoted};
use vestibule_injector::Namespaces;
use vestibule_rules::{Mode, RuleSet};

use crate::evaluation::Submitted;
use crate::objects::{self, Object};
use crate::rules::{self, Labels};
use crate::{Failure, files, say};
use loopback::LoopbackInjector;

/// The rules that are used without `--rules`.
const SAMPLE_RULES: [(&str, &str); 3] = [
    ("examples/rules/env-target.yaml", include_str!("../rules/env-target.yaml")),
    ("examples/rules/envoy.yaml", include_str!("../rules/envoy.yaml")),
    ("examples/rules/nginx.yaml", include_str!("../rules/nginx.yaml")),
];

/// The labels of namespaces for the sample rules.
const SAMPLE_LABELS: [(&str, &str); 2] = [("injection", "enabled"), ("sidecar-injector", "enabled")];

/// Shows the effect of rules on objects: the changes, their reasons, and that a second pass changes nothing.
///
/// Server and caller run in one process, over TLS on loopback; no cluster is needed and nothing is written. Without files and
/// rules it shows a sample.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule try
  vestibule try deployment.yaml --rules examples/rules/env-target.yaml
  cat deployment.yaml | vestibule try --rules examples/rules/env-target.yaml
  kubectl get pod NAME -o yaml | vestibule try - --rules rules/ --namespace-labels injection=enabled -o patch")]
pub(crate) struct Arguments {
    /// Files of pods or workloads; `-` is stdin. Without files, piped input is read.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A file of rules, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; ConfigMap manifests are read for the
    /// rules in them. May be given several times; the samples unless given.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH")]
    rules: Vec<PathBuf>,
    /// Labels of the objects' namespaces, for rules that read them: `injection=enabled,...`.
    #[arg(long, value_name = "K=V,...", value_parser = Labels::parse)]
    namespace_labels: Option<Labels>,
    /// The namespace of objects that name none.
    #[arg(long, short, default_value = "default", value_parser = namespace)]
    namespace: String,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "diff", value_name = "FORMAT")]
    output: Format,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: colour::When,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The changes and their reasons.
    Diff,
    /// The JSON Patch (RFC 6902); for several objects, a line `{object, patch}` each.
    Patch,
    /// The changed objects.
    Yaml,
    /// The changed objects; several as a `v1` List.
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    rules::refuse_stdin_twice(&[&arguments.files, &arguments.rules])?;
    let rules = arguments.read_rules()?;
    let objects = arguments.read_objects()?;
    rules::remark(&rules);
    let is_off = rules.settings().mode == Mode::Off;
    // Rules that cannot be registered are never called.
    vestibule_injector::registration::entries(&rules).map_err(Failure::Findings)?;
    // One thread serves one caller and starts faster.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::running)?;
    let injector = runtime.block_on(LoopbackInjector::build(rules, arguments.namespaces()))?;
    let admit = |submitted: &Submitted| runtime.block_on(injector.admit(submitted));
    let results = run::all(&objects, &arguments.namespace, admit)?;
    let report = report::Report { results: &results, is_off, palette: arguments.color.palette() };
    report.print(arguments.output)?;
    if arguments.output == Format::Diff {
        if arguments.takes_sample_labels() {
            let labels = SAMPLE_LABELS.map(|(key, value)| format!("{key}={value}"));
            say(format_args!("rules: the samples, in a namespace labelled {}", labels.join(",")));
        }
        say(arguments.next(results.iter().any(run::TryResult::is_matched)));
    }
    let refused = results.iter().any(|result| result.first.is_denied());
    Ok(ExitCode::from(u8::from(refused)))
}

impl Arguments {
    fn read_rules(&self) -> Result<RuleSet, Failure> {
        match self.rules.as_slice() {
            [] => vestibule_injector::compile(SAMPLE_RULES).map_err(Failure::Findings),
            paths => rules::load(paths),
        }
    }

    fn read_objects(&self) -> Result<Vec<Object>, Failure> {
        if !self.files.is_empty() {
            let sources = objects::read(&self.files)?.into_iter();
            return refuse_large(sources.flat_map(|source| source.objects).collect());
        }
        let piped = if files::has_stdin(&self.rules) { None } else { stdin::text()? };
        match piped {
            Some(text) => refuse_large(objects::parse("stdin", &text).map_err(Failure::Findings)?),
            None => objects::parse("built-in sample", include_str!("try_rules/sample.yaml"))
                .map_err(Failure::Findings),
        }
    }

    fn namespaces(&self) -> Namespaces {
        match &self.namespace_labels {
            Some(labels) => Namespaces::labelled(labels.0.clone()),
            _ if self.takes_sample_labels() => Namespaces::labelled(SAMPLE_LABELS),
            _ => Namespaces::unknown(),
        }
    }

    fn takes_sample_labels(&self) -> bool {
        self.namespace_labels.is_none() && self.rules.is_empty()
    }

    /// The command to type next. It works as printed, from the same folder.
    fn next(&self, is_matched: bool) -> String {
        let program = program();
        if self.rules.is_empty() {
            return match self.files.is_empty() {
                true => format!("next: {program} try -o patch    # what the API server would receive"),
                false => format!("next: {program} try --help    # how to name rules of your own"),
            };
        }
        let rules: String =
            self.rules.iter().map(|path| format!(" --rules {}", shell_quoted(path.as_os_str()))).collect();
        let labels = self.namespace_labels.as_ref().map(|labels| {
            let labels: Vec<_> = labels.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!(" --namespace-labels {}", shell_quoted(labels.join(",").as_ref()))
        });
        let labels = labels.unwrap_or_default();
        if files::has_stdin(&self.rules) {
            return format!(
                "next: {program} lint --help    # what is wrong with rules, and what could be better"
            );
        }
        if is_matched {
            return format!(
                "next: {program} serve{rules}{labels} --listen 127.0.0.1:10250 --identity local:identity"
            );
        }
        // Another command cannot read the same pipe.
        if self.files.is_empty() || files::has_stdin(&self.files) {
            return format!("next: {program} explain --help    # why no rule acts, question by question");
        }
        let files: String =
            self.files.iter().map(|path| format!(" -f {}", shell_quoted(path.as_os_str()))).collect();
        let namespace = match &*self.namespace {
            "default" => String::new(),
            namespace => format!(" -n {namespace}"),
        };
        format!(
            "next: {program} explain{files}{rules}{labels}{namespace}    # why no rule acts, question by question"
        )
    }
}

/// The limit of a request to a kube-apiserver (`MaxRequestBodyBytes` of its generic server). A larger object never reaches a
/// webhook.
const MAX_BYTES: usize = 3 * 1024 * 1024;

fn refuse_large(objects: Vec<Object>) -> Result<Vec<Object>, Failure> {
    match objects.iter().find(|object| object.json.len() > MAX_BYTES) {
        None => Ok(objects),
        Some(object) => {
            let (title, place, bytes) = (object.title("default"), object.place(), object.json.len());
            Err(CommandError::input(format_args!(
                "{title} ({place}) has {bytes} bytes as JSON, and an API server answers 413 to more than {MAX_BYTES} (request \
                 entity too large): it never reaches a webhook"
            ))
            .into())
        }
    }
}

/// The command that started this program: through cargo in a checkout, else as it was typed.
fn program() -> String {
    if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
        return "cargo run -q --".to_owned();
    }
    std::env::args_os().next().map_or_else(|| "vestibule".to_owned(), |typed| shell_quoted(&typed))
}
