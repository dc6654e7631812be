//! Whether a rule is for an object: exclusions, exemptions, `match`, the opt table, the pod's environment, the rollout.
//! All of it reads the object as received, so that what earlier rules write changes nobody's mind.

mod environment;
mod everybody;
mod matching;
mod mistyped;
mod opt;
mod rollout;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use crate::decision::Reason;
use crate::diagnostic::Position;
use crate::explanation::{Gate, Passage, Trace};
use crate::rule::Rule;
use crate::settings::Settings;
use crate::subject::{Received, Subject};

pub(crate) use everybody::SYSTEM_NAMESPACES;
pub use everybody::{MIRROR_ANNOTATION, OWN_POD_LABEL};
pub(crate) use matching::NO_OWNER;

/// Why a rule is out.
pub(crate) struct Out {
    pub(crate) reason: Reason,
    pub(crate) sentence: Arc<str>,
    /// Where the rule says so; its name where no part of it does.
    pub(crate) at: Option<Position>,
    /// Whether somebody wanted the rule and did not get it: that a required rule does not forgive.
    pub(crate) failure: bool,
}

impl Out {
    pub(crate) fn new(reason: Reason, at: Option<Position>, sentence: impl Into<Arc<str>>) -> Self {
        Self { reason, sentence: sentence.into(), at, failure: false }
    }

    pub(crate) fn failure(reason: Reason, at: Position, sentence: impl Into<Arc<str>>) -> Self {
        Self { failure: true, ..Self::new(reason, Some(at), sentence) }
    }
}

/// What rules are asked about.
pub(crate) struct Inquiry<'i> {
    pub(crate) subject: &'i Subject<'i>,
    pub(crate) received: &'i Received<'i>,
    pub(crate) rules: &'i [Rule],
    pub(crate) settings: &'i Settings,
    pub(crate) own_namespace: Option<&'i str>,
    pub(crate) known: Known<'i>,
}

/// What is found out at most once, however many rules ask.
#[derive(Default)]
pub(crate) struct Known<'i> {
    names: OnceCell<HashSet<&'i str>>,
    /// Sentences that are the same for all rules.
    other_resource: OnceCell<Arc<str>>,
    other_namespace: OnceCell<Arc<str>>,
    list_of_object: OnceCell<opt::List<'i>>,
    list_of_namespace: OnceCell<opt::List<'i>>,
}

/// What a rule has to pass.
struct Question {
    /// See [`Gate::name`].
    name: &'static str,
    /// Where the rule says so.
    at: fn(&Rule) -> Option<Position>,
    ask: fn(&Inquiry<'_>, &Rule, &mut Vec<String>) -> Answer,
}

enum Answer {
    Passed(Words),
    /// Passed, and the rest of the opt table is not asked.
    Settled(Words),
    /// This rule does not ask.
    NotAsked(Words),
    Out(Out),
}

/// Why, made up only for those who listen.
type Words = fn(&Inquiry<'_>, &Rule) -> String;

/// In the order in which they are asked, beside [`opt::ROWS`] that stand between [`matching::QUESTIONS`] and
/// [`environment::QUESTIONS`].
fn questions() -> impl Iterator<Item = &'static Question> {
    matching::QUESTIONS.iter().chain(opt::ROWS).chain(environment::QUESTIONS)
}

const EXCLUSIONS: &str = "exclusions";
const EXEMPTIONS: &str = "exemptions";

impl<'i> Inquiry<'i> {
    /// Why no rule is for the object.
    pub(crate) fn out_for_everybody(&self, trace: &mut impl Trace) -> Option<Out> {
        let mut asked = |name: &str, passed: &str, out: Option<Out>| {
            let passage = if out.is_some() { Passage::Failed } else { Passage::Passed };
            for rule in self.rules {
                trace.gate(rule, || {
                    let sentence = out.as_ref().map_or(passed, |out| &*out.sentence).to_owned();
                    Gate { passage, sentence, ..Gate::not_reached(name, None) }
                });
            }
            out
        };
        asked(EXCLUSIONS, "nothing keeps rules away from it", self.exclusion())
            .or_else(|| asked(EXEMPTIONS, "no administrator exempts it", self.exemption()))
    }

    /// Why `rule` is out. Adds to `warnings` what the user should know either way.
    pub(crate) fn out(&self, rule: &Rule, warnings: &mut Vec<String>, trace: &mut impl Trace) -> Option<Out> {
        let ask = |question: &Question, trace: &mut _, warnings: &mut _| {
            let answer = (question.ask)(self, rule, warnings);
            Trace::gate(trace, rule, || self.told(question, rule, &answer));
            answer
        };
        for question in matching::QUESTIONS {
            if let Answer::Out(out) = ask(question, trace, warnings) {
                return Some(out);
            }
        }
        for row in opt::ROWS {
            match ask(row, trace, warnings) {
                Answer::Settled(_) => break,
                Answer::Out(out) => return Some(out),
                Answer::Passed(_) | Answer::NotAsked(_) => {}
            }
        }
        environment::QUESTIONS.iter().find_map(|question| match ask(question, trace, warnings) {
            Answer::Out(out) => Some(out),
            _ => None,
        })
    }

    /// The names of all rules there are.
    fn names(&self) -> &HashSet<&'i str> {
        self.known.names.get_or_init(|| self.rules.iter().map(Rule::name).collect())
    }

    fn told(&self, question: &Question, rule: &Rule, answer: &Answer) -> Gate {
        let (passage, sentence) = match answer {
            Answer::Passed(words) | Answer::Settled(words) => (Passage::Passed, words(self, rule)),
            Answer::NotAsked(words) => (Passage::NotReached, words(self, rule)),
            Answer::Out(out) => (Passage::Failed, out.sentence.to_string()),
        };
        let presumed = question.name == rollout::NAME && rollout::is_presumed(self, rule);
        Gate {
            passage,
            presumed: presumed && passage != Passage::NotReached,
            sentence,
            ..question.gate(rule)
        }
    }
}

impl Question {
    /// The gate before anybody came to it.
    fn gate(&self, rule: &Rule) -> Gate {
        Gate::not_reached(self.name, (self.at)(rule))
    }
}

/// All gates of `rule` that stand before its parameters, unasked.
pub(crate) fn gates(rule: &Rule) -> Vec<Gate> {
    let everybody = [EXCLUSIONS, EXEMPTIONS].into_iter().map(|name| Gate::not_reached(name, None));
    everybody.chain(questions().map(|question| question.gate(rule))).collect()
}

fn passed_or(out: Option<Out>, words: Words) -> Answer {
    out.map_or(Answer::Passed(words), Answer::Out)
}
