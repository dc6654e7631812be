//! `/crdconvert`: `hostPort` in `stable.example.com/v1` is `host` and `port` in `v2`.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use vestibule::admission::Unconvertible;

/// The members of an object; only three of them are read.
type Members = BTreeMap<String, Box<RawValue>>;

pub(crate) fn convert(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    let mut members: Members =
        serde_json::from_str(object.get()).map_err(|_| Unconvertible::new("it is no object"))?;
    let current = take(&mut members, "apiVersion")?.unwrap_or_default();
    match (&*current, desired) {
        ("stable.example.com/v1", "stable.example.com/v2") => split(&mut members)?,
        ("stable.example.com/v2", "stable.example.com/v1") => join(&mut members)?,
        _ => return Err(Unconvertible::new(format_args!("unexpected conversion version {desired:?}"))),
    }
    put(&mut members, "apiVersion", desired)?;
    to_raw_value(&members).map_err(Unconvertible::new)
}

fn split(members: &mut Members) -> Result<(), Unconvertible> {
    let Some(host_port) = take(members, "hostPort")? else { return Ok(()) };
    let parts = host_port.split_once(':').filter(|(_, port)| !port.contains(':'));
    let (host, port) =
        parts.ok_or_else(|| Unconvertible::new("invalid hostPort value: it is not HOST:PORT"))?;
    put(members, "host", host)?;
    put(members, "port", port)
}

fn join(members: &mut Members) -> Result<(), Unconvertible> {
    let (host, port) = (take(members, "host")?, take(members, "port")?);
    if host.is_none() && port.is_none() {
        return Ok(());
    }
    put(members, "hostPort", &format!("{}:{}", host.unwrap_or_default(), port.unwrap_or_default()))
}

fn take(members: &mut Members, name: &str) -> Result<Option<String>, Unconvertible> {
    let text = members.remove(name).map(|value| serde_json::from_str(value.get())).transpose();
    text.map_err(|_| Unconvertible::new(format_args!("invalid {name} value: it is no string")))
}

fn put(members: &mut Members, name: &str, text: &str) -> Result<(), Unconvertible> {
    members.insert(name.to_owned(), to_raw_value(text).map_err(Unconvertible::new)?);
    Ok(())
}
