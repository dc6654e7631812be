//! Regular expressions of RE2, with the cost of compiling them and of searching.

use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::NFA;

use super::error::EvaluationError;

/// The largest compiled pattern, in bytes.
const MAX_SIZE: usize = 256 * 1024;

/// The steps for compiling the shortest pattern.
const COMPILING: usize = 8_000;

/// The steps for a class of Unicode such as `\pL`, whose ranges are looked up, folded and compiled.
const CLASS: usize = 4_500;

/// The steps for a byte of the pattern; more with flags such as `(?i)`, which fold every range.
const BYTE: usize = 32;
const FOLDED_BYTE: usize = 300;

/// The steps for a state of the automaton.
const STATE: usize = 8;

/// The states that a search visits in one step.
const VISITS: usize = 8;

/// A compiled pattern.
#[derive(Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    states: usize,
}

impl Pattern {
    /// Compiles `text`; `spend` charges the budget.
    pub(crate) fn compile(
        text: &str,
        spend: impl Fn(usize) -> Result<(), EvaluationError>,
    ) -> Result<Self, EvaluationError> {
        spend(parse_cost(text))?;
        let text = &in_syntax_of_library(text);
        let too_large = || EvaluationError::failed("the pattern grows too large");
        let config = NFA::config().nfa_size_limit(Some(MAX_SIZE));
        let states = match NFA::compiler().configure(config).build(text) {
            Ok(nfa) => nfa.states().len(),
            Err(error) if error.size_limit().is_some() => {
                spend(STATE * MAX_SIZE / size_of::<usize>())?;
                return Err(too_large());
            }
            Err(_) => return Err(EvaluationError::failed("the pattern is no regular expression")),
        };
        spend(STATE * states)?;
        let built = RegexBuilder::new(text).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
        built.map(|regex| Self { regex, states }).map_err(|_| too_large())
    }

    /// The steps of one search in a text of `bytes`: it may be in every state at each byte.
    pub(crate) fn search(&self, bytes: usize) -> usize {
        1 + self.states.saturating_mul(bytes) / VISITS
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The first match at or behind `start`.
    pub(super) fn find<'t>(&self, text: &'t str, start: usize) -> Option<regex::Match<'t>> {
        self.regex.find_at(text, start)
    }
}

/// The steps for compiling `text`, without the states of the automaton.
fn parse_cost(text: &str) -> usize {
    let is_class = |pair: &&[u8]| matches!(pair, [b'\\', b'p' | b'P']);
    let classes = text.as_bytes().windows(2).filter(is_class).count();
    let flags = text.split("(?").skip(1).any(|behind| !behind.starts_with([':', 'P', '<']));
    let byte = if flags { FOLDED_BYTE } else { BYTE };
    COMPILING.saturating_add(classes.saturating_mul(CLASS)).saturating_add(text.len().saturating_mul(byte))
}

/// The pattern `text` of RE2, which the API server uses, as the library reads it. In RE2 `\d`, `\w`, `\s` and `\b` are about
/// ASCII alone, and `[`, `&`, `~` and `--` are no operators within a class.
fn in_syntax_of_library(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    let (mut in_class, mut before) = (false, "");
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (token, replacement) = match letter {
            '\\' => {
                let length = rest.chars().take(2).map(char::len_utf8).sum();
                let token = rest.get(..length).unwrap_or(rest);
                (token, ascii_class(token).unwrap_or(token))
            }
            // The first `]` of a class is an item of it.
            '[' if !in_class => {
                in_class = true;
                let starts = ["[^]", "[]", "[^", "["];
                let start = starts.into_iter().find(|start| rest.starts_with(start)).unwrap_or("[");
                (start, start)
            }
            '[' => named_class(rest).map_or(("[", r"\["), |named| (named, named)),
            // The first of two hyphens is an item at the start of a class, and makes a range elsewhere.
            '-' if in_class && before == "-" => ("-", r"\-"),
            '-' if in_class && before.starts_with('[') && rest.starts_with("--") => ("-", r"\-"),
            '&' if in_class => ("&", r"\&"),
            '~' if in_class => ("~", r"\~"),
            _ => {
                in_class &= letter != ']';
                let token = rest.get(..letter.len_utf8()).unwrap_or(rest);
                (token, token)
            }
        };
        pattern.push_str(replacement);
        before = replacement;
        rest = rest.get(token.len()..).unwrap_or_default();
    }
    pattern
}

/// The class such as `[:alpha:]` at the start of `text`, if there is one.
fn named_class(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("[:")?.split_once(":]")?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'^');
    text.get(.."[::]".len() + name.len()).filter(|_| is_name)
}

/// A class or an assertion about letters, for ASCII alone.
fn ascii_class(escape: &str) -> Option<&'static str> {
    Some(match escape {
        r"\d" => "[0-9]",
        r"\D" => "[^0-9]",
        r"\w" => "[0-9A-Za-z_]",
        r"\W" => "[^0-9A-Za-z_]",
        r"\s" => r"[\t\n\f\r ]",
        r"\S" => r"[^\t\n\f\r ]",
        r"\b" => r"(?-u:\b)",
        r"\B" => r"(?-u:\B)",
        _ => return None,
    })
}
