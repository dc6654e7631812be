//! The trace that a request belongs to, and the time that each stage of the pipeline took.

use std::time::{Duration, Instant};

use http::HeaderMap;
use vestibule_admission::Trace;

use crate::random::random;

const TRACEPARENT: &str = "traceparent";

/// One stage of the way from a request to its answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Stage {
    /// `receive` the body, `decode` the review, `wait` for the handler to begin, `decide`, `check` the patch, or `encode` the
    /// answer.
    pub what: &'static str,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
}

/// The stages that have ended; each begins at the end of the one before.
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

/// The trace of the `traceparent` header, or a new one.
pub(crate) fn trace_of(headers: &HeaderMap) -> Trace {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let header = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let span = random();
    let continued = header.and_then(|header| Trace::continued(header, span));
    continued.unwrap_or_else(|| Trace::begun(u128::from(random()) << 64 | u128::from(random()), span))
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
        trace_of(&map)
    }

    #[test]
    fn a_trace_is_continued_or_begun() {
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
