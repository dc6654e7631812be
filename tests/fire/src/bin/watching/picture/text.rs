//! Numbers with units, and text in SVG.

/// A value with the unit that Grafana calls `unit`.
pub(super) fn shown(value: f64, unit: &str) -> String {
    match unit {
        "percentunit" => format!("{} %", rounded(value * 100.0)),
        "bytes" => format!("{} MiB", rounded(value / 1024.0 / 1024.0)),
        "s" => duration(value),
        "reqps" | "ops" | "cps" => format!("{}/s", rounded(value)),
        _ => rounded(value),
    }
}

fn duration(seconds: f64) -> String {
    let (amount, unit) = match seconds.abs() {
        small if small < 0.001 => (seconds * 1e6, "µs"),
        small if small < 1.0 => (seconds * 1e3, "ms"),
        some if some < 120.0 => (seconds, "s"),
        some if some < 7200.0 => (seconds / 60.0, "min"),
        some if some < 2.0 * 86400.0 => (seconds / 3600.0, "h"),
        _ => (seconds / 86400.0, "d"),
    };
    format!("{} {unit}", rounded(amount))
}

/// Three digits at least, and no more after the point.
fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        big if big >= 100.0 || value.fract().abs() < 0.001 => 0,
        ten if ten >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// The text in SVG.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units() {
        assert_eq!(shown(0.987, "percentunit"), "98.7 %");
        assert_eq!(shown(31_457_280.0, "bytes"), "30 MiB");
        assert_eq!((shown(0.0012, "s"), shown(90.0, "s")), ("1.20 ms".to_owned(), "90 s".to_owned()));
        assert_eq!(shown(31_536_000.0, "s"), "365 d");
        assert_eq!(shown(12.34, "reqps"), "12.3/s");
        assert_eq!(escaped("a<b&c"), "a&lt;b&amp;c");
    }
}
