//! The grammar of the Common Expression Language: a text into the library's syntax tree (docs/adr/0060).
//!
//! One pass, whose work grows with the text: no byte is looked at more than a few times, and nothing is tried twice.
//! The identity of a node is the byte that it is written at, so that whoever finds fault with it knows the place.

mod literal;
mod macros;
mod tokens;

use kube_cel::cel::common::ast::{
    CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue, MapEntryExpr, MapExpr,
    SelectExpr, operators as op,
};

use tokens::{Kind, Token};

/// The longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;

/// How many steps may stand inside each other, those of the variables that an expression names included. Whatever
/// walks an expression descends as deep.
pub(super) const MAX_DEPTH: usize = 400;

/// How deep brackets may stand in each other.
pub(super) const MAX_NESTING: usize = 32;

/// Words that the language keeps for later (`namespace` is fine behind a dot).
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Why a text is no expression, and the byte where the reader gave up.
pub(super) struct Refused {
    pub(super) at: usize,
    /// `None` where it is too long, or too deep.
    pub(super) message: Option<String>,
}

impl Refused {
    fn syntax(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: Some(message.into()) }
    }
}

/// The syntax tree of `text`.
pub(super) fn parse(text: &str) -> Result<IdedExpr, Refused> {
    if text.len() > MAX_LENGTH {
        return Err(Refused { at: 0, message: None });
    }
    let mut parser = Parser { text, tokens: tokens::tokens(text)?, next: 0, open: 0 };
    let tree = parser.expression()?;
    if parser.token().kind != Kind::End {
        return Err(parser.unexpected());
    }
    Ok(tree.node)
}

/// A part of an expression, and how many steps stand inside each other in it.
struct Tree {
    node: IdedExpr,
    depth: usize,
}

impl Tree {
    fn of(at: usize, expr: Expr, depth: usize) -> Self {
        Self { node: IdedExpr { id: u64::try_from(at).unwrap_or_default(), expr }, depth }
    }

    /// A step with others, which are as deep as `below`, inside.
    fn above(at: usize, expr: Expr, below: impl IntoIterator<Item = usize>) -> Result<Self, Refused> {
        let depth = 1 + below.into_iter().max().unwrap_or_default();
        if depth > MAX_DEPTH {
            return Err(Refused { at, message: None });
        }
        Ok(Self::of(at, expr, depth))
    }

    fn call(at: usize, name: &str, target: Option<Self>, arguments: Vec<Self>) -> Result<Self, Refused> {
        let below: Vec<usize> = target.iter().chain(&arguments).map(|part| part.depth).collect();
        let target = target.map(|target| Box::new(target.node));
        let args = arguments.into_iter().map(|argument| argument.node).collect();
        Self::above(at, Expr::Call(CallExpr { func_name: name.to_owned(), target, args }), below)
    }

    fn list(at: usize, items: Vec<Self>, optional: Vec<usize>) -> Result<Self, Refused> {
        let below: Vec<usize> = items.iter().map(|item| item.depth).collect();
        let items = items.into_iter().map(|item| item.node).collect();
        Self::above(at, Expr::List(ListExpr::new_with_optionals(items, optional)), below)
    }

    fn at(&self) -> usize {
        usize::try_from(self.node.id).unwrap_or_default()
    }

    /// The same, of a name.
    fn copied_name(&self) -> Self {
        Self { node: self.node.clone(), depth: self.depth }
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    next: usize,
    /// The brackets that are open.
    open: usize,
}

type Result<T, E = Refused> = std::result::Result<T, E>;

// Recursion is bounded by MAX_NESTING: whatever may repeat otherwise is a loop.
impl Parser<'_> {
    fn expression(&mut self) -> Result<Tree> {
        let mut choices = Vec::new();
        let mut last = self.terms(op::LOGICAL_OR)?;
        while let Some(at) = self.take("?") {
            let one = self.terms(op::LOGICAL_OR)?;
            self.expect(":")?;
            choices.push((at, last, one));
            last = self.terms(op::LOGICAL_OR)?;
        }
        choices.into_iter().rev().try_fold(last, |other, (at, condition, one)| {
            Tree::call(at, op::CONDITIONAL, None, vec![condition, one, other])
        })
    }

    /// `a || b || c`, or `a && b && c`: neither order decides, so the tree is as flat as can be.
    fn terms(&mut self, operator: &'static str) -> Result<Tree> {
        let is_or = operator == op::LOGICAL_OR;
        let mut terms = Vec::new();
        loop {
            let term = if is_or { self.terms(op::LOGICAL_AND)? } else { self.relation()? };
            let at = self.take(if is_or { "||" } else { "&&" });
            terms.push((at.unwrap_or_default(), term));
            if at.is_none() {
                return balanced(operator, terms);
            }
        }
    }

