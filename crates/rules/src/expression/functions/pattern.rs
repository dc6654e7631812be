//! Regular expressions, and what compiling them and searching by them costs.

use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::NFA;

use super::super::Trouble;

/// What a compiled pattern may take, in bytes.
const MAX_SIZE: usize = 256 * 1024;

/// What compiling the shortest pattern costs, in steps of an evaluation.
const COMPILING: usize = 8_000;

/// What a class of Unicode costs, such as `\w`: its ranges are looked up, folded and compiled.
const CLASS: usize = 4_500;

/// What a byte costs; more where letters stand for both cases, since every range is then folded.
const BYTE: usize = 32;
const FOLDED_BYTE: usize = 300;

/// What a state costs that comes of it.
const STATE: usize = 8;

/// So many states that a search is in for a byte cost a step.
const VISITS: usize = 8;

/// A compiled pattern.
#[derive(Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    states: usize,
}

impl Pattern {
    /// A pattern, unless it cannot be read, grows too large, or costs more steps than can be spent.
    pub(crate) fn compile(text: &str, spend: impl Fn(usize) -> Result<(), Trouble>) -> Result<Self, Trouble> {
        spend(price(text))?;
        let too_large = || Trouble::failed("the pattern grows too large");
        let config = NFA::config().nfa_size_limit(Some(MAX_SIZE));
        let states = match NFA::compiler().configure(config).build(text) {
            Ok(nfa) => nfa.states().len(),
            Err(error) if error.size_limit().is_some() => {
                spend(STATE * MAX_SIZE / size_of::<usize>())?;
                return Err(too_large());
            }
            Err(_) => return Err(Trouble::failed("the pattern is no regular expression")),
        };
        spend(STATE * states)?;
        let built = RegexBuilder::new(text).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
        built.map(|regex| Self { regex, states }).map_err(|_| too_large())
    }

    /// What one search of a text of so many bytes costs: at each byte it may be in every state.
    pub(crate) fn search(&self, bytes: usize) -> usize {
        1 + self.states.saturating_mul(bytes) / VISITS
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Where it first fits at or behind `start`.
    pub(super) fn find<'t>(&self, text: &'t str, start: usize) -> Option<regex::Match<'t>> {
        self.regex.find_at(text, start)
    }
}

/// What compiling `text` costs before it is known what comes of it.
fn price(text: &str) -> usize {
    let is_class = |pair: &&[u8]| {
        matches!(pair, [b'\\', b'p' | b'P' | b'w' | b'W' | b'd' | b'D' | b's' | b'S' | b'b' | b'B'])
    };
    let classes = text.as_bytes().windows(2).filter(is_class).count();
    let flags = text.split("(?").skip(1).any(|behind| !behind.starts_with([':', 'P', '<']));
    let byte = if flags { FOLDED_BYTE } else { BYTE };
    COMPILING.saturating_add(classes.saturating_mul(CLASS)).saturating_add(text.len().saturating_mul(byte))
}
