//! `explain`: the meaning of a code, and the reasons for what rules did.

mod code;
mod json;
mod listing;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use vestibule_command::{CommandError, KubeconfigArguments, colour, namespace};
use vestibule_injector::ClusterReader;
use vestibule_rules::{RuleSet, Verb, reference};

use crate::evaluation::{Facts, Request};
use crate::objects::{self, Object};
use crate::render::Format;
use crate::rules::{self, Labels};
use crate::{Failure, block_on, print, say};

/// Explains the code of a finding, a field of the rule format, or the effect of rules on an object.
///
/// For an object it prints every check of each rule, with its result and the line of the rule, and every part of the rule, with
/// its additions or the reason for none. `pod/NAME` reads the pod, the labels of its namespace and, without `--rules`, the rules in
/// Injections and in the injector's ConfigMaps from a cluster. A pod that exists already holds the injected parts.
///
/// Workloads are explained by the pods that their controller will make. A result that depends on a name which is not known yet,
/// such as the name of each Job of a CronJob, uses the name of the template and is marked `?` and `presumably`. That holds for
/// `rollout.percent` and for match conditions that read `owner.name`, `ownerReferences` or `generateName`; values that
/// read them are not marked.
///
/// `-o json` lists for each object the `mode` of the injector (an injector acts under `on` alone) and the `rules`, each with its
/// `outcome`, whether that is `presumed`, its `gates` and its `clauses`; then `warnings`, the names of `ephemeralContainers`, which
/// rules leave alone, and why it would be `denied`.
///
/// A field is named by its path, as for `kubectl explain`: `spec.sidecars.position`, or `injectorsettings.spec.mode`. A path has
/// dots and `pod/NAME` a slash, so they cannot be confused.
///
/// The exit code is 2 for bad input, and 3 if the cluster does not answer.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule explain VST0121
  vestibule explain spec.sidecars.position
  vestibule explain -f pod.yaml --rules examples/rules --namespace-labels injection=enabled
  vestibule explain -f pod.yaml --from-cluster
  vestibule explain pod/web -n shop
  vestibule explain pod/web -n shop --rules rules/ -o json")]
pub(crate) struct Arguments {
    /// A code, such as VST0121, the path of a field, such as spec.match, or a pod of the cluster.
    #[arg(value_name = "CODE|FIELD|pod/NAME", required_unless_present = "files", conflicts_with = "files")]
    subject: Option<String>,
    /// A file of objects, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; may be given several times.
    #[arg(long = "filename", short = 'f', value_name = "FILE", requires = "origin")]
    files: Vec<PathBuf>,
    /// A file of rules, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; ConfigMap manifests are read for the
    /// rules in them. May be given several times. With `pod/NAME` the default is the rules of the cluster.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH", group = "origin")]
    rules: Vec<PathBuf>,
    /// With `-f`: the rules that are in force in the cluster, in Injections and in ConfigMaps of the injector.
    #[arg(long, group = "origin", conflicts_with = "rules")]
    from_cluster: bool,
    /// Labels of the objects' namespaces, for rules that read them: `injection=enabled,...`. Labels of Namespaces among the
    /// objects are known.
    #[arg(long, value_name = "K=V,...", value_parser = Labels::parse)]
    namespace_labels: Option<Labels>,
    /// The namespace of the pod, or of objects that name none [default: default; with `pod/NAME` the kubeconfig context's]
    #[arg(long, short, value_name = "NS", value_parser = namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// With `pod/NAME`: the namespace of the ConfigMaps with rules, if several namespaces have some.
    #[arg(long, value_name = "NS", value_parser = namespace)]
    injector_namespace: Option<String>,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: colour::When,
}

/// The rules and objects to explain.
struct Case {
    rules: RuleSet,
    objects: Vec<Object>,
    facts: Facts,
    namespace: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let case = match &arguments.subject {
        None => arguments.files()?,
        Some(subject) => match subject.split_once('/') {
            Some(("pod" | "pods" | "po", name)) if !name.is_empty() => arguments.pod(name)?,
            Some(_) => return Err(no_subject(subject).into()),
            None => {
                let text = match reference::is_path(subject) {
                    true => {
                        let schema = vestibule::admission::keys::schema("", "v1", "Pod");
                        reference::explained(subject, schema).map_err(CommandError::input)?
                    }
                    false => code::explained(subject)?,
                };
                if arguments.output != Format::Text {
                    return Err(
                        CommandError::input("codes and fields are explained as text, without -o").into()
                    );
                }
                print(&text)?;
                return Ok(ExitCode::SUCCESS);
            }
        },
    };
    case.notes();
    let Case { rules, objects, facts, namespace } = case;
    let mode = rules.settings().mode;
    let request = Request {
        rules: &rules,
        verb: Verb::Create,
        default_namespace: &namespace,
        facts: &facts,
        user: None,
    };
    let evaluations = request.all(&objects, RuleSet::explain)?;
    let text = || listing::text(&evaluations, arguments.color.palette());
    print(&arguments.output.render(text, || json::explanations(mode, &evaluations))?)?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn files(&self) -> Result<Case, Failure> {
        rules::refuse_stdin_twice(&[&self.files, &self.rules])?;
        let rules = match self.from_cluster {
            true => block_on(async {
                rules::of_cluster(&self.cluster.connect().await?, self.injector_namespace.as_deref()).await
            })?,
            false => rules::load(&self.rules)?,
        };
        let objects: Vec<Object> =
            objects::read(&self.files)?.into_iter().flat_map(|source| source.objects).collect();
        let facts = Facts::new(self.namespace_labels.as_ref(), objects.iter());
        Ok(Case { rules, objects, facts, namespace: self.namespace.clone().unwrap_or("default".to_owned()) })
    }

    fn pod(&self, name: &str) -> Result<Case, Failure> {
        block_on(async {
            let connection = self.cluster.connect().await?;
            let cluster = ClusterReader::new(connection.client().clone());
            let namespace = self.namespace.as_deref().unwrap_or(connection.namespace()).to_owned();
            let pod = cluster.pod(&namespace, name).await.map_err(rules::unreadable(&connection))?;
            let facts = match &self.namespace_labels {
                Some(_) => Facts::new(self.namespace_labels.as_ref(), std::iter::empty()),
                None => {
                    let facts = cluster.facts(&namespace).await;
                    Facts::everywhere(facts.map_err(rules::unreadable(&connection))?)
                }
            };
            let rules = match self.rules.as_slice() {
                [] => rules::of_cluster(&connection, self.injector_namespace.as_deref()).await?,
                paths => rules::load(paths)?,
            };
            let objects = objects::parse("the cluster", &pod).map_err(Failure::Findings)?;
            Ok::<_, Failure>(Case { rules, objects, facts, namespace })
        })
    }
}

impl Case {
    /// Prints notes about the rules and about unknown labels.
    fn notes(&self) {
        rules::remark(&self.rules);
        if self.rules.needs_namespace_facts()
            && let Some(unknown) = self.facts.unknown(self.objects.iter(), &self.namespace)
        {
            say(format_args!(
                "note: the labels of namespace {unknown} are not known: say them with --namespace-labels k=v,..."
            ));
        }
    }
}

fn no_subject(subject: &str) -> CommandError {
    CommandError::input(format_args!(
        "`{subject}` is neither a code, such as VST0121, nor a field, such as spec.match, nor pod/NAME; files are named with -f FILE"
    ))
}