    fn relation(&mut self) -> Result<Tree> {
        self.chain(
            &[
                ("==", op::EQUALS),
                ("!=", op::NOT_EQUALS),
                ("<=", op::LESS_EQUALS),
                (">=", op::GREATER_EQUALS),
                ("<", op::LESS),
                (">", op::GREATER),
                ("in", op::IN),
            ],
            Self::sum,
        )
    }

    fn sum(&mut self) -> Result<Tree> {
        self.chain(&[("+", op::ADD), ("-", op::SUBSTRACT)], Self::product)
    }

    fn product(&mut self) -> Result<Tree> {
        self.chain(&[("*", op::MULTIPLY), ("/", op::DIVIDE), ("%", op::MODULO)], Self::unary)
    }

    /// Operators of one rank, from left to right.
    fn chain(&mut self, operators: &[(&str, &str)], part: fn(&mut Self) -> Result<Tree>) -> Result<Tree> {
        let mut left = part(self)?;
        loop {
            let found = operators.iter().find_map(|(symbol, name)| Some((self.take(symbol)?, name)));
            let Some((at, name)) = found else { return Ok(left) };
            let right = part(self)?;
            left = Tree::call(at, name, None, vec![left, right])?;
        }
    }

    /// As the API server reads them: an even run of `!` or `-` is nothing, and an odd one is a single one.
    fn unary(&mut self) -> Result<Tree> {
        for (symbol, name) in [("!", op::LOGICAL_NOT), ("-", op::NEGATE)] {
            if self.signed_number().is_some() {
                break;
            }
            let Some(at) = self.take(symbol) else { continue };
            let mut count = 1;
            while self.take(symbol).is_some() {
                count += 1;
            }
            let operand = self.member()?;
            return if count % 2 == 0 { Ok(operand) } else { Tree::call(at, name, None, vec![operand]) };
        }
        self.member()
    }

    /// A value, and what is behind its dots and in its brackets.
    fn member(&mut self) -> Result<Tree> {
        let mut value = self.primary()?;
        loop {
            value = if self.take(".").is_some() {
                self.behind_dot(value)?
            } else if let Some(at) = self.opened("[")? {
                let name = if self.take("?").is_some() { op::OPT_INDEX } else { op::INDEX };
                let key = self.expression()?;
                self.closed("]")?;
                Tree::call(at, name, None, vec![value, key])?
            } else if self.token().kind == Kind::Symbol("{") && is_path(&value.node) {
                let message = "this makes a message, and there are none; a map is written {'key': value}";
                return Err(Refused::syntax(value.at(), message));
            } else {
                return Ok(value);
            };
        }
    }

    fn behind_dot(&mut self, value: Tree) -> Result<Tree> {
        let optional = self.take("?").is_some();
        let Token { kind, start, end } = self.token();
        let written = self.text.get(start..end).unwrap_or_default();
        match kind {
            Kind::Name => {}
            Kind::Escaped => {
                self.next += 1;
                return field(start, value, written.trim_matches('`'), optional);
            }
            _ => return Err(self.unexpected()),
        }
        self.next += 1;
        let called = if optional { None } else { self.opened("(")? };
        match called {
            Some(_) => {
                let arguments = self.arguments()?;
                macros::call(start, written, Some(value), arguments)
            }
            None => field(start, value, written, optional),
        }
    }

    fn primary(&mut self) -> Result<Tree> {
        let at = self.token().start;
        let number = self.signed_number();
        self.next += usize::from(number.is_some());
        let Token { kind, start, end } = self.token();
        let written = self.text.get(start..end).unwrap_or_default();
        let literal = |value| Ok(Tree::of(at, Expr::Literal(value), 1));
        match kind {
            Kind::Int | Kind::Uint | Kind::Double | Kind::Text | Kind::Bytes => {
                self.next += 1;
                let value = literal::value(kind, written, number.is_some());
                literal(value.map_err(|message| Refused::syntax(at, message))?)
            }
            Kind::Symbol(word @ ("true" | "false")) => {
                self.next += 1;
                literal(LiteralValue::Boolean((word == "true").into()))
            }
            Kind::Symbol("null") => {
                self.next += 1;
                literal(LiteralValue::Null)
            }
            Kind::Name if RESERVED.contains(&written) => Err(Refused::syntax(
                start,
                format!("`{written}` is a word that the language keeps for later"),
            )),
            Kind::Name => {
                self.next += 1;
                if self.opened("(")?.is_some() {
                    let arguments = self.arguments()?;
                    return macros::call(start, written, None, arguments);
                }
                Ok(Tree::of(start, Expr::Ident(written.to_owned()), 1))
            }
            Kind::Symbol("(") => {
                self.opened("(")?;
                let inner = self.expression()?;
                self.closed(")")?;
                Ok(inner)
            }
            Kind::Symbol("[") => self.list(),
            Kind::Symbol("{") => self.map(),
            _ => Err(self.unexpected()),
        }
    }

