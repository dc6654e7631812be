//! Log levels: `info,identity=debug`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tracing_subscriber::filter::LevelFilter;

use super::Component;

/// Levels for everything, for components and for targets, in the syntax of `RUST_LOG`. The most specific one wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Levels {
    /// The level of everything but libraries.
    all: Option<LevelFilter>,
    /// By the prefixes of targets; `None` is for every other target.
    of: BTreeMap<Option<String>, LevelFilter>,
}

/// A text that has no levels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no level: write off, error, warn, info, debug or trace, alone or after `COMPONENT=` or `TARGET=`"
)]
pub(crate) struct LevelsError(String);

impl LevelsError {
    /// The text is cut to the length of a line.
    fn of(text: &str) -> Self {
        Self(text.chars().take(100).collect())
    }
}

impl Levels {
    /// Of everything but libraries below.
    pub(crate) fn of_everything(level: LevelFilter) -> Self {
        Self { all: Some(level), of: BTreeMap::new() }
    }

    pub(crate) fn of(component: Component, level: LevelFilter) -> Self {
        Self { all: None, of: targets(component).map(|target| (target, level)).collect() }
    }

    /// These levels with the `other` ones; `other` wins.
    pub(crate) fn over(mut self, other: Self) -> Self {
        if other.all.is_some() {
            self.all = other.all;
            self.of.retain(|target, _| is_below(target.as_deref()));
        }
        self.of.extend(other.of);
        self
    }

    /// The level of everything but libraries, if there is one.
    pub(super) fn of_all(&self) -> Option<LevelFilter> {
        self.all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none() && self.of.is_empty()
    }

    /// The level of a whole component, if there is one.
    pub(crate) fn level_of(&self, component: Component) -> Option<LevelFilter> {
        let usual = self.all.filter(|_| component != Component::Dependencies);
        targets(component).find_map(|target| self.of.get(&target)).copied().or(usual)
    }

    /// The directives of a filter, after those of `base`. The last directive for a target counts.
    pub(super) fn directives(&self, base: &str) -> String {
        let parts = || base.split(',').map(str::trim);
        let usual = parts().rev().find(|part| level(part).is_some()).unwrap_or("error");
        let named = |target: &str| {
            parts().any(|part| part.strip_prefix(target).is_some_and(|rest| rest.starts_with('=')))
        };
        let ours = |part: &&str| part.starts_with("vestibule");
        let kept = parts().filter(|part| self.all.is_none() || !ours(part));
        let mut directives: Vec<_> = kept.map(str::to_owned).collect();
        if let Some(rest) = self.of.get(&None).or(self.all.as_ref()) {
            // Everybody who is not meant by it.
            for component in Component::ALL {
                let of_all = self.all.filter(|_| component != Component::Dependencies);
                for target in component.targets() {
                    match of_all {
                        Some(level) => directives.push(format!("{target}={level}")),
                        None if named(target) => {}
                        None => directives.push(format!("{target}={usual}")),
                    }
                }
            }
            directives.push(rest.to_string());
        }
        let named = self.of.iter().filter_map(|(target, level)| Some((target.as_ref()?, level)));
        directives.extend(named.map(|(target, level)| format!("{target}={level}")));
        directives.join(",")
    }
}

/// `None` is for every other target.
fn targets(component: Component) -> impl Iterator<Item = Option<String>> {
    let named = component.targets().iter().map(|target| Some((*target).to_owned()));
    named.chain(component.targets().is_empty().then_some(None))
}

fn is_below(target: Option<&str>) -> bool {
    target.is_some_and(|target| Component::Dependencies.targets().contains(&target))
}

/// The names of `RUST_LOG` and of zap, which distinguishes panics from errors. Numbers are refused: zap counts in the
/// other direction.
pub(crate) fn level(text: &str) -> Option<LevelFilter> {
    match text.to_ascii_lowercase().as_str() {
        "off" => Some(LevelFilter::OFF),
        "error" | "dpanic" | "panic" | "fatal" => Some(LevelFilter::ERROR),
        "warn" | "warning" => Some(LevelFilter::WARN),
        "info" => Some(LevelFilter::INFO),
        "debug" => Some(LevelFilter::DEBUG),
        "trace" => Some(LevelFilter::TRACE),
        _ => None,
    }
}

impl FromStr for Levels {
    type Err = LevelsError;

    fn from_str(text: &str) -> Result<Self, LevelsError> {
        let no_level = || LevelsError::of(text);
        let mut levels = Self::default();
        for part in text.split(',').map(str::trim) {
            let (target, said) = part.split_once('=').map_or((None, part), |(of, said)| (Some(of), said));
            let level = level(said).ok_or_else(no_level)?;
            match target.map(|target| (target, target.parse())) {
                None => levels.all = Some(level),
                Some((_, Ok(component))) => levels.of.extend(Self::of(component, level).of),
                Some((target, Err(_))) if is_path(target) => {
                    levels.of.insert(Some(target.to_owned()), level);
                }
                Some(_) => return Err(no_level()),
            }
        }
        Ok(levels)
    }
}

/// A crate or a module.
fn is_path(target: &str) -> bool {
    let of_names = |character: char| character.is_ascii_alphanumeric() || "_:-".contains(character);
    !target.is_empty() && target.chars().all(of_names)
}

/// Components by their names, where all of their targets have the same level.
impl fmt::Display for Levels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.of.clone();
        let mut parts: Vec<_> = self.all.iter().map(ToString::to_string).collect();
        for component in Component::ALL {
            let whole = targets(component)
                .map(|target| left.get(&target).copied())
                .reduce(|one, other| one.filter(|_| one == other));
            if let Some(level) = whole.flatten() {
                left.retain(|target, _| targets(component).all(|of| of != *target));
                parts.push(format!("{component}={level}"));
            }
        }
        parts.extend(left.iter().filter_map(|(target, level)| Some(format!("{}={level}", target.as_ref()?))));
        formatter.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_written() {
        for (text, written) in [
            ("info", "info"),
            ("Debug", "debug"),
            ("fatal", "error"),
            ("info, my_app::pods=trace", "info,my_app::pods=trace"),
            ("info,debug", "debug"),
            ("lookups=off", "lookups=off"),
            ("identity=debug,app=warn,error", "error,identity=debug,app=warn"),
            ("vestibule_server=debug,server=info,vestibule_pki=off", "server=info,vestibule_pki=off"),
        ] {
            assert_eq!(text.parse::<Levels>().unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for text in
            ["", "dbug", "info,", "my_app", "my_app=", "=info", "a b=info", "5", "a[b]=info", "info=a"]
        {
            assert!(text.parse::<Levels>().is_err(), "{text}");
        }
        let long = "x".repeat(10_000).parse::<Levels>().unwrap_err().to_string();
        assert!(long.len() < 300, "{long}");
    }
}
