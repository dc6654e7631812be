//! Expressions of the Common Expression Language: compiled when rules are read, evaluated for an object.
//!
//! The grammar and most functions are the library's; evaluation is ours (docs/adr/0027).

mod budget;
mod current;
mod functions;
mod interpret;
mod lint;
mod locate;
mod quantity;
mod scan;
mod scope;
mod types;
mod values;
mod wishes;

use std::fmt;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::parser::Parser;

use crate::diagnostic::{self, Diagnostic, Position, Source};
use crate::overlay::Overlay;
use crate::yaml::Node;
pub(crate) use current::Current;
pub(crate) use functions::pattern;
use interpret::Interpreter;
pub(crate) use lint::Declared;
use lint::Lint;
pub(crate) use scope::{Scope, Surroundings};
pub(crate) use types::Mismatch;
use types::Type;
pub(crate) use values::text;
pub(crate) use wishes::{ITEM, Wish};

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// The most operators, dots and brackets of an expression: nothing descends deeper than there are of them.
const MAX_LINKS: usize = 400;

/// How deep brackets may stand in each other, every `:` among them.
const MAX_NESTING: usize = 32;

/// What the parser's stack may take: it needs a hundred kilobytes for a bracket.
const STACK: usize = 64 * 1024 * 1024;

/// A compiled expression. It may hold a secret of the rule's author, so there is no `Debug`.
#[derive(Clone)]
pub(crate) struct Expression {
    tree: IdedExpr,
    pub(crate) at: Position,
    /// The field that gets its value.
    field: String,
    /// The kind of its values, as far as it is known.
    gives: Type,
    /// Whether it tells the items of a list apart.
    pub(crate) is_key: bool,
    /// Whether the object as it is becoming decides about its value.
    pub(crate) reads_object: bool,
    /// Whether it asks for the labels and annotations of the namespace.
    pub(crate) reads_namespace: bool,
    /// Whether it may ask what the owner is called.
    pub(crate) reads_owner_name: bool,
}

/// A named expression of a rule.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: Expression,
}

/// Why an expression has no value. Its words name parts of the expression, never values.
#[derive(Clone)]
pub(crate) enum Trouble {
    Failed(String),
    /// It would cost too much.
    Exhausted,
}

impl Expression {
    /// Compiles the text in `node` for the field `field`, whose rule declares the names `declared`.
    pub(crate) fn compile(
        source: &std::sync::Arc<Source>,
        node: &Node,
        field: &str,
        declared: Declared<'_>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let text = node.as_text().unwrap_or_default();
        let at = |offset: usize| {
            let start = Position { line: node.at().line.saturating_sub(source.lines_before), ..node.at() };
            let place = locate::locate(&source.text, start, text, offset);
            Position { line: place.line + source.lines_before, ..place }
        };
        let scan = scan::scan(text);
        // Where a text does not end the parser reads on inside of it, so brackets count in texts as well.
        let brackets = text.matches(['(', '[', '{', ':']).count();
        if text.len() > MAX_LENGTH || scan.links.max(brackets) > MAX_LINKS || scan.nesting > MAX_NESTING {
            let message = format!(
                "an expression has at most {MAX_LENGTH} bytes, {MAX_LINKS} operators and {MAX_NESTING} levels of brackets"
            );
            let finding = source.error(&diagnostic::EXPRESSION_SIZE, node.at(), message);
            return Err(vec![finding.with_help("name parts of it under `variables`")]);
        }
        let tree = parse(text).map_err(|(place, message)| {
            vec![source.error(&diagnostic::EXPRESSION_SYNTAX, at(offset(text, place)), message)]
        })?;
        let mut lint = Lint::new(declared);
        lint.visit(&tree);
        let Lint { findings, reads_object, reads_namespace, reads_owner_name, .. } = lint;
        if findings.is_empty() {
            let field = field.to_owned();
            let (at, gives, is_key) = (node.at(), Type::Any, false);
            return Ok(Self {
                tree,
                at,
                field,
                gives,
                is_key,
                reads_object,
                reads_namespace,
                reads_owner_name,
            });
        }
        let told = findings.into_iter().map(|finding| {
            let fits = |word: &&scan::Word<'_>| word.text == finding.word && finding.role.fits(word);
            let word = scan.words.iter().find(fits);
            let place = at(word.map_or(0, |word| word.offset));
            let told = source.error(finding.code, place, finding.message);
            if finding.help.is_empty() { told } else { told.with_help(finding.help) }
        });
        Err(told.collect())
    }

    /// Whether it holds.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, Trouble> {
        match Interpreter::new(scope).value(&self.tree)? {
            Value::Bool(truth) => Ok(truth),
            other => {
                let found = values::kind(&other);
                Err(Trouble::failed(format!("a condition is true or false, and this is {found}")))
            }
        }
    }

    /// What its field gets; `None` leaves the field out.
    pub(crate) fn overlay(&self, scope: &Scope<'_>) -> Result<Option<Overlay>, Trouble> {
        let value = Interpreter::new(scope).value(&self.tree)?;
        scope.budget.read(&value)?;
        let overlay = values::overlay(&value, &self.field)?;
        match overlay {
            None | Some(Overlay::List(_)) if self.is_key => Err(Trouble::failed(format!(
                "`{}` tells the items of a list apart, so it needs a single value",
                self.field
            ))),
            overlay => Ok(overlay),
        }
    }
}

impl Trouble {
    fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    fn within(self, variable: &str) -> Self {
        match self {
            Self::Failed(sentence) => Self::Failed(format!("variable `{variable}`: {sentence}")),
            Self::Exhausted => Self::Exhausted,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Failed(sentence) => sentence.clone(),
            Self::Exhausted => format!("the expressions of the rule need more than {} ticks", budget::TICKS),
        }
    }
}

impl fmt::Debug for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence())
    }
}

/// The syntax tree, or what is wrong first and where.
fn parse(text: &str) -> Result<IdedExpr, ((isize, isize), String)> {
    let parse = || Parser::new().enable_optional_syntax(true).parse(text);
    let parsed = std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parse).ok()?;
        parser.join().ok()
    });
    let unreadable = || ((1, 1), "the expression cannot be read".to_owned());
    parsed.ok_or_else(unreadable)?.map_err(|errors| {
        // An error without a place is the parser's own, and says nothing.
        let told = errors.errors.into_iter().find(|error| error.pos.0 > 0);
        told.map_or_else(unreadable, |error| {
            let message = error.msg.trim_start_matches("Syntax error: ");
            // It quotes what it stumbles over: names, and texts that may be secrets.
            let is_quoted = message.contains('"') || message.contains("''");
            (
                error.pos,
                if is_quoted { "a text does not end, or is out of place here" } else { message }.to_owned(),
            )
        })
    })
}

/// The byte of `text` at a line and column as the parser counts them: both from 1, columns in characters.
fn offset(text: &str, (line, column): (isize, isize)) -> usize {
    let count = |number: isize| usize::try_from(number - 1).unwrap_or_default();
    let before: usize = text.split_inclusive('\n').take(count(line)).map(str::len).sum();
    let rest = text.get(before..).unwrap_or_default();
    before + rest.char_indices().nth(count(column)).map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
