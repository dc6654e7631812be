//! Flags for rules and namespace labels.

use std::path::PathBuf;

use vestibule_command::{CommandError, Connection};
use vestibule_injector::{ClusterError, ClusterReader, LoadError, RulesInForce, RulesStatus, StoredRules};
use vestibule_rules::{Mode, RuleSet, syntax};

use crate::{Failure, files, say};

/// Labels as a flag writes them: `injection=enabled,team=shop`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(pub(crate) Vec<(String, String)>);

impl Labels {
    /// An empty text means that namespaces have no labels.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refused =
            |what: &str, term: &str, wanted| format!("{what} of `{term}`: no label has it; wanted: {wanted}");
        let pair = |term: &str| match term.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                syntax::label_key(key).map_err(|wanted| refused("the key", term, wanted))?;
                syntax::label_value(value).map_err(|wanted| refused("the value", term, wanted))?;
                Ok((key.to_owned(), value.to_owned()))
            }
            _ => Err(format!("`{term}` is no label: write KEY=VALUE, with commas between")),
        };
        text.split(',')
            .map(str::trim)
            .filter(|term| !term.is_empty())
            .map(pair)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Reads rules.
pub(crate) fn load(paths: &[PathBuf]) -> Result<RuleSet, Failure> {
    vestibule_injector::load_all(paths).map_err(unusable)
}

/// The rules in force in a cluster.
pub(crate) async fn of_cluster(
    connection: &Connection,
    injector_namespace: Option<&str>,
) -> Result<RuleSet, Failure> {
    let stored = ClusterReader::new(connection.client().clone()).rules(injector_namespace).await;
    Ok(in_force(&stored.map_err(unreadable(connection))?)?.rules)
}

/// The rules in force. Errors in the newest texts are printed, with a note about what is in force instead.
pub(crate) fn in_force(stored: &StoredRules) -> Result<RulesInForce, Failure> {
    let in_force = stored.in_force().map_err(unusable)?;
    in_force.wrong.iter().for_each(say);
    if let Some(note) = status_note(&in_force) {
        say(format_args!("note: {note}"));
    }
    Ok(in_force)
}

/// A note if the rules are not those of the newest texts.
fn status_note(in_force: &RulesInForce) -> Option<&'static str> {
    match in_force.status {
        _ if in_force.wrong.is_empty() => None,
        RulesStatus::LastGood => Some(
            "the newest documents are not in force, since they contradict each other: the last good version of every \
             document is, and it is used here",
        ),
        RulesStatus::NotInForce => Some(
            "nothing is in force: documents have errors or contradict each other, and no rules were good before; the \
             first document of each name without errors is used here, and the others are ignored",
        ),
        _ => Some("a document with errors is not in force: its last good version is, if there is one"),
    }
}

/// The failure for objects of a cluster that cannot be read.
pub(crate) fn unreadable(connection: &Connection) -> impl Fn(ClusterError) -> Failure {
    |error| {
        Failure::Command(match error {
            ClusterError::Unreachable(_) => connection.advised(CommandError::unreachable(error)),
            ClusterError::TryAgain { .. } => CommandError::unreachable(error),
            other => CommandError::input(other),
        })
    }
}

/// Stdin can be read only once, so several `-` are refused.
pub(crate) fn refuse_stdin_twice(paths: &[&[PathBuf]]) -> Result<(), CommandError> {
    match paths.iter().copied().flatten().filter(|path| files::is_stdin(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(CommandError::input(
            "`-` is given twice, and stdin can be read once: name a file for one of them",
        )),
    }
}

/// Prints the warnings of the rules, and a note if an injector with these settings would change nothing.
pub(crate) fn remark(rules: &RuleSet) {
    rules.warnings().iter().for_each(say);
    let effect = match rules.settings().mode {
        Mode::On => return,
        Mode::Off => "`mode: off` in InjectorSettings: an injector leaves everything alone",
        Mode::Observe => "`mode: observe` in InjectorSettings: an injector changes nothing",
    };
    say(format_args!("note: {effect}"));
}

/// The failure for rules that cannot be used.
pub(crate) fn unusable(error: LoadError) -> Failure {
    match error {
        LoadError::Rules(findings) => Failure::Findings(findings),
        other => Failure::Command(CommandError::input(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_parsed_as_kubectl_writes_them() {
        let pairs = |text| Labels::parse(text).map(|labels| labels.0);
        let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs("a=b, example.com/c="), Ok(vec![owned("a", "b"), owned("example.com/c", "")]));
        assert_eq!(pairs(""), Ok(vec![]));
        assert!(pairs("a").unwrap_err().contains("`a`"));
        assert!(pairs("=b").is_err());
    }
}
