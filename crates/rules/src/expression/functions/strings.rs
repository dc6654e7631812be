//! Functions of texts. The library has most of them, but does not bound their cost.

use kube_cel::cel::Value;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::values::{list, text};
use super::library;

/// The longest value of a label.
const LABEL: usize = 63;

/// Calls the function `name`, whose receiver is the first argument.
pub(super) fn call(name: &str, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    match (name, arguments) {
        ("contains", [Value::String(this), Value::String(part)]) => {
            budget.text(this.len() + part.len()).map(|()| Value::Bool(this.contains(part.as_str())))
        }
        ("startsWith", [Value::String(this), Value::String(part)]) => {
            Ok(Value::Bool(this.starts_with(part.as_str())))
        }
        ("endsWith", [Value::String(this), Value::String(part)]) => {
            Ok(Value::Bool(this.ends_with(part.as_str())))
        }
        ("lowerAscii", [Value::String(this)]) => new_text(budget, this.len(), || this.to_ascii_lowercase()),
        ("upperAscii", [Value::String(this)]) => new_text(budget, this.len(), || this.to_ascii_uppercase()),
        ("trim", [Value::String(this)]) => new_text(budget, this.len(), || this.trim().to_owned()),
        ("labelValue", [Value::String(this)]) => new_text(budget, this.len(), || label_value(this)),
        ("replace", [Value::String(this), Value::String(from), Value::String(to), rest @ ..]) => {
            replace(this, from, to, rest, budget)
        }
        ("split", [Value::String(this), Value::String(separator), rest @ ..]) => {
            split(this, separator, rest, budget)
        }
        ("indexOf" | "lastIndexOf", [Value::String(this), Value::String(part), rest @ ..]) => {
            index(name == "lastIndexOf", this, part, rest, budget)
        }
        ("indexOf" | "lastIndexOf", _) => library::method(name, arguments, budget),
        ("matches" | "find" | "findAll", [Value::String(this), Value::String(pattern), rest @ ..]) => {
            match_pattern(name, this, pattern, rest, budget)
        }
        ("join", [Value::List(items), rest @ ..]) => join(items, rest, budget),
        ("join", _) => Err(EvaluationError::mistyped(name, "a list of texts")),
        _ => Err(EvaluationError::mistyped(name, "text")),
    }
}

fn new_text(budget: &Budget, bytes: usize, make: impl FnOnce() -> String) -> Result<Value, EvaluationError> {
    budget.text(bytes)?;
    Ok(text(&make()))
}

fn replace(
    this: &str,
    from: &str,
    to: &str,
    rest: &[Value],
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    budget.text(this.len())?;
    let limit = limit(rest);
    let count = this.matches(from).count().min(limit);
    let grown = count.saturating_mul(to.len()).saturating_add(this.len());
    new_text(budget, grown, || this.replacen(from, to, limit))
}

fn split(this: &str, separator: &str, rest: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    budget.text(this.len())?;
    let limit = limit(rest);
    let pieces: Vec<&str> = match separator {
        _ if limit == 0 => Vec::new(),
        // As in the API server, an empty separator gives one piece for each character.
        "" => {
            budget.spend(this.len().min(limit))?;
            letters(this, limit)
        }
        _ => this.splitn(limit, separator).collect(),
    };
    budget.spend(pieces.len())?;
    Ok(list(pieces.into_iter().map(text).collect()))
}

/// The number of replacements, pieces or matches that `rest` allows.
fn limit(rest: &[Value]) -> usize {
    match rest {
        [Value::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    }
}

/// At most `limit` pieces: the first characters one by one, then the rest.
fn letters(this: &str, limit: usize) -> Vec<&str> {
    let mut edges: Vec<usize> = this.char_indices().map(|(at, _)| at).take(limit).collect();
    edges.push(this.len());
    edges.windows(2).filter_map(|edge| this.get(edge[0]..edge[1])).collect()
}

/// The index of `part` in characters, from a start index on; for the last index, up to an end index.
fn index(
    last: bool,
    this: &str,
    part: &str,
    rest: &[Value],
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    budget.text(this.len() + part.len())?;
    budget.spend(this.len().saturating_mul(part.len()) / 32)?;
    let (this, part): (Vec<char>, Vec<char>) = (this.chars().collect(), part.chars().collect());
    let name = if last { "lastIndexOf" } else { "indexOf" };
    let from = match rest {
        [] if last && part.is_empty() => this.len(),
        [] if last => this.len().saturating_sub(1),
        [] => 0,
        [Value::Int(from)] => {
            usize::try_from(*from).map_err(|_| EvaluationError::mistyped(name, "no negative place"))?
        }
        _ => return Err(EvaluationError::mistyped(name, "a place that is a number")),
    };
    let found = match part.len() {
        0 => Some(from),
        _ if from >= this.len() => None,
        length => {
            let mut places = this.windows(length).enumerate();
            let fits = |(place, window): &(usize, &[char])| {
                *window == part.as_slice() && if last { *place <= from } else { *place >= from }
            };
            let found = if last { places.rfind(fits) } else { places.find(fits) };
            found.map(|(place, _)| place)
        }
    };
    Ok(Value::Int(found.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1)))
}

