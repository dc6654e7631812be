//! A strict reader of OpenMetrics text, for tests of metrics; also of the injector and of the binary.

mod line;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::line::Line;

/// A page of metrics, read by
/// [OpenMetrics 1.0](https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md). Deviations that Prometheus
/// tolerates are errors here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposition {
    families: Vec<Family>,
}

/// One metric family.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Family {
    /// Its name, with the unit and without the suffixes of samples.
    pub(crate) name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub(crate) kind: String,
    /// Its unit, if it has one.
    pub(crate) unit: Option<String>,
    /// Its help text.
    pub(crate) help: String,
    /// Its samples in their order on the page.
    pub(crate) samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Its whole name: `calls_total`.
    pub(crate) name: String,
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// Its value.
    pub(crate) value: f64,
}

impl Exposition {
    /// Reads a page.
    ///
    /// # Errors
    /// The first line that breaks the specification, and why.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let body = text.strip_suffix("# EOF\n").ok_or("it does not end with `# EOF` and a line break")?;
        if !(body.is_empty() || body.ends_with('\n')) {
            return Err("`# EOF` does not stand on a line of its own".to_owned());
        }
        let mut families: Vec<Family> = Vec::new();
        let mut names = BTreeSet::new();
        for (number, text) in body.lines().enumerate() {
            let at = |problem: String| format!("line {}, `{text}`: {problem}", number + 1);
            let line = Line::read(text).map_err(at)?;
            if let Line::About { name, .. } = &line
                && families.last().is_none_or(|family| family.name != *name)
            {
                if !names.insert((*name).to_owned()) {
                    return Err(at(format!("`{name}` is there a second time, apart from the first")));
                }
                families.push(Family { name: (*name).to_owned(), ..Family::default() });
            }
            let Some(family) = families.last_mut() else {
                return Err(at("a sample without a family".to_owned()));
            };
            family.add(line).map_err(at)?;
        }
        let read = Self { families };
        read.families.iter().try_for_each(rules::check)?;
        rules::check_distinct_names(&read.families)?;
        Ok(read)
    }

    /// All families.
    pub(crate) fn families(&self) -> &[Family] {
        &self.families
    }

    /// The family of this name.
    pub(crate) fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    /// The number of series that a scraper keeps of the page.
    pub(crate) fn series(&self) -> usize {
        self.families.iter().map(|family| family.samples.len()).sum()
    }

    /// The value of the sample with this name and exactly these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut samples = self.families.iter().flat_map(|family| &family.samples);
        let is_it = |sample: &&Sample| {
            sample.name == name
                && sample.labels.len() == labels.len()
                && labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|it| it == value))
        };
        samples.find(is_it).map(|sample| sample.value)
    }
}

impl Family {
    fn add(&mut self, line: Line<'_>) -> Result<(), String> {
        match line {
            Line::Sample(sample) => {
                self.samples.push(sample);
                Ok(())
            }
            Line::About { .. } if !self.samples.is_empty() => {
                Err("a family is described before its samples".to_owned())
            }
            Line::About { what, text, .. } => {
                let place = match what {
                    "TYPE" => &mut self.kind,
                    "HELP" => &mut self.help,
                    "UNIT" => self.unit.get_or_insert_default(),
                    other => return Err(format!("`# {other}` means nothing")),
                };
                if !place.is_empty() {
                    return Err(format!("`# {what}` is there twice"));
                }
                text.clone_into(place);
                Ok(())
            }
        }
    }
}
