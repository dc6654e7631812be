//! The opt table: who asked for a rule, who declined it. The first row that says something decides.

use std::collections::HashSet;

use super::{Answer, Inquiry, Out, Question};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::{OptIn, Rule};
use crate::syntax;
use crate::well_known::INJECT_KEY;

/// By the numbers of the table; rows 1 to 3 are nobody's, or every rule's.
pub(super) static ROWS: &[Question] = &[
    Question { name: "opt.4", at: |rule| Some(rule.opt_in_at), ask: own_key_of_object },
    Question { name: "opt.5", at: |rule| Some(rule.opt_in_at), ask: common_key_of_object },
    Question { name: "opt.6", at: |rule| Some(rule.opt_in_at), ask: own_key_of_namespace },
    Question { name: "opt.7", at: |rule| Some(rule.opt_in_at), ask: common_key_of_namespace },
    Question { name: "opt.8", at: |rule| Some(rule.opt_in_at), ask: default },
];

/// What a row says.
enum Say {
    Nothing,
    In,
    Out,
    /// A value that cannot be read, and which ones can.
    Invalid(String),
}

/// What stands under the common key.
pub(super) enum List<'i> {
    /// `true` or `false`.
    Everything(bool),
    Names(HashSet<&'i str>),
    Invalid,
}

/// Of the names in one list, or the values that are read; a hostile list is long.
const MOST_NAMED: usize = 4;

/// At which level a row stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Object,
    Namespace,
}

fn own_key_of_object(inquiry: &Inquiry<'_>, rule: &Rule, warnings: &mut Vec<String>) -> Answer {
    if let Some(value) = inquiry.value(Level::Object, &rule.key, warnings) {
        return settle(rule, Level::Object, &rule.key, truth(value, &[]), warnings);
    }
    for compat in &rule.compat {
        if let Some(value) = inquiry.received.annotation(&compat.key) {
            return settle(rule, Level::Object, &compat.key, truth(value, &compat.accepted), warnings);
        }
    }
    Answer::Passed(|_, rule| format!("the object has no {}", rule.key))
}

fn common_key_of_object(inquiry: &Inquiry<'_>, rule: &Rule, warnings: &mut Vec<String>) -> Answer {
    // Its yes was no answer for a rule that does not ask pods, but it speaks about this rule and counts more than a
    // no to all of them.
    let spoken = |key: &str| inquiry.value(Level::Object, key, &mut Vec::new()).is_some();
    let compat = |key: &str| inquiry.received.annotation(key).is_some();
    if spoken(&rule.key) || rule.compat.iter().any(|one| compat(&one.key)) {
        return Answer::NotAsked(|_, _| "the object speaks about this rule itself".to_owned());
    }
    match inquiry.value(Level::Object, INJECT_KEY, warnings) {
        Some(value) => {
            let say = inquiry.listed(rule, Level::Object, value, warnings);
            settle(rule, Level::Object, INJECT_KEY, say, warnings)
        }
        None => Answer::Passed(|_, _| format!("the object has no {INJECT_KEY}")),
    }
}

fn own_key_of_namespace(inquiry: &Inquiry<'_>, rule: &Rule, warnings: &mut Vec<String>) -> Answer {
    if let Some(answer) = namespace_not_asked(inquiry, rule) {
        return answer;
    }
    match inquiry.value(Level::Namespace, &rule.key, warnings) {
        Some(value) => settle(rule, Level::Namespace, &rule.key, truth(value, &[]), warnings),
        None => Answer::Passed(|_, rule| format!("the namespace has no {}", rule.key)),
    }
}

fn common_key_of_namespace(inquiry: &Inquiry<'_>, rule: &Rule, warnings: &mut Vec<String>) -> Answer {
    if let Some(answer) = namespace_not_asked(inquiry, rule) {
        return answer;
    }
    match inquiry.value(Level::Namespace, INJECT_KEY, warnings) {
        Some(value) => {
            let say = inquiry.listed(rule, Level::Namespace, value, warnings);
            settle(rule, Level::Namespace, INJECT_KEY, say, warnings)
        }
        None => Answer::Passed(|_, _| format!("the namespace has no {INJECT_KEY}")),
    }
}

fn default(_: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let sentence = match rule.opt_in {
        OptIn::Always => return Answer::Passed(|_, _| "the rule waits for nobody's yes".to_owned()),
        OptIn::Namespace => "the namespace does not ask for the rule",
        OptIn::Pod => "the object does not ask for the rule",
        OptIn::Either => "neither the object nor its namespace asks for the rule",
    };
    Answer::Out(Out::new(Reason::NotOptedIn, Some(rule.opt_in_at), sentence))
}

