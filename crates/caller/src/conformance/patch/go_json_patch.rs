//! JSON Patch as kube-apiserver's library applies it (gopkg.in/evanphx/json-patch.v4), which accepts more than RFC 6902.
//!
//! A `replace` of a missing member adds it; an index may be negative or padded with zeros; `~2` is read as it is written; a `test`
//! takes a missing member as `null`; an absent `value` is `null`. Only `replace` accepts the whole document as its path.

use serde_json::{Map, Value};

use super::super::body::type_name;
use super::super::json::MAX_DEPTH;

/// The most bytes of JSON that `copy` operations may add to a document, as kube-apiserver configures it.
const COPY_LIMIT: usize = 3 << 20;

/// Applies the operations of a patch; the error is the library's text.
pub(super) fn apply(operations: &[Value], document: &Value) -> Result<Value, String> {
    let mut document = document.clone();
    let mut copied = 0;
    for operation in operations {
        Operation::of(operation).apply(&mut document, &mut copied)?;
    }
    Ok(document)
}

/// One operation; `null` has no members.
struct Operation<'s> {
    name: &'s str,
    members: Option<&'s Map<String, Value>>,
}

impl<'s> Operation<'s> {
    fn of(operation: &'s Value) -> Self {
        let name = operation.get("op").and_then(Value::as_str).unwrap_or("unknown");
        Self { name, members: operation.as_object() }
    }

    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        match self.name {
            "add" => self.add(document),
            "remove" => self.remove(document),
            "replace" => self.replace(document),
            "move" => self.move_value(document),
            "copy" => self.copy(document, copied),
            "test" => self.test(document),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&self, document: &mut Value) -> Result<(), String> {
        let path = self.text("path", false)?;
        let (parent, key) = self.find(document, &format!("doc is missing path: {path:?}"), path)?;
        let value = check_depth(path, self.value())?;
        insert(parent, key, value).map_err(|why| format!("error in add for path: '{path}': {why}"))
    }

    fn remove(&self, document: &mut Value) -> Result<(), String> {
        let path = self.text("path", false)?;
        let (parent, key) = self.find(document, &format!("doc is missing path: {path:?}"), path)?;
        let removed = take(parent, &key);
        removed.map(drop).map_err(|why| format!("error in remove for path: '{path}': {why}"))
    }

    fn replace(&self, document: &mut Value) -> Result<(), String> {
        let path = self.text("path", true)?;
        let value = check_depth(path, self.value())?;
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                // Go prints a nil error like this.
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            *document = value;
            return Ok(());
        }
        match self.find(document, &format!("doc is missing path: {path}"), path)? {
            (Value::Object(members), key) => drop(members.insert(key, value)),
            (list, key) => {
                let item = get(list, &key).ok().flatten();
                *item.ok_or_else(|| self.missing(&format!("doc is missing key: {path}")))? = value;
            }
        }
        Ok(())
    }

    fn move_value(&self, document: &mut Value) -> Result<(), String> {
        let from = self.text("from", true)?;
        let (parent, key) = self.find(document, &format!("doc is missing from path: {from}"), from)?;
        let value = take(parent, &key).map_err(|why| format!("error in move for path: '{key}': {why}"))?;
        let path = self.text("path", true)?;
        let (parent, key) = self.find(document, &format!("doc is missing destination path: {path}"), path)?;
        let value = check_depth(path, value)?;
        insert(parent, key, value).map_err(|why| format!("error in move for path: '{path}': {why}"))
    }

    fn copy(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        let from = self.text("from", true)?;
        let (parent, key) = self.find(document, &format!("doc is missing from path: {from}"), from)?;
        let value = get(parent, &key).map_err(|why| format!("error in copy for from: '{from}': {why}"))?;
        let value = value.cloned().unwrap_or_default();
        let path = self.text("path", false)?;
        let (parent, key) = self.find(document, &format!("doc is missing destination path: {path}"), path)?;
        *copied += if value.is_null() { 0 } else { value.to_string().len() };
        if *copied > COPY_LIMIT {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPY_LIMIT}"
            ));
        }
        let value = check_depth(path, value)?;
        insert(parent, key, value).map_err(|why| format!("error while adding value during copy: {why}"))
    }

    fn test(&self, document: &mut Value) -> Result<(), String> {
        let path = self.text("path", true)?;
        let found = if path.is_empty() {
            Some(document)
        } else {
            let (parent, key) = self.find(document, &format!("is missing path: {path}"), path)?;
            get(parent, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?
        };
        let equal = found.map_or(&Value::Null, |found| found) == &self.value();
        if equal { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
    }

    fn member(&self, name: &str) -> Option<&'s Value> {
        self.members?.get(name).filter(|value| !value.is_null())
    }

    fn value(&self) -> Value {
        self.member("value").cloned().unwrap_or_default()
    }

    /// The member `path` or `from`. The library gives its reason for some operations only.
    fn text(&self, member: &str, with_reason: bool) -> Result<&'s str, String> {
        let reason = match self.member(member) {
            Some(Value::String(text)) => return Ok(text),
            _ if !with_reason => "missing value".to_owned(),
            Some(other) => {
                format!("json: cannot unmarshal {} into Go value of type string", type_name(other))
            }
            None if member == "from" => "operation, missing from field: missing value".to_owned(),
            None => format!("operation missing {member} field: missing value"),
        };
        Err(format!("{} operation failed to decode {member}: {reason}", self.name))
    }

    /// The container at a path without its last token, and that token. Text before the first `/` is ignored.
    fn find<'d>(
        &self,
        document: &'d mut Value,
        missing: &str,
        path: &str,
    ) -> Result<(&'d mut Value, String), String> {
        container(document, path).ok_or_else(|| self.missing(missing))
    }

    fn missing(&self, missing: &str) -> String {
        format!("{} operation does not apply: {missing}: missing value", self.name)
    }
}

