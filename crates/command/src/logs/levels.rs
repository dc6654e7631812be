//! Log levels: `info,identity=debug`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;

use super::Component;

/// Levels for everything, for components and for targets, in the syntax of `RUST_LOG`. The most specific one wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Levels {
    /// The level of everything but libraries.
    all: Option<LevelFilter>,
    components: BTreeMap<Component, LevelFilter>,
    /// By the prefixes of targets.
    targets: BTreeMap<String, LevelFilter>,
}

impl Levels {
    /// The level of a component, or of everything but libraries.
    pub(crate) fn of(component: Option<Component>, level: LevelFilter) -> Self {
        let all = component.is_none().then_some(level);
        let components = component.into_iter().map(|component| (component, level)).collect();
        Self { all, components, targets: BTreeMap::new() }
    }

    /// These levels with the `other` ones; `other` wins.
    pub(crate) fn over(mut self, other: Self) -> Self {
        if other.all.is_some() {
            self.all = other.all;
            self.components.retain(|component, _| *component == Component::Dependencies);
            self.targets.retain(|target, _| Component::Dependencies.targets().contains(&&**target));
        }
        for (component, level) in other.components {
            self.set(component, level);
        }
        self.targets.extend(other.targets);
        self
    }

    /// Levels of the component's own targets end.
    fn set(&mut self, component: Component, level: LevelFilter) {
        self.targets.retain(|target, _| !component.targets().contains(&&**target));
        self.components.insert(component, level);
    }

    /// The level of everything but libraries, if there is one.
    pub(super) fn of_all(&self) -> Option<LevelFilter> {
        self.all
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The level of a whole component, if there is one.
    pub(crate) fn level_of(&self, component: Component) -> Option<LevelFilter> {
        let usual = self.all.filter(|_| component != Component::Dependencies);
        let whole = self.components.get(&component);
        let of_targets = component.targets().iter().map(|target| self.targets.get(*target).or(whole));
        of_targets.chain([whole]).flatten().next().copied().or(usual)
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
        if let Some(rest) = self.components.get(&Component::App).or(self.all.as_ref()) {
            // The level of all other targets would change those of these components.
            for &component in Component::value_variants() {
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
        for (component, level) in &self.components {
            directives.extend(component.targets().iter().map(|target| format!("{target}={level}")));
        }
        directives.extend(self.targets.iter().map(|(target, level)| format!("{target}={level}")));
        directives.join(",")
    }
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let no_level = || {
            let start: String = text.chars().take(100).collect();
            format!(
                "`{start}` is no level: write off, error, warn, info, debug or trace, alone or after `COMPONENT=` or `TARGET=`"
            )
        };
        let mut levels = Self::default();
        for part in text.split(',').map(str::trim) {
            let (target, said) = part.split_once('=').map_or((None, part), |(of, said)| (Some(of), said));
            let level = level(said).ok_or_else(no_level)?;
            match target.map(|target| (target, target.parse::<Component>())) {
                None => levels.all = Some(level),
                Some((_, Ok(component))) => levels.set(component, level),
                Some((target, Err(_))) if is_path(target) => {
                    levels.targets.insert(target.to_owned(), level);
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

impl fmt::Display for Levels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all.iter().map(ToString::to_string);
        let components = self.components.iter().map(|(component, level)| format!("{component}={level}"));
        let targets = self.targets.iter().map(|(target, level)| format!("{target}={level}"));
        formatter.write_str(&all.chain(components).chain(targets).collect::<Vec<_>>().join(","))
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
    fn an_invalid_level_is_refused() {
        for text in
            ["", "dbug", "info,", "my_app", "my_app=", "=info", "a b=info", "5", "a[b]=info", "info=a"]
        {
            assert!(text.parse::<Levels>().is_err(), "{text}");
        }
        let long = "x".repeat(10_000).parse::<Levels>().unwrap_err();
        assert!(long.len() < 300, "{long}");
    }
}
