//! Finds cycles of `before` and `after` among all rules, which no order of containers can satisfy.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{self, ANCHOR_CYCLE, Diagnostic};
use crate::rule::{ContainerPosition, Injected, Rule};

/// The container `from` must come before `to`, because of the position of `by`.
struct Step<'l> {
    from: &'l str,
    to: &'l str,
    rule: &'l Rule,
    by: &'l Injected,
}

pub(super) fn findings(rules: &[Rule]) -> Vec<Diagnostic> {
    ["initContainers", "containers"].into_iter().flat_map(|list| cycles(&steps(rules, list))).collect()
}

/// The order that the rules demand for the containers they inject into `list`.
fn steps<'l>(rules: &'l [Rule], list: &str) -> Vec<Step<'l>> {
    let all = rules.iter().flat_map(|rule| rule.injected.iter().map(move |by| (rule, by)));
    let here = all.filter(|(_, by)| by.list == list);
    let step = |(rule, by): (&'l Rule, &'l Injected)| {
        let (from, to) = match &by.position {
            ContainerPosition::Before(anchor) => (by.item.key.as_str(), anchor.as_str()),
            ContainerPosition::After(anchor) => (anchor.as_str(), by.item.key.as_str()),
            ContainerPosition::First | ContainerPosition::Last => return None,
        };
        Some(Step { from, to, rule, by })
    };
    here.filter_map(step).collect()
}

/// Depth-first search from every container. A step back to the current path closes a cycle.
fn cycles<'l>(steps: &'l [Step<'l>]) -> Vec<Diagnostic> {
    let mut from: HashMap<&str, Vec<&Step<'_>>> = HashMap::new();
    for step in steps {
        from.entry(step.from).or_default().push(step);
    }
    let mut findings = Vec::new();
    let mut done: HashSet<&str> = HashSet::new();
    for start in steps {
        let mut path: Vec<&Step<'_>> = Vec::new();
        let mut depths: HashMap<&str, usize> = HashMap::from([(start.from, 0)]);
        let mut here = start.from;
        loop {
            match from.get_mut(here).and_then(Vec::pop) {
                Some(step) if done.contains(step.to) => {}
                Some(step) => {
                    path.push(step);
                    if let Some(begin) = depths.get(step.to) {
                        findings.extend(finding(path.get(*begin..).unwrap_or_default()));
                        path.pop();
                    } else {
                        here = step.to;
                        depths.insert(here, path.len());
                    }
                }
                None => {
                    done.insert(here);
                    depths.remove(here);
                    let Some(step) = path.pop() else { break };
                    here = step.from;
                }
            }
        }
    }
    findings
}

fn finding(cycle: &[&Step<'_>]) -> Option<Diagnostic> {
    let described = |step: &&Step<'_>| {
        let Step { from, to, rule, by } = step;
        let line = by.position_at.unwrap_or(by.item.clause.at).line;
        format!("`{from}` before `{to}` (rule `{}`, {})", rule.name, diagnostic::place(&rule.source, line))
    };
    let described: Vec<String> = cycle.iter().map(described).collect();
    let Step { rule, by, .. } = cycle.first()?;
    let at = by.position_at.unwrap_or(by.item.clause.at);
    let message = format!("no order of containers satisfies: {}", described.join(" and "));
    Some(rule.text.finding(&ANCHOR_CYCLE, at, message))
}
