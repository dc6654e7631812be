//! Checks of the pod's environment: the types of its lists, operating system, host network, completion, and the rollout.

use super::{Check, CheckResult, MatchContext, Skip, passed_unless, rollout};
use crate::decision::Reason;
use crate::diagnostic::printable_short;
use crate::rule::{Injected, Rule};

pub(super) static CHECKS: &[Check] = &[
    Check { name: "object", at: |_| None, run: shape },
    Check { name: "match.os", at: |rule| Some(rule.matching.os_at), run: os },
    Check { name: "match.hostNetwork", at: |rule| rule.matching.skip_host_network, run: host_network },
    Check { name: "job", at: |rule| regular_sidecar(rule).map(|one| one.item.clause.at), run: job },
    Check { name: rollout::NAME, at: |rule| rule.rollout.as_ref().map(|one| one.at), run: rollout::check },
];

fn shape(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let error = context.received.type_error();
    let skip = error.map(|sentence| Skip::failure(Reason::InvalidObject, rule.at, sentence));
    passed_unless(skip, |_, _| "the pod's lists are lists".to_owned())
}

fn os(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let Some(wanted) = rule.matching.os else {
        return CheckResult::NotApplicable(|_, _| "the rule is for any operating system".to_owned());
    };
    let other = context.received.os().filter(|found| *found != wanted);
    let skip = other.map(|found| {
        let sentence = format!("the pod is for {}, the rule for {wanted}", printable_short(found));
        Skip::new(Reason::OsMismatch, Some(rule.matching.os_at), sentence)
    });
    passed_unless(skip, |context, rule| match (context.received.os(), rule.matching.os) {
        (Some(found), _) => format!("the pod is for {}", printable_short(found)),
        (None, wanted) => format!("the pod does not say, the rule is for {}", wanted.unwrap_or("any")),
    })
}

fn host_network(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let Some(at) = rule.matching.skip_host_network else {
        return CheckResult::NotApplicable(|_, _| "the rule is for any network".to_owned());
    };
    let skip = context
        .received
        .host_network()
        .then(|| Skip::new(Reason::HostNetwork, Some(at), "the pod uses the network of its node"));
    passed_unless(skip, |_, _| "the pod has a network of its own".to_owned())
}

fn job(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let Some(regular) = regular_sidecar(rule) else {
        return CheckResult::NotApplicable(|_, _| {
            "the rule adds no container that would keep a Job from completing".to_owned()
        });
    };
    let skip = context.received.runs_to_completion().then(|| {
        let sentence =
            format!("`{}` in `mode: regular` would keep the Job from completing", regular.item.key);
        Skip::failure(Reason::JobWithoutNativeSidecar, regular.item.clause.at, sentence)
    });
    passed_unless(skip, |_, _| "the pod does not run to completion".to_owned())
}

fn regular_sidecar(rule: &Rule) -> Option<&Injected> {
    rule.injected.iter().find(|injected| injected.regular)
}
