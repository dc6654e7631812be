//! The log levels in a ConfigMap: in the format of knative's `config-logging`, and temporary ones.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tracing_subscriber::filter::LevelFilter;

use super::Component;
use super::levels::{Levels, level};

/// The longest temporary level: a day. A replica whose clock is wrong keeps it no longer either.
pub(crate) const MAX_RAISE: Duration = Duration::from_secs(24 * 60 * 60);

const ZAP: &str = "zap-logger-config";
const LEVEL: &str = "loglevel";
const RAISED: &str = "raised";

/// A key of the ConfigMap. Later variants override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// `zap-logger-config`, of which `level` is understood.
    Zap,
    /// `loglevel`, in the syntax of `RUST_LOG`.
    Levels,
    /// `loglevel.COMPONENT`; without a component `loglevel.NAME` with the app's own name: everything.
    Level(Option<Component>),
    /// `raised.COMPONENT`; without a component `raised`: everything, for a while.
    Raised(Option<Component>),
}

/// The levels of all valid values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LevelConfig(BTreeMap<Key, Setting>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    levels: Levels,
    until: Option<Timestamp>,
}

/// `debug until 2026-01-02T03:04:05Z`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub(crate) level: LevelFilter,
    pub(crate) until: Timestamp,
}

/// The reason why a value is invalid. It does not quote the value: logs and Events quote nothing from an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LevelConfigError {
    #[error(
        "it is no level: write off, error, warn, info, debug or trace, in `loglevel` also after `COMPONENT=` or `TARGET=`"
    )]
    Level,
    #[error("it is no JSON, or its `level` no text")]
    Zap,
    #[error("write LEVEL until TIME, as in `debug until 2026-01-02T03:04:05Z`")]
    Raised,
    #[error("{0} is more than a day away: a permanent level belongs in the `loglevel` keys")]
    TooLong(Timestamp),
}

impl LevelConfig {
    /// Parses `data`. In place of an invalid value the one `before` it stays in force; the keys of invalid values are
    /// returned with the reasons.
    pub(crate) fn read(
        before: &Self,
        app: &str,
        data: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> (Self, Vec<(Key, LevelConfigError)>) {
        let (mut wanted, mut bad) = (Self::default(), Vec::new());
        for (name, text) in data {
            let Some(key) = Key::named(name, app) else { continue };
            match Setting::read(key, text.trim(), now) {
                Ok(None) => {}
                Ok(Some(setting)) => drop(wanted.0.insert(key, setting)),
                Err(why) => {
                    bad.push((key, why));
                    wanted.0.extend(before.0.get(&key).map(|setting| (key, setting.clone())));
                }
            }
        }
        (wanted, bad)
    }

    /// The levels at `now`, and the time when the next temporary one ends.
    pub(crate) fn at(&self, now: Timestamp) -> (Levels, Option<Timestamp>) {
        let levels = self.counting(now).map(|(_, setting)| setting.levels.clone());
        let ends = self.counting(now).filter_map(|(_, setting)| setting.until);
        (levels.fold(Levels::default(), Levels::over), ends.min())
    }

    /// The level of a component at `now`, the key that it comes from, and its end if it is temporary.
    pub(crate) fn of(
        &self,
        component: Component,
        now: Timestamp,
    ) -> Option<(LevelFilter, Key, Option<Timestamp>)> {
        let said = |(key, setting): (&Key, &Setting)| {
            setting.levels.level_of(component).map(|level| (level, *key, setting.until))
        };
        self.counting(now).filter_map(said).last()
    }

    fn counting(&self, now: Timestamp) -> impl Iterator<Item = (&Key, &Setting)> {
        self.0.iter().filter(move |(_, setting)| setting.until.is_none_or(|until| now < until))
    }
}

impl Key {
    /// `None`: the key is not for this app. knative's ConfigMap holds levels of its own components too.
    pub(crate) fn named(name: &str, app: &str) -> Option<Self> {
        match (name, name.split_once('.')) {
            (ZAP, _) => Some(Self::Zap),
            (LEVEL, _) => Some(Self::Levels),
            (RAISED, _) => Some(Self::Raised(None)),
            (_, Some((LEVEL, of))) => match of.parse() {
                Ok(component) => Some(Self::Level(Some(component))),
                Err(_) => (of == app).then_some(Self::Level(None)),
            },
            (_, Some((RAISED, of))) => of.parse().ok().map(|component| Self::Raised(Some(component))),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zap => formatter.write_str(ZAP),
            Self::Levels => formatter.write_str(LEVEL),
            Self::Level(None) => write!(formatter, "{LEVEL}.NAME"),
            Self::Level(Some(component)) => write!(formatter, "{LEVEL}.{component}"),
            Self::Raised(None) => formatter.write_str(RAISED),
            Self::Raised(Some(component)) => write!(formatter, "{RAISED}.{component}"),
        }
    }
}

impl Setting {
    /// `None`: the value sets no level.
    fn read(key: Key, text: &str, now: Timestamp) -> Result<Option<Self>, LevelConfigError> {
        let of_a_level = |text: &str| level(text).ok_or(LevelConfigError::Level);
        let lasting = |levels| Some(Self { levels, until: None });
        Ok(match key {
            Key::Zap => match zap_level(text)? {
                Some(text) => lasting(Levels::of(None, of_a_level(&text)?)),
                None => None,
            },
            Key::Levels => lasting(text.parse().map_err(|_| LevelConfigError::Level)?),
            Key::Level(component) => lasting(Levels::of(component, of_a_level(text)?)),
            Key::Raised(component) => {
                let Raised { level, until } = text.parse::<Raised>()?.within(now)?;
                Some(Self { levels: Levels::of(component, level), until: Some(until) })
            }
        })
    }
}

/// The member `level`; the others configure encoders and outputs.
fn zap_level(text: &str) -> Result<Option<String>, LevelConfigError> {
    let config: Value = serde_json::from_str(text).map_err(|_| LevelConfigError::Zap)?;
    match config.get("level") {
        None => Ok(None),
        Some(Value::String(level)) => Ok(Some(level.clone())),
        Some(_) => Err(LevelConfigError::Zap),
    }
}

impl Raised {
    fn within(self, now: Timestamp) -> Result<Self, LevelConfigError> {
        let left = self.until.duration_since(now);
        let too_long = Duration::try_from(left).is_ok_and(|left| left > MAX_RAISE);
        if too_long { Err(LevelConfigError::TooLong(self.until)) } else { Ok(self) }
    }
}

impl FromStr for Raised {
    type Err = LevelConfigError;

    fn from_str(text: &str) -> Result<Self, LevelConfigError> {
        let (said, until) = text.split_once(" until ").ok_or(LevelConfigError::Raised)?;
        let level = level(said.trim()).ok_or(LevelConfigError::Level)?;
        Ok(Self { level, until: until.trim().parse().map_err(|_| LevelConfigError::Raised)? })
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} until {}", self.level, self.until)
    }
}

#[cfg(test)]
mod tests;
