//! Addresses of the web, as Go's `net/url` takes them apart, which the API server asks.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::super::values::{list, map, text};

/// What an address is made of. `Debug` is asked for by the library's trait, and tells nothing.
#[derive(Clone, PartialEq, Eq)]
struct Address {
    /// In small letters.
    scheme: String,
    /// What follows the scheme where that is no path.
    opaque: String,
    user: String,
    /// With the port, and with brackets around an address of version 6.
    host: String,
    /// As it may be sent.
    path: String,
    query: String,
    fragment: String,
}

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
    let (whole, fragment) = written.split_once('#').unwrap_or((written, ""));
    unescape(fragment, Part::Other)?;
    let address = Address { fragment: fragment.to_owned(), ..read(whole, false)? };
    Some(Value::Opaque(Arc::new(address)))
}

/// Whether it can be asked for: a scheme and what follows, or a path from the root.
pub(super) fn is_url(written: &str) -> bool {
    !written.is_empty() && read(written, true).is_some()
}

/// The bytes that an address is made of; nothing where this is none.
pub(in super::super) fn address_length(value: &Value) -> usize {
    address(value).map_or(0, |Address { scheme, opaque, user, host, path, query, fragment }| {
        [scheme, opaque, user, host, path, query, fragment].iter().map(|part| part.len()).sum()
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
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut address = Address {
        scheme: scheme.to_ascii_lowercase(),
        opaque: String::new(),
        user: String::new(),
        host: String::new(),
        path: String::new(),
        query: query.to_owned(),
        fragment: String::new(),
    };
    if written == "*" {
        return Some(Address { path: "*".to_owned(), ..address });
    }
    if !rest.starts_with('/') {
        let opaque = rest.to_owned();
        return (!scheme.is_empty()).then_some(Address { opaque, ..address });
    }
    let has_authority = !scheme.is_empty() || !is_request && !rest.starts_with("///");
    let path = match rest.strip_prefix("//").filter(|_| has_authority) {
        None => rest,
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
            if !user.bytes().all(is_user) {
                return None;
            }
            unescape(user, Part::Other)?;
            address.user = user.to_owned();
            address.host = self::host(&address.scheme, host)?;
            path
        }
    };
    let plain = unescape(path, Part::Other)?;
    let fine = |byte: u8| is_plain(byte) || b"/!$&'()*+,;=:@[]%".contains(&byte);
    address.path = if path.bytes().all(fine) { path.to_owned() } else { escape(&plain) };
    Some(address)
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

fn escape(path: &[u8]) -> String {
    let mut escaped = String::with_capacity(path.len());
    for &byte in path {
        if is_plain(byte) || b"/$&+,:;=@".contains(&byte) {
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
