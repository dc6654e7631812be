//! Whether a rule applies to an object: exclusions, exemptions, `match`, the opt-in table, the pod's environment, the rollout.
//!
//! [`evaluate`](crate::evaluate) asks [`MatchContext::skip_object`] once for an object and then [`MatchContext::skip_rule`]
//! for each rule. Every check reads the object as received, so a change that an earlier rule makes cannot select or deselect a
//! later rule. Start with [`checks`], which gives the order.

mod environment;
mod exclusions;
mod matching;
mod misspelt_keys;
mod opt_in;
mod rollout;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use crate::decision::Reason;
use crate::diagnostic::Position;
use crate::explanation::{Gate, GateResult, Record};
use crate::rule::Rule;
use crate::settings::Settings;
use crate::subject::{Received, Subject};

pub use exclusions::MIRROR_ANNOTATION;
pub(crate) use exclusions::SYSTEM_NAMESPACES;
pub(crate) use matching::NO_OWNER;

/// Why a rule is skipped.
pub(crate) struct Skip {
    pub(crate) reason: Reason,
    pub(crate) sentence: Arc<str>,
    /// The line of the rule that decides; `None` stands for the line of its name.
    pub(crate) at: Option<Position>,
    /// Whether the rule was wanted and could not act. The object is then denied if the rule is required.
    pub(crate) failure: bool,
}

impl Skip {
    pub(crate) fn new(reason: Reason, at: Option<Position>, sentence: impl Into<Arc<str>>) -> Self {
        Self { reason, sentence: sentence.into(), at, failure: false }
    }

    pub(crate) fn failure(reason: Reason, at: Position, sentence: impl Into<Arc<str>>) -> Self {
        Self { failure: true, ..Self::new(reason, Some(at), sentence) }
    }
}

/// The object, the rules and the settings that the checks read.
pub(crate) struct MatchContext<'i> {
    pub(crate) subject: &'i Subject<'i>,
    pub(crate) received: &'i Received<'i>,
    pub(crate) rules: &'i [Rule],
    pub(crate) settings: &'i Settings,
    pub(crate) own_namespace: Option<&'i str>,
    pub(crate) cache: MatchCache<'i>,
}

/// Facts and sentences that are the same for all rules. Each is computed at most once for an object.
#[derive(Default)]
pub(crate) struct MatchCache<'i> {
    rule_names: OnceCell<HashSet<&'i str>>,
    other_resource: OnceCell<Arc<str>>,
    other_namespace: OnceCell<Arc<str>>,
    /// The value of the common key in the metadata that each [`MetadataOf`] names.
    object_inject: [OnceCell<opt_in::InjectValue<'i>>; 2],
    namespace_inject: OnceCell<opt_in::InjectValue<'i>>,
}

/// One check that a rule has to pass.
struct Check {
    /// See [`Gate::name`].
    name: &'static str,
    /// The line of the rule that the check reads.
    at: fn(&Rule) -> Option<Position>,
    run: fn(&MatchContext<'_>, &Rule, &mut Vec<String>) -> CheckResult,
}

enum CheckResult {
    Passed(Describe),
    /// The check passed, and the remaining rows of its group, the opt-in table, are not run.
    OptedIn(Describe),
    /// The rule does not use this check.
    NotApplicable(Describe),
    Skip(Skip),
}

/// Makes the sentence of an explanation. It is called only when an explanation is wanted.
type Describe = fn(&MatchContext<'_>, &Rule) -> String;

/// All checks of a rule in the order in which they run.
fn checks() -> [&'static [Check]; 3] {
    [matching::CHECKS, opt_in::ROWS, environment::CHECKS]
}

const EXCLUSIONS: &str = "exclusions";
const EXEMPTIONS: &str = "exemptions";

impl<'i> MatchContext<'i> {
    /// Why all rules skip the object.
    pub(crate) fn skip_object(&self, record: &mut Option<Record>) -> Option<Skip> {
        let mut traced = |name: &str, passed: &str, skip: Option<Skip>| {
            let Some(record) = record else { return skip };
            let result = if skip.is_some() { GateResult::Failed } else { GateResult::Passed };
            for rule in self.rules {
                let sentence = skip.as_ref().map_or(passed, |skip| &*skip.sentence).to_owned();
                record.gate(rule, Gate { result, sentence, ..Gate::not_reached(name, None) });
            }
            skip
        };
        traced(EXCLUSIONS, "no exclusion applies", self.exclusion())
            .or_else(|| traced(EXEMPTIONS, "no exemption applies", self.exemption()))
    }

    /// Why `rule` skips the object. Warnings for the user go to `warnings` whether it does or not.
    pub(crate) fn skip_rule(
        &self,
        rule: &Rule,
        warnings: &mut Vec<String>,
        record: &mut Option<Record>,
    ) -> Option<Skip> {
        for group in checks() {
            for check in group {
                let result = (check.run)(self, rule, warnings);
                if let Some(record) = record {
                    record.gate(rule, self.gate(check, rule, &result));
                }
                match result {
                    CheckResult::OptedIn(_) => break,
                    CheckResult::Skip(skip) => return Some(skip),
                    CheckResult::Passed(_) | CheckResult::NotApplicable(_) => {}
                }
            }
        }
        None
    }

    fn rule_names(&self) -> &HashSet<&'i str> {
        self.cache.rule_names.get_or_init(|| self.rules.iter().map(Rule::name).collect())
    }

    fn gate(&self, check: &Check, rule: &Rule, result: &CheckResult) -> Gate {
        let (result, sentence) = match result {
            CheckResult::Passed(describe) | CheckResult::OptedIn(describe) => {
                (GateResult::Passed, describe(self, rule))
            }
            CheckResult::NotApplicable(describe) => (GateResult::NotReached, describe(self, rule)),
            CheckResult::Skip(skip) => (GateResult::Failed, skip.sentence.to_string()),
        };
        let presumed = check.name == rollout::NAME && rollout::is_presumed(self, rule);
        Gate {
            result,
            presumed: presumed && result != GateResult::NotReached,
            sentence,
            ..check.not_reached(rule)
        }
    }
}

impl Check {
    fn not_reached(&self, rule: &Rule) -> Gate {
        Gate::not_reached(self.name, (self.at)(rule))
    }
}

/// All gates of `rule` that stand before its parameters, none of them reached.
pub(crate) fn gates(rule: &Rule) -> Vec<Gate> {
    let of_object = [EXCLUSIONS, EXEMPTIONS].into_iter().map(|name| Gate::not_reached(name, None));
    of_object.chain(checks().into_iter().flatten().map(|check| check.not_reached(rule))).collect()
}

fn passed_unless(skip: Option<Skip>, describe: Describe) -> CheckResult {
    skip.map_or(CheckResult::Passed(describe), CheckResult::Skip)
}
