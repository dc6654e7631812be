//! The span around each call: log lines in it carry the hook and the uid, and it continues the trace of the API server.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;
use vestibule_admission::{Handler, HandlerFuture, Request, Trace};

/// Calls the handler in a span.
pub(crate) struct Traced {
    hook: String,
    handler: Arc<dyn Handler>,
    #[cfg(feature = "otel")]
    traces: Option<crate::traces::Traces>,
}

impl Traced {
    pub(crate) fn new(hook: &str, handler: Arc<dyn Handler>) -> Self {
        Self {
            hook: hook.to_owned(),
            handler,
            #[cfg(feature = "otel")]
            traces: crate::traces::Traces::of_this_process(),
        }
    }
}

impl Handler for Traced {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        let hook = &*self.hook;
        let trace_id = trace_id(request.trace);
        let span = tracing::info_span!(target: "vestibule::admission", "decide", hook, uid = short(&request.uid), trace_id);
        #[cfg(feature = "otel")]
        if let (Some(traces), Some(trace)) = (&self.traces, &request.trace) {
            traces.adopt(&span, trace);
        }
        let verdict = span.in_scope(|| self.handler.handle(request, deadline));
        Box::pin(verdict.instrument(span))
    }
}

/// The id of a trace that the caller started or whose spans go to a collector; [`None`] for other traces, which are stored nowhere.
pub(crate) fn trace_id(trace: Option<Trace>) -> Option<String> {
    trace.filter(|trace| trace.parent.is_some() || is_kept(trace)).map(|trace| trace.id())
}

#[cfg(feature = "otel")]
fn is_kept(trace: &Trace) -> bool {
    crate::traces::Traces::of_this_process().is_some_and(|traces| traces.keeps(trace))
}

#[cfg(not(feature = "otel"))]
fn is_kept(_: &Trace) -> bool {
    false
}

/// The first 253 bytes, the longest name that Kubernetes allows. Any client that reaches the port can send a longer text; the log
/// line stays short.
pub(crate) fn short(text: &str) -> &str {
    const LONGEST_NAME: usize = 253;
    let end = (0..=text.len().min(LONGEST_NAME)).rfind(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_name_of_any_length_is_cut_between_characters_at_253_bytes() {
        let longest = "n".repeat(253);
        assert_eq!((short(""), short(&longest)), ("", &*longest));
        assert_eq!(short(&"n".repeat(1 << 20)), longest);
        // Each character has two bytes: the 127th would end at 254.
        assert_eq!(short(&"é".repeat(1 << 19)), "é".repeat(126));
    }
}