fn namespace_not_asked(inquiry: &Inquiry<'_>, rule: &Rule) -> Option<Answer> {
    if rule.opt_in == OptIn::Pod {
        return Some(Answer::NotAsked(|_, _| "with `optIn: pod` the namespace is not asked".to_owned()));
    }
    let unknown = inquiry.subject.facts.is_none();
    unknown.then_some(Answer::NotAsked(|_, _| "nobody knows the keys of the namespace".to_owned()))
}

fn settle(rule: &Rule, level: Level, key: &str, say: Say, warnings: &mut Vec<String>) -> Answer {
    let at = rule.opt_in_at;
    match say {
        Say::Nothing => Answer::Passed(|_, _| "what it says is about other rules".to_owned()),
        Say::In if level == Level::Object && rule.opt_in == OptIn::Namespace => {
            Answer::Passed(|_, _| "with `optIn: namespace` the yes of an object is none".to_owned())
        }
        Say::In => Answer::Settled(|_, _| "it asks for the rule".to_owned()),
        Say::Out => Answer::Out(Out::new(
            Reason::OptedOut,
            Some(at),
            format!("{key} of {} declines the rule", level.whose()),
        )),
        // The value itself may be anything, and whoever reads this need not be whoever wrote it.
        Say::Invalid(readable) => {
            let whose = level.whose();
            let sentence =
                format!("{key} of {whose} has a value that rule `{}` does not read: {readable}", rule.name);
            warn(warnings, sentence.clone());
            Answer::Out(Out::failure(Reason::InvalidValue, at, sentence))
        }
    }
}

impl<'i> Inquiry<'i> {
    /// Label beats annotation.
    fn value(&self, level: Level, key: &str, warnings: &mut Vec<String>) -> Option<&'i str> {
        let (label, annotation) = match level {
            Level::Object => (self.received.label(key), self.received.annotation(key)),
            Level::Namespace => {
                let facts = self.subject.facts?;
                (facts.labels.get(key).map(String::as_str), facts.annotations.get(key).map(String::as_str))
            }
        };
        if let (Some(label), Some(annotation)) = (label, annotation)
            && label != annotation
        {
            let whose = level.whose();
            warn(warnings, format!("label and annotation {key} of {whose} disagree; the label counts"));
        }
        label.or(annotation)
    }

    /// What the common key of a level says about `rule`.
    fn listed(&self, rule: &Rule, level: Level, value: &'i str, warnings: &mut Vec<String>) -> Say {
        let list = match level {
            Level::Object => &self.known.list_of_object,
            Level::Namespace => &self.known.list_of_namespace,
        };
        // A list speaks about rules that its level is asked about; to the others it says nothing.
        let asks = match level {
            Level::Object => matches!(rule.opt_in, OptIn::Pod | OptIn::Either),
            Level::Namespace => matches!(rule.opt_in, OptIn::Namespace | OptIn::Either),
        };
        match list.get_or_init(|| self.read(level, value, warnings)) {
            List::Everything(true) => Say::In,
            List::Everything(false) => Say::Out,
            List::Invalid => Say::Invalid("it reads `true`, `false` and names of rules".to_owned()),
            List::Names(_) if !asks => Say::Nothing,
            List::Names(names) if names.contains(rule.name()) => Say::In,
            List::Names(_) => Say::Out,
        }
    }

    /// Whatever could be names of rules is a list of them, even if it names none.
    fn read(&self, level: Level, value: &'i str, warnings: &mut Vec<String>) -> List<'i> {
        if let Ok(everything) = value.parse() {
            return List::Everything(everything);
        }
        let names: Vec<&str> = value.split(',').map(str::trim).collect();
        if names.iter().any(|name| syntax::name(name).is_err()) {
            return List::Invalid;
        }
        let unknown = (1..).zip(&names).filter(|(_, name)| !self.names().contains(**name));
        for (number, _) in unknown.take(MOST_NAMED) {
            let whose = level.whose();
            warn(warnings, format!("name {number} in {INJECT_KEY} of {whose} is no rule's"));
        }
        List::Names(names.into_iter().collect())
    }
}

impl Level {
    fn whose(self) -> &'static str {
        match self {
            Self::Object => "the object",
            Self::Namespace => "the namespace",
        }
    }
}

/// Beside `true` and `false` it reads what the rule has `accepted`.
fn truth(value: &str, accepted: &[String]) -> Say {
    match value {
        _ if accepted.iter().any(|accepted| accepted == value) => Say::In,
        "true" => Say::In,
        "false" => Say::Out,
        _ => {
            let others = accepted.iter().filter(|accepted| !["true", "false"].contains(&accepted.as_str()));
            let shown = others.take(MOST_NAMED).map(|accepted| format!(", `{}`", shown(accepted)));
            let more: String = shown.collect();
            Say::Invalid(format!("it reads `true`, `false`{more}"))
        }
    }
}

/// Once, however many rules notice it.
fn warn(warnings: &mut Vec<String>, warning: String) {
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}
