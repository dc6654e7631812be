//! Addresses of the web, as Go's `net/url` takes them apart, which the API server asks.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::super::values::{list, map, text};

/// What an address is made of. `Debug` is asked for by the library's trait, and tells nothing.
#[derive(Clone)]
struct Address {
    /// In small letters.
    scheme: String,
    /// With the port, and with brackets around an address of version 6.
    host: String,
    /// As it may be sent.
    path: String,
    query: String,
    /// All of it as Go would write it, which makes addresses equal.
    whole: String,
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.whole == other.whole
    }
}

impl Eq for Address {}

impl std::fmt::Debug for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("url")
    }
}

impl Opaque for Address {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}

/// The value of `url(written)`; none where it is no address.
pub(super) fn parse(written: &str) -> Option<Value> {
    if !is_url(written) {
        return None;
    }
    let (before, fragment) = written.split_once('#').unwrap_or((written, ""));
    let mut address = read(before, false)?;
    let plain = unescape(fragment, Part::Other)?;
    if !fragment.is_empty() {
        address.whole += "#";
        address.whole += &sendable(fragment, &plain, b"/?!$&'()*+,;=:@[]%", b"/?!$&()*+,;=:@");
    }
    Some(Value::Opaque(Arc::new(address)))
}

/// Whether it can be asked for: a scheme and what follows, or a path from the root.
pub(super) fn is_url(written: &str) -> bool {
    !written.is_empty() && read(written, true).is_some()
}

/// The bytes that an address is made of; nothing where this is none.
pub(in super::super) fn address_length(value: &Value) -> usize {
    address(value).map_or(0, |Address { scheme, host, path, query, whole }| {
        [scheme, host, path, query, whole].iter().map(|part| part.len()).sum()
    })
}

/// The method `name` of an address; `None` where it has none of that name, or this is none.
pub(super) fn call(name: &str, this: &Value) -> Option<Value> {
    let address = address(this)?;
    Some(match name {
        "getScheme" => text(&address.scheme),
        "getHost" => text(&address.host),
        "getHostname" => text(host_and_port(&address.host).0),
        "getPort" => text(host_and_port(&address.host).1),
        "getEscapedPath" => text(&address.path),
        "getQuery" => query(&address.query),
        _ => return None,
    })
}

fn address(value: &Value) -> Option<&Address> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref()
}

fn read(written: &str, is_request: bool) -> Option<Address> {
    if written.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    let (scheme, rest) = scheme(written)?;
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let scheme = scheme.to_ascii_lowercase();
    let mut whole = scheme.clone();
    if !scheme.is_empty() {
        whole.push(':');
    }
    let (mut host, mut path) = (String::new(), String::new());
    if written == "*" {
        path.push('*');
    } else if !rest.starts_with('/') {
        // What follows a scheme and is no path.
        if scheme.is_empty() {
            return None;
        }
        whole += rest;
    } else {
        let has_authority = !scheme.is_empty() || !is_request && !rest.starts_with("///");
        let mut below = rest;
        if let Some(rest) = rest.strip_prefix("//").filter(|_| has_authority) {
            let (authority, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (user, name) = match authority.rsplit_once('@') {
                Some((user, name)) => (Some(user), name),
                None => (None, authority),
            };
            host = self::host(&scheme, name)?;
            if !rest.is_empty() {
                whole += "//";
            }
            if let Some(user) = user {
                whole += &self::user(user)?;
                whole.push('@');
            }
            whole += &host;
            below = after;
        }
        path = sendable(below, &unescape(below, Part::Other)?, b"/!$&'()*+,;=:@[]%", b"/$&+,:;=@");
    }
    whole += &path;
    if let Some(query) = query {
        whole.push('?');
        whole += query;
    }
    Some(Address { scheme, host, path, query: query.unwrap_or_default().to_owned(), whole })
}

/// What stands before the first `:`, and behind it; no scheme where that is none.
fn scheme(written: &str) -> Option<(&str, &str)> {
    let end = written.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
    match end.filter(|end| written[*end..].starts_with(':')) {
        Some(0) => None,
        Some(end) if written.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some((&written[..end], &written[end + 1..]))
        }
        _ => Some(("", written)),
    }
}

