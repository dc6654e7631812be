//! A span around each call: lines that are logged in it name the call, and an exporter of spans continues the caller's trace.

use std::sync::Arc;
use std::time::Instant;

use tracing::{Instrument, Span};
use vestibule_admission::{Handler, HandlerFuture, Request, Trace};

/// An exporter of spans, as far as calls need it ([`Options::traces`](crate::Options::traces)). `vestibule-command` has one
/// for OpenTelemetry.
pub trait CallTraces: Send + Sync + 'static {
    /// Makes `span`, the span of one call, a child of the span that the caller named in `trace`.
    fn adopt(&self, span: &Span, trace: &Trace);

    /// Whether the spans of `trace` are exported. The log then names the trace.
    fn keeps(&self, trace: &Trace) -> bool;
}

/// A handler whose calls are spans.
pub(crate) struct Traced {
    hook: String,
    handler: Arc<dyn Handler>,
    traces: Option<Arc<dyn CallTraces>>,
}

impl Traced {
    pub(crate) fn new(hook: &str, handler: Arc<dyn Handler>, traces: Option<Arc<dyn CallTraces>>) -> Self {
        Self { hook: hook.to_owned(), handler, traces }
    }
}

impl Handler for Traced {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        let hook = &*self.hook;
        let trace_id = trace_id(request.trace, self.traces.as_deref());
        let span = tracing::info_span!(
            target: "vestibule::admission", "decide", hook, uid = shorten(&request.uid), trace_id
        );
        if let (Some(traces), Some(trace)) = (&self.traces, &request.trace) {
            traces.adopt(&span, trace);
        }
        let verdict = span.in_scope(|| self.handler.handle(request, deadline));
        if span.is_disabled() {
            return verdict;
        }
        Box::pin(verdict.instrument(span))
    }
}

/// The id of a trace that the caller began, or whose spans are exported. Any other trace is stored nowhere.
pub(crate) fn trace_id(trace: Option<Trace>, traces: Option<&dyn CallTraces>) -> Option<String> {
    let is_kept = |trace: &Trace| traces.is_some_and(|traces| traces.keeps(trace));
    trace.filter(|trace| trace.parent.is_some() || is_kept(trace)).map(|trace| trace.id())
}

/// The first 253 bytes, the longest name of Kubernetes: a caller that is no API server may send longer ones, and they go to
/// the log.
pub fn shorten(text: &str) -> &str {
    const LONGEST_NAME: usize = 253;
    let end = (0..=text.len().min(LONGEST_NAME)).rfind(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn a_name_of_any_length_is_cut_between_characters_at_253_bytes() {
        let longest = "n".repeat(253);
        assert_eq!((shorten(""), shorten(&longest)), ("", &*longest));
        assert_eq!(shorten(&"n".repeat(1 << 20)), longest);
        // Of two bytes each: the 127th would end at 254.
        assert_eq!(shorten(&"é".repeat(1 << 19)), "é".repeat(126));
    }
}
