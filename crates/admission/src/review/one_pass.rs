//! Reads an envelope and its objects in one pass.
//!
//! serde_json reads the whole body to find the end of each object, and the object is then read again for the handler. Here the
//! structural index of the body serves both. A body that is unusual in any way is left to serde_json, which also makes the errors.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::value::RawValue;
use vestibule_patch::Document;

use super::wire::is_list_of_strings;
use super::{Kind, Request, Resource, Review, ReviewKind, User};
use crate::{Notes, Operation, raw_value};

/// The review in `body`; [`None`] if serde_json has to read it.
pub(super) fn read(body: &[u8]) -> Option<Review<'_>> {
    let document = Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let [api_version, kind, request] = members(&document, ["apiVersion", "kind", "request"])?;
    let version = ReviewKind::Admission.version(string(&kind?)?, string(&api_version?)?)?;
    let request = self::request(&request?)?;
    (!request.uid.is_empty()).then_some(Review { version, request })
}

fn request<'a>(document: &Document<'a>) -> Option<Request<'a>> {
    let [
        uid,
        kind,
        resource,
        subresource,
        request_kind,
        request_resource,
        name,
        namespace,
        operation,
        user,
        object,
        old_object,
        options,
        dry_run,
    ] = members(
        document,
        [
            "uid",
            "kind",
            "resource",
            "subResource",
            "requestKind",
            "requestResource",
            "name",
            "namespace",
            "operation",
            "userInfo",
            "object",
            "oldObject",
            "options",
            "dryRun",
        ],
    )?;
    let (kind, resource) = (kind?, resource?);
    let (known_kind, known_resource) = (self::kind(&kind)?, self::resource(&resource)?);
    let object = object.filter(is_present);
    let outline = object.as_ref().map_or_else(OnceLock::new, |object| object.outline().into());
    Some(Request {
        uid: text(&uid?)?,
        request_kind: repeated(request_kind, &kind, &known_kind, self::kind)?,
        request_resource: repeated(request_resource, &resource, &known_resource, self::resource)?,
        kind: known_kind,
        resource: known_resource,
        subresource: optional(subresource, text)?.filter(|text| !text.is_empty()),
        name: optional(name, text)?.filter(|text| !text.is_empty()),
        namespace: optional(namespace, text)?.filter(|text| !text.is_empty()),
        operation: self::operation(&operation?)?,
        user: self::user(&user?)?,
        object: optional(object, raw)?,
        old_object: optional(old_object, raw)?,
        options: optional(options, raw)?,
        dry_run: dry_run.map_or(Some(false), |dry_run| boolean(&dry_run))?,
        trace: None,
        notes: Notes::default(),
        outline,
    })
}

fn kind<'a>(document: &Document<'a>) -> Option<Kind<'a>> {
    let [group, version, kind] = members(document, ["group", "version", "kind"])?;
    Some(Kind { group: text(&group?)?, version: text(&version?)?, kind: text(&kind?)? })
}

fn resource<'a>(document: &Document<'a>) -> Option<Resource<'a>> {
    let [group, version, resource] = members(document, ["group", "version", "resource"])?;
    Some(Resource { group: text(&group?)?, version: text(&version?)?, resource: text(&resource?)? })
}

fn user<'a>(document: &Document<'a>) -> Option<User<'a>> {
    let [username, uid, groups, extra] = members(document, ["username", "uid", "groups", "extra"])?;
    let text_or_empty = |member: Option<Document<'a>>| member.map_or(Some(Cow::Borrowed("")), |it| text(&it));
    Some(User {
        username: text_or_empty(username)?,
        uid: text_or_empty(uid)?,
        groups: match groups {
            Some(groups) => Some(raw(&groups).filter(|groups| is_list_of_strings(groups))?),
            None => None,
        },
        extra: optional(extra, raw)?,
        json: Some(raw(document)?),
    })
}

fn operation(document: &Document<'_>) -> Option<Operation> {
    let written = string(document)?;
    let all = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
    all.into_iter().find(|operation| operation.as_str() == written)
}

/// The members of these names of an object; [`None`] if one of them occurs twice.
fn members<'a, const N: usize>(
    document: &Document<'a>,
    names: [&str; N],
) -> Option<[Option<Document<'a>>; N]> {
    if !document.text().starts_with('{') {
        return None;
    }
    let mut found = [const { None }; N];
    for (name, value) in document.members() {
        let Some(place) = names.iter().position(|known| name == *known) else { continue };
        if found[place].replace(value).is_some() {
            return None;
        }
    }
    Some(found)
}

/// `Some(None)` for an absent member and for null, the member as `read` reads it otherwise.
fn optional<'a, T>(
    member: Option<Document<'a>>,
    read: impl FnOnce(&Document<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match member.filter(is_present) {
        Some(member) => read(&member).map(Some),
        None => Some(None),
    }
}

/// The same as [`optional`]; a member with the text of `other` has its value. Kind and resource are repeated unless the API server
/// converted the object.
fn repeated<'a, T: Clone>(
    member: Option<Document<'a>>,
    other: &Document<'a>,
    value: &T,
    read: impl FnOnce(&Document<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match member {
        Some(member) if member.text() == other.text() => Some(Some(value.clone())),
        member => optional(member, read),
    }
}

fn is_present(document: &Document<'_>) -> bool {
    document.text() != "null"
}

fn text<'a>(document: &Document<'a>) -> Option<Cow<'a, str>> {
    string(document).map(Cow::Borrowed)
}

/// A string without escapes.
fn string<'a>(document: &Document<'a>) -> Option<&'a str> {
    let inner = document.text().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('\\')).then_some(inner)
}

fn boolean(document: &Document<'_>) -> Option<bool> {
    match document.text() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn raw<'a>(document: &Document<'a>) -> Option<&'a RawValue> {
    raw_value::of_valid_json(document.text())
}

#[cfg(test)]
mod tests;
