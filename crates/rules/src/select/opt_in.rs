//! The opt-in table of `docs/reference/opt-in.md`: whether the object or its namespace opts in or out. The first row with an
//! answer decides.

use std::collections::HashSet;
use std::fmt;

use super::{Check, CheckResult, MatchContext, Skip};
use crate::decision::Reason;
use crate::diagnostic::printable_short;
use crate::rule::{MetadataOf, OptIn, Rule};
use crate::syntax;
use crate::well_known::INJECT_KEY;

/// Rows 4 to 8 of the table. Rows 1 to 3 are the exclusions, the exemptions and `match`.
pub(super) static ROWS: &[Check] = &[
    Check { name: "opt.4", at: |rule| Some(rule.opt_in_at), run: own_key_of_object },
    Check { name: "opt.5", at: |rule| Some(rule.opt_in_at), run: common_key_of_object },
    Check { name: "opt.6", at: |rule| Some(rule.opt_in_at), run: own_key_of_namespace },
    Check { name: "opt.7", at: |rule| Some(rule.opt_in_at), run: common_key_of_namespace },
    Check { name: "opt.8", at: |rule| Some(rule.opt_in_at), run: default_of_rule },
];

/// The meaning of a key's value for a rule.
enum OptAnswer {
    /// The value does not concern the rule.
    NotAddressed,
    In,
    Out,
    /// The value cannot be read. The text names the values that can.
    Invalid(String),
}

/// The value of the common key, [`INJECT_KEY`].
pub(super) enum InjectValue<'i> {
    /// `true` or `false`.
    AllRules(bool),
    Names(HashSet<&'i str>),
    Invalid,
}

/// How many unknown names of a list, or accepted values, a message quotes: a hostile list may be long.
const MAX_NAMED: usize = 4;

/// The place of a key: the object or its namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The labels and annotations that rules with this `metadataOf` read, and the words for what has them.
    Object(MetadataOf, &'static str),
    Namespace,
}

fn own_key_of_object(context: &MatchContext<'_>, rule: &Rule, warnings: &mut Vec<String>) -> CheckResult {
    let level = context.object_level(rule);
    if let Some(value) = context.value(level, &rule.key, warnings) {
        return check_result(rule, level, &rule.key, parse_own_key(value, &[]), warnings);
    }
    for compat in &rule.compat {
        if let Some(value) = context.received.metadata(rule.metadata_of).annotation(&compat.key) {
            return check_result(rule, level, &compat.key, parse_own_key(value, &compat.accepted), warnings);
        }
    }
    CheckResult::Passed(|context, rule| format!("{} has no {}", context.object_level(rule), rule.key))
}

fn common_key_of_object(context: &MatchContext<'_>, rule: &Rule, warnings: &mut Vec<String>) -> CheckResult {
    // The rule's own key takes precedence over the common one, even where `optIn: namespace` ignores its `true`.
    let level = context.object_level(rule);
    let has_own_key = context.value(level, &rule.key, &mut Vec::new()).is_some();
    let metadata = context.received.metadata(rule.metadata_of);
    if has_own_key || rule.compat.iter().any(|one| metadata.annotation(&one.key).is_some()) {
        return CheckResult::NotApplicable(|context, rule| {
            format!("{} has the rule's own key", context.object_level(rule))
        });
    }
    match context.value(level, INJECT_KEY, warnings) {
        Some(value) => {
            let answer = context.answer_of_common_key(rule, level, value, warnings);
            check_result(rule, level, INJECT_KEY, answer, warnings)
        }
        None => {
            CheckResult::Passed(|context, rule| format!("{} has no {INJECT_KEY}", context.object_level(rule)))
        }
    }
}

fn own_key_of_namespace(context: &MatchContext<'_>, rule: &Rule, warnings: &mut Vec<String>) -> CheckResult {
    if let Some(answer) = namespace_not_asked(context, rule) {
        return answer;
    }
    match context.value(Level::Namespace, &rule.key, warnings) {
        Some(value) => check_result(rule, Level::Namespace, &rule.key, parse_own_key(value, &[]), warnings),
        None => CheckResult::Passed(|_, rule| format!("the namespace has no {}", rule.key)),
    }
}

fn common_key_of_namespace(
    context: &MatchContext<'_>,
    rule: &Rule,
    warnings: &mut Vec<String>,
) -> CheckResult {
    if let Some(answer) = namespace_not_asked(context, rule) {
        return answer;
    }
    match context.value(Level::Namespace, INJECT_KEY, warnings) {
        Some(value) => {
            let answer = context.answer_of_common_key(rule, Level::Namespace, value, warnings);
            check_result(rule, Level::Namespace, INJECT_KEY, answer, warnings)
        }
        None => CheckResult::Passed(|_, _| format!("the namespace has no {INJECT_KEY}")),
    }
}

fn default_of_rule(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let level = context.object_level(rule);
    let sentence = match rule.opt_in {
        OptIn::Always => return CheckResult::Passed(|_, _| "the rule needs no opt-in".to_owned()),
        OptIn::Namespace => "the namespace does not ask for the rule".into(),
        OptIn::Pod => format!("{level} does not ask for the rule"),
        OptIn::Either => format!("neither {level} nor its namespace asks for the rule"),
    };
    CheckResult::Skip(Skip::new(Reason::NotOptedIn, Some(rule.opt_in_at), sentence))
}

