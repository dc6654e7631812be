//! Which trace a request belongs to, and where its time went.

use std::time::{Duration, Instant};

use http::HeaderMap;
use vestibule_admission::Trace;

use crate::chance::chance;

const TRACEPARENT: &str = "traceparent";

/// One part of the way from a request to its answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Stage {
    /// `receive` the body, `decode` the review, `wait` for a handler to be free, `decide`, `check` the patch, `encode` the
    /// answer.
    pub what: &'static str,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
}

/// Stages as they go by, each from the end of the one before.
pub(crate) struct Stages {
    all: Vec<Stage>,
    last: Instant,
}

impl Stages {
    pub(crate) fn beginning(at: tokio::time::Instant) -> Self {
        Self { all: Vec::with_capacity(6), last: at.into_std() }
    }

    pub(crate) fn ended(&mut self, what: &'static str) {
        let now = tokio::time::Instant::now().into_std();
        self.all.push(Stage { what, began: self.last, took: now.duration_since(self.last) });
        self.last = now;
    }

    pub(crate) fn all(&self) -> &[Stage] {
        &self.all
    }
}

/// The caller's trace, or one that begins here.
pub(crate) fn trace(headers: &HeaderMap) -> Trace {
    let mut said = headers.get_all(TRACEPARENT).iter();
    let header = said.next().filter(|_| said.next().is_none()).and_then(|value| value.to_str().ok());
    let span = chance();
    let continued = header.and_then(|header| Trace::continued(header, span));
    continued.unwrap_or_else(|| Trace::begun(u128::from(chance()) << 64 | u128::from(chance()), span))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(headers: &[&str]) -> Trace {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(TRACEPARENT, header.parse().unwrap());
        }
        trace(&map)
    }

    #[test]
    fn a_trace_goes_on_or_begins() {
        assert_eq!(of(&[HEADER]).id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        for none in [&[] as &[&str], &["nonsense"], &[HEADER, HEADER]] {
            assert_eq!(of(none).parent, None);
        }
        assert_ne!(of(&[HEADER]).span, of(&[HEADER]).span);
        assert_ne!(of(&[]).trace, of(&[]).trace);
    }

    #[test]
    fn stages_follow_each_other() {
        let began = tokio::time::Instant::now();
        let mut stages = Stages::beginning(began);
        stages.ended("decode");
        stages.ended("decide");
        let [decode, decide] = stages.all() else { panic!("two") };
        assert_eq!((decode.began, decide.began), (began.into_std(), began.into_std() + decode.took));
    }
}