fn join(items: &[Value], rest: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let separator = if let [Value::String(separator)] = rest { separator.as_str() } else { "" };
    let mut parts = Vec::with_capacity(items.len());
    let mut bytes = 0_usize;
    for item in items {
        let Value::String(part) = item else {
            return Err(EvaluationError::mistyped("join", "a list of texts"));
        };
        bytes = bytes.saturating_add(part.len()).saturating_add(separator.len());
        parts.push(part.as_str());
    }
    budget.spend(items.len())?;
    new_text(budget, bytes, || parts.join(separator))
}

fn match_pattern(
    name: &str,
    this: &str,
    source: &str,
    rest: &[Value],
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let pattern = budget.pattern(source)?;
    budget.spend(pattern.search(this.len()))?;
    if name == "matches" {
        return Ok(Value::Bool(pattern.is_match(this)));
    }
    if name == "find" {
        return Ok(text(pattern.find(this, 0).map(|found| found.as_str()).unwrap_or_default()));
    }
    let limit = limit(rest);
    let mut found = Vec::new();
    let (mut start, mut end) = (0, None);
    // Each search may read the rest of the text, so each one is charged.
    while found.len() < limit
        && let Some(fits) = pattern.find(this, start)
    {
        budget.spend(1 + pattern.search(this.len() - fits.end()))?;
        // An empty match at the end of the last match does not count.
        if !(fits.is_empty() && end == Some(fits.end())) {
            found.push(text(fits.as_str()));
        }
        end = Some(fits.end());
        start = fits.end();
        if fits.is_empty() {
            let Some(next) = this.get(start..).and_then(|rest| rest.chars().next()) else { break };
            start += next.len_utf8();
        }
    }
    Ok(list(found))
}

/// A valid label value: other characters become `-`, and a value of more than 63 characters is cut and ends in a hash of
/// the whole text.
fn label_value(whole: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = ['-', '_', '.'];
    let value: String = whole.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    let value = value.trim_matches(edge);
    if value.len() <= LABEL {
        return value.to_owned();
    }
    let cut = value.get(..LABEL - 9).unwrap_or(value).trim_end_matches(edge);
    format!("{cut}-{:08x}", fnv(whole))
}

/// FNV-1a, which does not change between machines and versions.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A complete version of `v1.2`, without `v` and leading zeros (`normalizeAndParse` of the API server's library).
pub(super) fn whole_version(written: &str) -> Option<String> {
    let part = |part: &str| {
        if part.len() < 2 {
            return part.to_owned();
        }
        let rest = part.trim_start_matches('0');
        let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
        format!("{zero}{rest}")
    };
    let mut parts: Vec<String> =
        written.strip_prefix('v').unwrap_or(written).splitn(3, '.').map(part).collect();
    // A short version has no pre-release and no build metadata.
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return None;
    }
    parts.resize(3, "0".to_owned());
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::{label_value, whole_version};

    #[test]
    fn values_of_labels() {
        assert_eq!(label_value("team.a"), "team.a");
        assert_eq!(label_value("-a b/c."), "a-b-c");
        assert_eq!(label_value("..."), "");
        let long = label_value(&format!("{}..{}", "a".repeat(53), "b".repeat(30)));
        assert_eq!(long, format!("{}-a22b5558", "a".repeat(53)));
        assert!(label_value(&"é".repeat(80)).is_empty());
        assert_eq!(label_value(&"x".repeat(80)).len(), 63);
    }

    #[test]
    fn versions_made_whole() {
        let table = [
            ("v01", Some("1.0.0")),
            ("00", Some("0.0.0")),
            ("1.2", Some("1.2.0")),
            ("01.002.03-a", Some("1.2.3-a")),
            ("1.0.00-a.01", Some("1.0.0-a.01")),
            ("v", Some(".0.0")),
            ("1.0-a", None),
            ("1+a", None),
        ];
        for (written, whole) in table {
            assert_eq!(whole_version(written).as_deref(), whole, "{written}");
        }
    }
}