fn namespace_not_asked(context: &MatchContext<'_>, rule: &Rule) -> Option<CheckResult> {
    if rule.opt_in == OptIn::Pod {
        return Some(CheckResult::NotApplicable(|_, _| {
            "with `optIn: pod` the keys of the namespace do not count".to_owned()
        }));
    }
    let unknown = context.subject.facts.is_none();
    unknown.then_some(CheckResult::NotApplicable(|_, _| "the keys of the namespace are not known".to_owned()))
}

fn check_result(
    rule: &Rule,
    level: Level,
    key: &str,
    answer: OptAnswer,
    warnings: &mut Vec<String>,
) -> CheckResult {
    let at = rule.opt_in_at;
    match answer {
        OptAnswer::NotAddressed => {
            CheckResult::Passed(|_, _| "its list of names does not concern this rule".to_owned())
        }
        OptAnswer::In if level != Level::Namespace && rule.opt_in == OptIn::Namespace => {
            CheckResult::Passed(|_, _| "with `optIn: namespace` an object cannot opt in".to_owned())
        }
        OptAnswer::In => CheckResult::OptedIn(|_, _| "it asks for the rule".to_owned()),
        OptAnswer::Out => CheckResult::Skip(Skip::new(
            Reason::OptedOut,
            Some(at),
            format!("{key} of {level} declines the rule"),
        )),
        // The value is not quoted: it may be confidential, and other users than its author read this sentence.
        OptAnswer::Invalid(readable) => {
            let sentence =
                format!("{key} of {level} has a value that rule `{}` does not read: {readable}", rule.name);
            warn(warnings, sentence.clone());
            CheckResult::Skip(Skip::failure(Reason::InvalidValue, at, sentence))
        }
    }
}

impl<'i> MatchContext<'i> {
    fn object_level(&self, rule: &Rule) -> Level {
        Level::Object(rule.metadata_of, self.received.described(rule.metadata_of))
    }

    /// The value of `key`. A label takes precedence over an annotation.
    fn value(&self, level: Level, key: &str, warnings: &mut Vec<String>) -> Option<&'i str> {
        let (label, annotation) = match level {
            Level::Object(of, _) => {
                let metadata = self.received.metadata(of);
                (metadata.label(key), metadata.annotation(key))
            }
            Level::Namespace => {
                let facts = self.subject.facts?;
                (facts.labels.get(key).map(String::as_str), facts.annotations.get(key).map(String::as_str))
            }
        };
        if let (Some(label), Some(annotation)) = (label, annotation)
            && label != annotation
        {
            warn(warnings, format!("label and annotation {key} of {level} disagree; the label counts"));
        }
        label.or(annotation)
    }

    /// The meaning of `value` of the common key for `rule`.
    fn answer_of_common_key(
        &self,
        rule: &Rule,
        level: Level,
        value: &'i str,
        warnings: &mut Vec<String>,
    ) -> OptAnswer {
        let cached = match level {
            Level::Object(of, _) => {
                let [of_template, of_workload] = &self.cache.object_inject;
                if of == MetadataOf::Workload { of_workload } else { of_template }
            }
            Level::Namespace => &self.cache.namespace_inject,
        };
        // A list of names concerns only rules whose `optIn` includes its level.
        let concerned = match level {
            Level::Object(..) => matches!(rule.opt_in, OptIn::Pod | OptIn::Either),
            Level::Namespace => matches!(rule.opt_in, OptIn::Namespace | OptIn::Either),
        };
        match cached.get_or_init(|| self.parse_common_key(level, value, warnings)) {
            InjectValue::AllRules(true) => OptAnswer::In,
            InjectValue::AllRules(false) => OptAnswer::Out,
            InjectValue::Invalid => {
                OptAnswer::Invalid("it reads `true`, `false` and names of rules".to_owned())
            }
            InjectValue::Names(_) if !concerned => OptAnswer::NotAddressed,
            InjectValue::Names(names) if names.contains(rule.name()) => OptAnswer::In,
            InjectValue::Names(_) => OptAnswer::Out,
        }
    }

    /// A value whose items have the syntax of rule names is a list, even if no rule has these names.
    fn parse_common_key(&self, level: Level, value: &'i str, warnings: &mut Vec<String>) -> InjectValue<'i> {
        if let Ok(all) = value.parse() {
            return InjectValue::AllRules(all);
        }
        let names: Vec<&str> = value.split(',').map(str::trim).collect();
        if names.iter().any(|name| syntax::name(name).is_err()) {
            return InjectValue::Invalid;
        }
        let unknown = (1..).zip(&names).filter(|(_, name)| !self.rule_names().contains(**name));
        for (number, _) in unknown.take(MAX_NAMED) {
            warn(warnings, format!("name {number} in {INJECT_KEY} of {level} is not the name of a rule"));
        }
        InjectValue::Names(names.into_iter().collect())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Object(_, described) => described,
            Self::Namespace => "the namespace",
        })
    }
}

/// Reads `true`, `false` and the values that the rule has `accepted`.
fn parse_own_key(value: &str, accepted: &[String]) -> OptAnswer {
    match value {
        _ if accepted.iter().any(|accepted| accepted == value) => OptAnswer::In,
        "true" => OptAnswer::In,
        "false" => OptAnswer::Out,
        _ => {
            let others = accepted.iter().filter(|accepted| !["true", "false"].contains(&accepted.as_str()));
            let shown = others.take(MAX_NAMED).map(|accepted| format!(", `{}`", printable_short(accepted)));
            let more: String = shown.collect();
            OptAnswer::Invalid(format!("it reads `true`, `false`{more}"))
        }
    }
}

/// Adds `warning` unless another rule has added it.
fn warn(warnings: &mut Vec<String>, warning: String) {
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}