fn host(scheme: &str, host: &str) -> Option<String> {
    let Some(open) = host.rfind('[') else {
        // Databases name several hosts; those of the web are one.
        let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
        let fine = colon.is_none_or(|colon| is_port(&host[colon..]));
        return fine.then(|| unescape(host, Part::Host))?.map(lossy);
    };
    let (inner, port) = host.strip_prefix('[').filter(|_| open == 0)?.rsplit_once(']')?;
    if !is_port(port) {
        return None;
    }
    let inner = match inner.find("%25") {
        Some(zone) => [unescape(&inner[..zone], Part::Host)?, unescape(&inner[zone..], Part::Zone)?].concat(),
        None => unescape(inner, Part::Host)?,
    };
    let inner = lossy(inner);
    let (address, zone) =
        inner.split_once('%').map_or((&*inner, None), |(address, zone)| (address, Some(zone)));
    let fine = address.parse::<Ipv6Addr>().is_ok() && zone != Some("");
    fine.then(|| format!("[{inner}]{port}"))
}

/// Who stands before `@`, and with which password, escaped anew.
fn user(written: &str) -> Option<String> {
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !written.bytes().all(is_user) {
        return None;
    }
    let escaped = |part: &str| Some(escape(&unescape(part, Part::Other)?, b"$&+,;="));
    match written.split_once(':') {
        None => escaped(written),
        Some((name, password)) => Some(format!("{}:{}", escaped(name)?, escaped(password)?)),
    }
}

/// Nothing, or digits behind a colon.
fn is_port(port: &str) -> bool {
    port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Without brackets.
fn host_and_port(host: &str) -> (&str, &str) {
    let colon = host.rfind(':').filter(|colon| is_port(&host[*colon..]));
    let (name, port) = colon.map_or((host, ""), |colon| (&host[..colon], &host[colon + 1..]));
    (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
}

/// Every name with its values; pairs that cannot be read are left out.
fn query(written: &str) -> Value {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pair in written.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |part: &str| unescape(&part.replace('+', " "), Part::Other).map(lossy);
        if let (Some(name), Some(value)) = (plain(name), plain(value)) {
            found.entry(name).or_default().push(text(&value));
        }
    }
    map(found.into_iter().map(|(name, values)| (name, list(values))))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

/// What is written by `%41` put in its place; none where that is wrong. Hosts write only so what is not ASCII, or `%`.
fn unescape(written: &str, part: Part) -> Option<Vec<u8>> {
    let bytes = written.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        if byte == b'%' {
            let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
            let made = u8::try_from(digit(index + 1)? * 16 + digit(index + 2)?).ok()?;
            let fits = match part {
                _ if made == b'%' => true,
                Part::Host => made >= 0x80,
                Part::Zone => made == b' ' || is_host(made),
                Part::Other => true,
            };
            plain.push(Some(made).filter(|_| fits)?);
            index += 3;
            continue;
        }
        if part != Part::Other && byte < 0x80 && !is_host(byte) {
            return None;
        }
        plain.push(byte);
        index += 1;
    }
    Some(plain)
}

/// Texts are characters here, and bytes in Go.
fn lossy(plain: Vec<u8>) -> String {
    String::from_utf8(plain).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `written` as it is where all of it is `fine` to be sent; otherwise what it means, `plain`, escaped but for what is `kept`.
fn sendable(written: &str, plain: &[u8], fine: &[u8], kept: &[u8]) -> String {
    let is_fine = written.bytes().all(|byte| is_plain(byte) || fine.contains(&byte));
    if is_fine { written.to_owned() } else { escape(plain, kept) }
}

fn escape(plain: &[u8], kept: &[u8]) -> String {
    let mut escaped = String::with_capacity(plain.len());
    for &byte in plain {
        if is_plain(byte) || kept.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

fn is_host(byte: u8) -> bool {
    is_plain(byte) || b"!$&'()*+,;=:[]<>\"".contains(&byte)
}
