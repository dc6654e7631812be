//! What surrounds the containers: the pod's shape, its system, its network, whether it ends, and how far the rule is
//! rolled out.

use super::{Answer, Inquiry, Out, Question, passed_or, rollout};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::{Injected, Rule};

pub(super) static QUESTIONS: &[Question] = &[
    Question { name: "object", at: |_| None, ask: shape },
    Question { name: "match.os", at: |rule| Some(rule.matching.os_at), ask: os },
    Question { name: "match.hostNetwork", at: |rule| rule.matching.skip_host_network, ask: host_network },
    Question { name: "job", at: |rule| regular(rule).map(|one| one.item.clause.at), ask: job },
    Question { name: rollout::NAME, at: |rule| rule.rollout.as_ref().map(|one| one.at), ask: rollout::ask },
];

fn shape(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let out = inquiry.received.misshapen();
    let out = out.map(|sentence| Out::failure(Reason::InvalidObject, rule.at, sentence));
    passed_or(out, |_, _| "its lists are lists".to_owned())
}

fn os(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let Some(wanted) = rule.matching.os else {
        return Answer::NotAsked(|_, _| "the rule is for any operating system".to_owned());
    };
    let found = inquiry.received.os().filter(|found| found != wanted);
    let out = found.map(|found| {
        let sentence = format!("the pod is for {}, the rule for {wanted}", shown(&found));
        Out::new(Reason::OsMismatch, Some(rule.matching.os_at), sentence)
    });
    passed_or(out, |inquiry, rule| match (inquiry.received.os(), rule.matching.os) {
        (Some(found), _) => format!("the pod is for {}", shown(&found)),
        (None, wanted) => format!("the pod does not say, the rule is for {}", wanted.unwrap_or("any")),
    })
}

fn host_network(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let Some(at) = rule.matching.skip_host_network else {
        return Answer::NotAsked(|_, _| "the rule is for any network".to_owned());
    };
    let out = inquiry.received.host_network();
    let out = out.then(|| Out::new(Reason::HostNetwork, Some(at), "the pod uses the network of its node"));
    passed_or(out, |_, _| "the pod has a network of its own".to_owned())
}

fn job(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let Some(regular) = regular(rule) else {
        return Answer::NotAsked(|_, _| {
            "the rule brings nothing that would keep a Job from ending".to_owned()
        });
    };
    let out = inquiry.received.is_job().then(|| {
        let sentence = format!("`{}` in `mode: regular` would keep the Job from ending", regular.item.key);
        Out::failure(Reason::JobWithoutNativeSidecar, regular.item.clause.at, sentence)
    });
    passed_or(out, |_, _| "nobody waits for the pod to end".to_owned())
}

fn regular(rule: &Rule) -> Option<&Injected> {
    rule.injected.iter().find(|injected| injected.regular)
}