    /// What stands between the brackets of a call, up to the second one.
    fn arguments(&mut self) -> Result<Vec<Tree>> {
        let mut arguments = Vec::new();
        if self.token().kind != Kind::Symbol(")") {
            arguments.push(self.expression()?);
            while self.take(",").is_some() {
                arguments.push(self.expression()?);
            }
        }
        self.closed(")")?;
        Ok(arguments)
    }

    fn list(&mut self) -> Result<Tree> {
        let at = self.token().start;
        self.opened("[")?;
        let (mut items, mut optional) = (Vec::new(), Vec::new());
        while self.token().kind != Kind::Symbol("]") {
            if self.take("?").is_some() {
                optional.push(items.len());
            }
            items.push(self.expression()?);
            if self.take(",").is_none() {
                break;
            }
        }
        self.closed("]")?;
        Tree::list(at, items, optional)
    }

    fn map(&mut self) -> Result<Tree> {
        let at = self.token().start;
        self.opened("{")?;
        let (mut entries, mut below) = (Vec::new(), Vec::new());
        while self.token().kind != Kind::Symbol("}") {
            let optional = self.take("?").is_some();
            let key = self.expression()?;
            let id = u64::try_from(self.expect(":")?).unwrap_or_default();
            let value = self.expression()?;
            below.extend([key.depth, value.depth]);
            let entry = MapEntryExpr { key: key.node, value: value.node, optional };
            entries.push(IdedEntryExpr { id, expr: EntryExpr::MapEntry(entry) });
            if self.take(",").is_none() {
                break;
            }
        }
        self.closed("}")?;
        Tree::above(at, Expr::Map(MapExpr { entries }), below)
    }

    /// The number behind a `-`, if both come next: the sign of a number is part of it.
    fn signed_number(&self) -> Option<Token> {
        let number = self.tokens.get(self.next + 1)?;
        let signed =
            self.token().kind == Kind::Symbol("-") && matches!(number.kind, Kind::Int | Kind::Double);
        signed.then_some(*number)
    }

    fn token(&self) -> Token {
        let end = Token { kind: Kind::End, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.next).copied().unwrap_or(end)
    }

    /// The place of `symbol`, if it comes next, which is then read.
    fn take(&mut self, symbol: &str) -> Option<usize> {
        let Token { kind: Kind::Symbol(found), start, .. } = self.token() else { return None };
        (found == symbol).then(|| {
            self.next += 1;
            start
        })
    }

    fn expect(&mut self, symbol: &str) -> Result<usize> {
        self.take(symbol).ok_or_else(|| self.unexpected())
    }

    /// The same for a bracket that opens.
    fn opened(&mut self, bracket: &str) -> Result<Option<usize>> {
        let at = self.take(bracket);
        self.open += usize::from(at.is_some());
        match at {
            Some(at) if self.open > MAX_NESTING => Err(Refused { at, message: None }),
            at => Ok(at),
        }
    }

    fn closed(&mut self, bracket: &str) -> Result<()> {
        self.expect(bracket)?;
        self.open -= 1;
        Ok(())
    }

    /// What comes next stands where it cannot. Texts may be secrets, and are not quoted.
    fn unexpected(&self) -> Refused {
        let Token { kind, start, end } = self.token();
        let written = self.text.get(start..end).unwrap_or_default();
        let message = match kind {
            Kind::End => "the expression ends too soon".to_owned(),
            Kind::Text | Kind::Bytes => literal::UNENDED.to_owned(),
            Kind::Int | Kind::Uint | Kind::Double => "a number is out of place here".to_owned(),
            Kind::Name | Kind::Escaped | Kind::Symbol(_) => format!("`{written}` is out of place here"),
        };
        Refused::syntax(start, message)
    }
}

/// The field `name` of `value`, written at `at`.
fn field(at: usize, value: Tree, name: &str, optional: bool) -> Result<Tree> {
    if optional {
        let name = Tree::of(at, Expr::Literal(LiteralValue::String(name.to_owned().into())), 1);
        return Tree::call(at, op::OPT_SELECT, None, vec![value, name]);
    }
    let below = [value.depth];
    let select = SelectExpr { operand: Box::new(value.node), field: name.to_owned(), test: false };
    Tree::above(at, Expr::Select(select), below)
}

/// `terms` and the places of the operators behind them, halved and halved again.
fn balanced(operator: &str, mut terms: Vec<(usize, Tree)>) -> Result<Tree> {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some((at, left)) = rest.next() {
            pairs.push(match rest.next() {
                Some((behind, right)) => (behind, Tree::call(at, operator, None, vec![left, right])?),
                None => (at, left),
            });
        }
        terms = pairs;
    }
    terms.pop().map(|(_, term)| term).ok_or_else(|| Refused::syntax(0, "the expression ends too soon"))
}

/// Whether a node is nothing but names with dots between them.
fn is_path(mut node: &IdedExpr) -> bool {
    while let Expr::Select(select) = &node.expr {
        node = &select.operand;
    }
    matches!(node.expr, Expr::Ident(_))
}
