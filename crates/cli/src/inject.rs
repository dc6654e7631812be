//! `inject`: applies rules to objects in files, and prints the objects.

mod documents;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use vestibule_command::{CommandError, namespace};
use vestibule_injector::StartError;
use vestibule_rules::diagnostic::printable;
use vestibule_rules::yaml::pretty_json;
use vestibule_rules::{Decision, RuleSet, Verb};

use crate::evaluation::{Evaluation, Facts, Request};
use crate::objects::{self, ObjectSource};
use crate::rules::{self, Labels};
use crate::{Failure, print, render, say, workload};

/// Applies rules to pods and to the templates of workloads, and prints all objects.
///
/// Comments, order, quotes and blank lines of a file stay: the difference is only the added lines. If a changed part is in flow
/// style (`{a: b}`) or behind anchors, its document is written anew, and stderr says so. Objects of other kinds, and objects
/// that no rule matches, are printed byte for byte. JSON stays JSON.
///
/// The exit code is 0 also if no rule matches any object, unless `--require` is given; 1 if a rule denies an object, and then
/// nothing is printed; 2 for input that cannot be read.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule inject -f deployment.yaml --rules examples/rules/env-target.yaml
  vestibule inject -f manifests/ --rules rules/ --namespace-labels injection=enabled --require | kubectl apply -f -
  kubectl kustomize overlay | vestibule inject -f - --rules rules/ -o patch")]
pub(crate) struct Arguments {
    /// A file of objects, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; may be given several times.
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A file of rules, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; ConfigMap manifests are read for the
    /// rules in them. May be given several times.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH", required = true)]
    rules: Vec<PathBuf>,
    /// Labels of the objects' namespaces, for rules that read them: `injection=enabled,...`. Labels of Namespaces among the
    /// objects are known.
    #[arg(long, value_name = "K=V,...", value_parser = Labels::parse)]
    namespace_labels: Option<Labels>,
    /// The namespace of objects that name none.
    #[arg(long, short, default_value = "default", value_name = "NS", value_parser = namespace)]
    namespace: String,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "yaml", value_name = "FORMAT")]
    output: Format,
    /// Exits with 1, and prints nothing, if no rule matches any of the objects.
    #[arg(long)]
    require: bool,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The files with the additions in place.
    Yaml,
    /// The document; several as a `v1` List of all their objects.
    Json,
    /// The JSON Patch (RFC 6902); for several objects, a line `{object, patch}` each.
    Patch,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { files, rules, namespace_labels, namespace, .. } = arguments;
    rules::refuse_stdin_twice(&[files, rules])?;
    let rules = rules::load(rules)?;
    rules::remark(&rules);
    let sources = objects::read(files)?;
    let objects = || sources.iter().flat_map(|source| &source.objects);
    let facts = Facts::new(namespace_labels.as_ref(), objects());
    if let Some(error) = StartError::of_rules(&rules)
        && facts.unknown(objects(), namespace).is_some()
    {
        return Err(CommandError::input(error).into());
    }
    let request = Request {
        rules: &rules,
        verb: Verb::Create,
        default_namespace: namespace,
        facts: &facts,
        user: None,
    };
    let evaluations = request.all(objects(), RuleSet::evaluate)?;
    let several = evaluations.len() > 1;
    for evaluation in &evaluations {
        let prefix = if several { evaluation.line_prefix() } else { String::new() };
        evaluation.warnings().iter().for_each(|warning| say(format_args!("{prefix}Warning: {warning}")));
        if let Some(denial) = evaluation.denial() {
            say(format_args!("{prefix}denied: {denial}"));
        }
        let presuming = evaluation.presuming(&rules);
        if !presuming.is_empty() {
            let (rules, kind) = (presuming.join(", "), printable(&evaluation.object.kind));
            say(format_args!(
                "{prefix}note: the results of {rules} depend on the name of the {kind}: the owner of its pods has no name yet"
            ));
        }
    }
    if evaluations.iter().any(Evaluation::is_denied) {
        return Ok(ExitCode::from(1));
    }
    if arguments.require && !evaluations.iter().any(Evaluation::is_matched) {
        say("no rule matches any of these objects; `vestibule explain`, with the same flags, says why");
        return Ok(ExitCode::from(1));
    }
    let data = match arguments.output {
        Format::Yaml => yaml(&sources, &evaluations),
        Format::Json => json(&sources, &evaluations),
        Format::Patch => render::patch_of(&evaluations.iter().collect::<Vec<_>>(), several),
    };
    print(&data?)?;
    Ok(ExitCode::SUCCESS)
}

/// A single document stays one, even if it is a list: its other members are kept.
fn json(sources: &[ObjectSource], evaluations: &[Evaluation<'_, Decision>]) -> anyhow::Result<String> {
    let mut sources = sources.iter().filter(|source| !source.objects.is_empty());
    let only = sources.next().filter(|_| sources.next().is_none());
    let Some(document) = only.and_then(|source| source.document.as_deref()) else {
        return Ok(render::json_of(&evaluations.iter().collect::<Vec<_>>(), evaluations.len() > 1));
    };
    let mut operations = Vec::new();
    for evaluation in evaluations {
        operations.extend(workload::under(&evaluation.operations, evaluation.object.pointer.as_str())?);
    }
    Ok(pretty_json(&workload::applied(&operations, document)?) + "\n")
}

fn yaml(sources: &[ObjectSource], evaluations: &[Evaluation<'_, Decision>]) -> anyhow::Result<String> {
    let mut evaluations = evaluations.iter();
    let mut text = String::new();
    for source in sources {
        let own: Vec<_> = evaluations.by_ref().take(source.objects.len()).collect();
        documents::append(&mut text, &documents::patched(source, &own)?);
    }
    Ok(text)
}
