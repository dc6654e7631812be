//! The opt table: who asked for a rule, who declined it. The first row that says something decides.

use std::collections::HashSet;

use super::Out;
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::load::check;
use crate::rule::{OptIn, Rule};
use crate::subject::{Received, Subject};
use crate::{INJECT_KEY, RULE_KEY_PREFIX};

/// What a row says.
enum Say {
    Nothing,
    In,
    /// Declined under this key.
    Out(String),
    /// Cannot be read: key and value.
    Invalid(String, String),
}

/// Whether the table leaves `rule` out.
pub(super) fn out(
    rule: &Rule,
    subject: &Subject<'_>,
    received: &Received<'_>,
    names: &HashSet<&str>,
    warnings: &mut Vec<String>,
) -> Option<Out> {
    let mut table = Table { rule, names, warnings };
    let pod = table.level("the object", |key| (received.label(key), received.annotation(key)), true);
    let pod_asks = matches!(rule.opt_in, OptIn::Pod | OptIn::Either | OptIn::Always);
    let pod_says = match pod {
        Say::In if !pod_asks => Say::Nothing,
        other => other,
    };
    let says = match (pod_says, subject.facts) {
        (Say::Nothing, Some(facts)) if rule.opt_in != OptIn::Pod => {
            let find = |key: &str| (facts.labels.get(key).cloned(), facts.annotations.get(key).cloned());
            table.level("the namespace", find, false)
        }
        (pod, _) => pod,
    };
    verdict(rule, says, warnings)
}

fn verdict(rule: &Rule, says: Say, warnings: &mut Vec<String>) -> Option<Out> {
    let at = Some(rule.opt_in_at);
    match says {
        Say::In => None,
        Say::Out(key) => Some(Out::new(Reason::OptedOut, at, format!("{key} declines the rule"))),
        Say::Invalid(key, value) => {
            let value = shown(&value);
            let sentence =
                format!("`{value}` at {key} is none of the values that rule `{}` reads", rule.name);
            warnings.push(sentence.clone());
            Some(Out::failure(Reason::InvalidValue, rule.opt_in_at, sentence))
        }
        Say::Nothing => match rule.opt_in {
            OptIn::Always => None,
            OptIn::Namespace => {
                Some(Out::new(Reason::NotOptedIn, at, "the namespace does not ask for the rule"))
            }
            OptIn::Pod => Some(Out::new(Reason::NotOptedIn, at, "the object does not ask for the rule")),
            OptIn::Either => {
                let sentence = "neither the object nor its namespace asks for the rule";
                Some(Out::new(Reason::NotOptedIn, at, sentence))
            }
        },
    }
}

struct Table<'t> {
    rule: &'t Rule,
    names: &'t HashSet<&'t str>,
    warnings: &'t mut Vec<String>,
}

impl Table<'_> {
    /// The rows of one level: the rule's own key, the keys of other injectors (of objects only), the common key.
    fn level(
        &mut self,
        who: &str,
        find: impl Fn(&str) -> (Option<String>, Option<String>),
        object: bool,
    ) -> Say {
        let own = format!("{RULE_KEY_PREFIX}{}", self.rule.name);
        if let Some(value) = self.value(who, &own, find(&own)) {
            return truth(&own, value, &[]);
        }
        for compat in self.rule.compat.iter().filter(|_| object) {
            if let (_, Some(value)) = find(&compat.key) {
                return truth(&compat.key, value, &compat.accepted);
            }
        }
        match self.value(who, INJECT_KEY, find(INJECT_KEY)) {
            Some(value) => self.list(value),
            None => Say::Nothing,
        }
    }

    /// Label beats annotation.
    fn value(&mut self, who: &str, key: &str, found: (Option<String>, Option<String>)) -> Option<String> {
        if let (Some(label), Some(annotation)) = &found
            && label != annotation
        {
            self.warn(format!("label and annotation {key} of {who} disagree; the label counts"));
        }
        found.0.or(found.1)
    }

    /// Once, however many rules notice it.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// `true`, `false`, or the names of rules: whatever could be such names is a list of them, even if it names none.
    fn list(&mut self, value: String) -> Say {
        if matches!(value.as_str(), "true" | "false") {
            return truth(INJECT_KEY, value, &[]);
        }
        let listed: Vec<&str> = value.split(',').map(str::trim).collect();
        if listed.iter().any(|name| check::name(name).is_err()) {
            return Say::Invalid(INJECT_KEY.to_owned(), value);
        }
        for name in listed.iter().filter(|name| !self.names.contains(**name)) {
            self.warn(format!("{INJECT_KEY} names `{}`, which is no rule", shown(name)));
        }
        // A list speaks about rules that pods ask for; to the others it says nothing.
        match self.rule.opt_in {
            OptIn::Always | OptIn::Namespace => Say::Nothing,
            OptIn::Pod | OptIn::Either if listed.contains(&self.rule.name()) => Say::In,
            OptIn::Pod | OptIn::Either => Say::Out(INJECT_KEY.to_owned()),
        }
    }
}

fn truth(key: &str, value: String, accepted: &[String]) -> Say {
    match value.as_str() {
        "true" => Say::In,
        "false" => Say::Out(key.to_owned()),
        _ if accepted.contains(&value) => Say::In,
        _ => Say::Invalid(key.to_owned(), value),
    }
}
