//! Rules and namespace labels, as flags name them.

use std::path::PathBuf;

use clap::Args;
use vestibule_command::CommandError;
use vestibule_injector::LoadError;
use vestibule_rules::{Mode, RuleSet, syntax};

use crate::{Failure, files, say};

/// Where the rules are.
#[derive(Args, Clone, Debug)]
pub(crate) struct RulesPath {
    /// A file of rules, a folder of them (*.yaml, *.yml, *.json), or `-` for stdin; ConfigMap manifests are read for the
    /// rules in them. May be given several times.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH", required = true)]
    pub(crate) rules: Vec<PathBuf>,
}

/// Labels as they are written: `injection=enabled,team=shop`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(pub(crate) Vec<(String, String)>);

impl Labels {
    /// No labels are labels too: the namespace is known to have none.
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

/// Reads rules; what is wrong with them is the user's to mend.
pub(crate) fn load(paths: &[PathBuf]) -> Result<RuleSet, Failure> {
    vestibule_injector::load_all(paths).map_err(unusable)
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

/// Says what is worth a warning, and where an injector with these settings would not do what is shown.
pub(crate) fn remark(rules: &RuleSet) {
    rules.warnings().iter().for_each(say);
    let effect = match rules.settings().mode() {
        Mode::On => return,
        Mode::Off => "`mode: off` in InjectorSettings: an injector leaves everything alone",
        Mode::Observe => "`mode: observe` in InjectorSettings: an injector changes nothing",
    };
    say(format_args!("note: {effect}"));
}

/// Rules that cannot be used.
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
    fn labels_are_read_as_kubectl_writes_them() {
        let pairs = |text| Labels::parse(text).map(|labels| labels.0);
        let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs("a=b, example.com/c="), Ok(vec![owned("a", "b"), owned("example.com/c", "")]));
        assert_eq!(pairs(""), Ok(vec![]));
        assert!(pairs("a").unwrap_err().contains("`a`"));
        assert!(pairs("=b").is_err());
    }
}
