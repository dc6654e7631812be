//! The rules for one family, and for all families of a page.

use std::collections::{BTreeMap, BTreeSet};

use super::{Family, Sample};

/// The suffixes of the samples of a family of this kind.
fn endings(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "counter" => Some(&["_total"]),
        "gauge" => Some(&[""]),
        "histogram" => Some(&["_bucket", "_count", "_sum"]),
        "info" => Some(&["_info"]),
        _ => None,
    }
}

pub(super) fn check(family: &Family) -> Result<(), String> {
    let Family { name, kind, unit, help, samples } = family;
    let of = |problem: String| format!("{name}: {problem}");
    let endings = endings(kind).ok_or_else(|| of(format!("`{kind}` is no type that is served here")))?;
    if help.is_empty() {
        return Err(of("it has no help".to_owned()));
    }
    if let Some(unit) = unit
        && (kind == "info" || !name.ends_with(&format!("_{unit}")))
    {
        return Err(of(format!("its name does not end with its unit, {unit}")));
    }
    let mut seen = BTreeSet::new();
    for sample in samples {
        let ending = sample.name.strip_prefix(&**name).unwrap_or("?");
        if !endings.contains(&ending) {
            return Err(of(format!("`{}` is no sample of a {kind}: {endings:?}", sample.name)));
        }
        if !seen.insert((&sample.name, &sample.labels)) {
            return Err(of(format!("{} {:?} is there twice", sample.name, sample.labels)));
        }
        let fits = match kind.as_str() {
            "gauge" => true,
            "info" => (sample.value - 1.0).abs() < f64::EPSILON,
            _ => sample.value.is_finite() && sample.value >= 0.0,
        };
        if !fits {
            return Err(of(format!("{} is no value of a {kind}", sample.value)));
        }
    }
    if kind == "histogram" { histogram(samples).map_err(of) } else { Ok(()) }
}

/// Two families must not have samples of one name.
pub(super) fn check_distinct_names(families: &[Family]) -> Result<(), String> {
    let mut taken = BTreeMap::new();
    for family in families {
        let names = endings(&family.kind).unwrap_or_default();
        for name in names.iter().map(|ending| format!("{}{ending}", family.name)) {
            if let Some(other) = taken.insert(name.clone(), &family.name) {
                return Err(format!("{name} is a sample of {other} and of {}", family.name));
            }
        }
    }
    Ok(())
}

/// The bounds of buckets rise, their counts do not fall, the last bucket has all values, and sum and count exist.
fn histogram(samples: &[Sample]) -> Result<(), String> {
    let mut of: BTreeMap<BTreeMap<&str, &str>, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        let labels = sample.labels.iter().filter(|(label, _)| *label != "le");
        let labels = labels.map(|(label, value)| (&**label, &**value)).collect();
        of.entry(labels).or_default().push(sample);
    }
    for (labels, samples) in of {
        let one = |ending: &str| samples.iter().find(|sample| sample.name.ends_with(ending));
        let (Some(count), Some(_)) = (one("_count"), one("_sum")) else {
            return Err(format!("{labels:?} has no count or no sum"));
        };
        let (mut bound, mut below) = (f64::NEG_INFINITY, 0.0);
        for bucket in samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
            let le = bucket.labels.get("le").ok_or("a bucket without `le`")?;
            let next =
                if le == "+Inf" { f64::INFINITY } else { le.parse().map_err(|_| "`le` is no number")? };
            if next <= bound || bucket.value < below {
                return Err(format!("{labels:?}: the bucket {le} is out of order"));
            }
            (bound, below) = (next, bucket.value);
        }
        if bound < f64::INFINITY || (below - count.value).abs() > f64::EPSILON {
            return Err(format!("{labels:?}: the last bucket, +Inf, does not hold all"));
        }
    }
    Ok(())
}
