//! `url()` of the API server's CEL library, for what rules meet: URLs with a scheme, and paths from the root
//! (docs/adr/0084).

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::values::{as_opaque, list, map, text};

/// The characters that a path must escape; `%` stays, since an escape may begin with it.
const ESCAPED_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

#[derive(Clone, PartialEq, Eq)]
struct Url {
    /// In lower case.
    scheme: String,
    /// Everything behind the scheme as it is written, by which URLs are compared.
    rest: String,
    /// With the port, and with brackets around an IPv6 address.
    host: String,
    path: String,
    query: String,
}

/// The value of `url(written)`; `None` where it is no URL.
pub(super) fn parse(written: &str) -> Option<Value> {
    let refused = |byte: u8| byte < b' ' || byte == 0x7f;
    if written.is_empty() || written.bytes().any(refused) {
        return None;
    }
    let (scheme, rest) = split_scheme(written)?;
    let (before, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let (mut host, mut path) = ("", "");
    if let Some(behind) =
        before.strip_prefix("//").filter(|behind| !scheme.is_empty() || !behind.starts_with('/'))
    {
        let (authority, below) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
        host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        path = below;
        // Databases have several hosts, websites one.
        let several = split_port(host).0.contains(':') && !host.starts_with('[');
        if authority.contains(' ') || several && scheme.to_ascii_lowercase().starts_with("http") {
            return None;
        }
    } else if before.starts_with('/') {
        path = before;
    } else if scheme.is_empty() {
        return None;
    }
    let url = Url {
        scheme: scheme.to_ascii_lowercase(),
        rest: rest.to_owned(),
        host: host.to_owned(),
        path: utf8_percent_encode(path, ESCAPED_IN_PATH).to_string(),
        query: query.to_owned(),
    };
    (is_host(host) && has_valid_escapes(path)).then(|| Value::Opaque(Arc::new(url)))
}

/// The bytes of a URL, for the budget; 0 where `value` is none.
pub(super) fn url_length(value: &Value) -> usize {
    as_opaque(value).map_or(0, |Url { scheme, rest, host, path, query }| {
        [scheme, rest, host, path, query].iter().map(|part| part.len()).sum()
    })
}

/// Calls the method `name` of a URL; `None` where `this` is no URL, or URLs have no such method.
pub(super) fn call(name: &str, this: &Value) -> Option<Value> {
    let url: &Url = as_opaque(this)?;
    let (hostname, port) = split_port(&url.host);
    Some(match name {
        "getScheme" => text(&url.scheme),
        "getHost" => text(&url.host),
        "getHostname" => text(hostname.trim_matches(['[', ']'])),
        "getPort" => text(port.trim_start_matches(':')),
        "getEscapedPath" => text(&url.path),
        "getQuery" => query(&url.query),
        _ => return None,
    })
}

/// The scheme, which is empty where a path comes first, and the text behind its colon.
fn split_scheme(written: &str) -> Option<(&str, &str)> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    match written.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => Some((scheme, rest)),
        _ => written.starts_with('/').then_some(("", written)),
    }
}

/// Whether `host` is a name or an address with a port or without, or several of them with commas.
fn is_host(host: &str) -> bool {
    let (name, port) = split_port(host);
    let is_address = || name.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let fits = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:".contains(c);
    port.bytes().skip(1).all(|byte| byte.is_ascii_digit())
        && (name.chars().all(fits) || is_address().is_some())
}

/// A host, and its port with the colon.
fn split_port(host: &str) -> (&str, &str) {
    let behind_address = host.find(']').unwrap_or_default();
    let colon = host.rfind(':').filter(|colon| *colon >= behind_address);
    host.split_at(colon.unwrap_or(host.len()))
}

fn has_valid_escapes(path: &str) -> bool {
    let is_escape = |behind: &str| behind.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    path.split('%').skip(1).all(is_escape)
}

/// Every name with its values. Go leaves out a pair with a semicolon or an invalid escape (`parseQuery` in net/url).
fn query(written: &str) -> Value {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let pairs = written.split('&').filter(|pair| !pair.contains(';') && has_valid_escapes(pair));
    for (name, value) in pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes())) {
        found.entry(name.into_owned()).or_default().push(text(&value));
    }
    map(found.into_iter().map(|(name, values)| (name, list(values))))
}

/// The library's trait wants `Debug`. It shows no URL, which may hold a password.
impl std::fmt::Debug for Url {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("url")
    }
}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}