/// Returns `value`, if it does not nest too deeply at `path`.
fn check_depth(path: &str, value: Value) -> Result<Value, String> {
    let above = path.matches('/').count();
    let mut deepest = 0;
    let mut open = vec![(&value, above)];
    while let Some((value, levels)) = open.pop() {
        deepest = deepest.max(levels);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, levels + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, levels + 1))),
            _ => {}
        }
    }
    if deepest > MAX_DEPTH {
        return Err(format!("the patched object does not decode: it nests deeper than {MAX_DEPTH} levels"));
    }
    Ok(value)
}

fn container<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let (_, tokens) = path.split_once('/')?;
    let mut tokens: Vec<String> = tokens.split('/').map(unescape).collect();
    let last = tokens.pop()?;
    let mut parent = document;
    for token in tokens {
        parent = get(parent, &token).ok()??;
    }
    (parent.is_object() || parent.is_array()).then_some((parent, last))
}

/// Replaces escapes from left to right, so that `~01` is `~1`.
fn unescape(token: &str) -> String {
    let mut text = String::new();
    let mut rest = token;
    while let Some((before, after)) = rest.split_once('~') {
        text.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('0') {
            text.push('~');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('1') {
            text.push('/');
            rest = after;
        } else {
            text.push('~');
        }
    }
    text + rest
}

/// The member or item; [`None`] for a missing member.
fn get<'d>(parent: &'d mut Value, key: &str) -> Result<Option<&'d mut Value>, String> {
    match parent {
        Value::Object(members) => Ok(members.get_mut(key)),
        Value::Array(items) => index(key, items.len()).map(|index| items.get_mut(index)),
        _ => Ok(None),
    }
}

fn insert(parent: &mut Value, key: String, value: Value) -> Result<(), String> {
    match parent {
        Value::Object(members) => drop(members.insert(key, value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index = index(&key, items.len() + 1).map_err(|why| match key.parse::<i64>() {
                Ok(_) => why,
                Err(_) => format!("value was not a proper array index: '{key}': {why}"),
            })?;
            items.insert(index, value);
        }
        _ => {}
    }
    Ok(())
}

fn take(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Array(items) => index(key, items.len()).map(|index| items.remove(index)),
        other => other
            .as_object_mut()
            .and_then(|members| members.remove(key))
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
    }
}

/// An index below `length`; a negative one counts from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let given: i64 = key.parse().map_err(|_| format!("strconv.Atoi: parsing {key:?}: invalid syntax"))?;
    let distance = usize::try_from(given.unsigned_abs()).unwrap_or(usize::MAX);
    let index = if given < 0 { length.checked_sub(distance) } else { Some(distance) };
    let invalid = || format!("Unable to access invalid index: {given}: invalid index referenced");
    index.filter(|index| *index < length).ok_or_else(invalid)
}
