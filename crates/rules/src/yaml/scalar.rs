//! Resolves plain scalars by the YAML 1.2 core schema, with the legacy octals that `kubectl` still reads.

use super::quote;

/// A plain scalar as JSON. Numbers keep their text if it is valid JSON.
pub(super) fn resolve(text: &str) -> String {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ => number(text).unwrap_or_else(|| quote(text)),
    }
}

/// A plain scalar as the JSON that kubectl sends: its library follows YAML 1.1, which has more words for booleans and
/// more notations for numbers.
pub(super) fn resolve_as_kubectl(text: &str) -> String {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => "true".to_owned(),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => "false".to_owned(),
        // The digits of a commit, such as `4e996`, are more than a floating-point number holds.
        _ if text.parse::<f64>().is_ok_and(f64::is_infinite) => quote(text),
        _ => legacy_number(text).unwrap_or_else(|| resolve(text)),
    }
}

/// Whether some YAML reader resolves the plain text to something other than text.
pub(super) fn is_special(text: &str) -> bool {
    let legacy =
        matches!(text.trim_start_matches(['-', '+']), ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN");
    let is_text = |json: String| json == quote(text);
    legacy || matches!(text, "=" | "<<") || !is_text(resolve(text)) || !is_text(resolve_as_kubectl(text))
}

/// `1_000`, `0b101` and `-0x1f`.
fn legacy_number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { "-" } else { "" }, rest),
        None => ("", text),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('_', "");
    for (prefix, base) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0O", 8)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            return radix(digits, base).map(|value| format!("{sign}{value}"));
        }
    }
    text.contains('_').then(|| number(&format!("{sign}{digits}")))?
}

fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(octal) = digits.strip_prefix("0o").or_else(|| legacy_octal(digits)) {
        return radix(octal, 8).map(|value| format!("{sign}{value}"));
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x").filter(|_| sign.is_empty()) {
        return radix(hexadecimal, 16).map(|value| value.to_string());
    }
    decimal(sign, digits)
}

/// A sign is allowed only before the prefix.
fn radix(digits: &str, radix: u32) -> Option<u64> {
    u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// `[0-9]*(\.[0-9]*)?([eE][-+]?[0-9]+)?` with a digit before or after the point, written as JSON.
fn decimal(sign: &str, digits: &str) -> Option<String> {
    // The exponent keeps its spelling, because `1E+3` is valid JSON.
    let (mantissa, exponent) = digits.split_at(digits.find(['e', 'E']).unwrap_or(digits.len()));
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.get(1..).map(|power| power.strip_prefix(['-', '+']).unwrap_or(power));
    if !all_digits(whole) || !fraction.is_none_or(all_digits) {
        return None;
    }
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    if power.is_some_and(|power| power.is_empty() || !all_digits(power)) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let fraction = fraction.map(|fraction| format!(".{}", if fraction.is_empty() { "0" } else { fraction }));
    Some(format!("{sign}{whole}{}{exponent}", fraction.unwrap_or_default()))
}

/// The digits of an octal such as `0644`, without the leading zero.
fn legacy_octal(digits: &str) -> Option<&str> {
    let octal = digits.strip_prefix('0')?;
    (!octal.is_empty() && octal.bytes().all(|byte| matches!(byte, b'0'..=b'7'))).then_some(octal)
}

#[cfg(test)]
mod tests {
    use super::{resolve, resolve_as_kubectl};

    /// Each row is the result of `sigs.k8s.io/yaml`, which kubectl uses.
    #[test]
    fn resolves_as_kubectl_does() {
        for (text, json) in [
            ("yes", "true"),
            ("On", "true"),
            ("y", "true"),
            ("n", "false"),
            ("OFF", "false"),
            ("yEs", "\"yEs\""),
            ("true", "true"),
            ("1_000", "1000"),
            ("-1_0.5", "-10.5"),
            ("0b101", "5"),
            ("-0x1f", "-31"),
            ("0o17", "15"),
            ("0644", "420"),
            ("_1", "\"_1\""),
            ("1_a", "\"1_a\""),
            ("12:30:45", "\"12:30:45\""),
            ("2001-01-01", "\"2001-01-01\""),
            ("4e996", "\"4e996\""),
            ("1e308", "1e308"),
            ("", "null"),
        ] {
            assert_eq!(resolve_as_kubectl(text), json, "{text}");
        }
    }

    #[test]
    fn resolves_as_the_core_schema_does() {
        for (text, json) in [
            ("", "null"),
            ("~", "null"),
            ("True", "true"),
            ("on", "\"on\""),
            ("yes", "\"yes\""),
            ("80", "80"),
            ("+80", "80"),
            ("-1", "-1"),
            ("0", "0"),
            ("1.10", "1.10"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("1e3", "1e3"),
            ("1E+3", "1E+3"),
            ("-1.5E-03", "-1.5E-03"),
            ("1E", "\"1E\""),
            ("18446744073709551616", "18446744073709551616"),
            ("0o644", "420"),
            ("0644", "420"),
            ("0899", "899"),
            ("0x1F", "31"),
            ("0o+7", "\"0o+7\""),
            ("1_000", "\"1_000\""),
            ("100m", "\"100m\""),
            ("1.2.3", "\"1.2.3\""),
            ("2001-01-01", "\"2001-01-01\""),
            (".", "\".\""),
            ("-", "\"-\""),
            ("e3", "\"e3\""),
            (".inf", "\".inf\""),
        ] {
            assert_eq!(resolve(text), json, "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(json).is_ok());
        }
    }
}
