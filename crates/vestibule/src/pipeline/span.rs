//! A span around each call: lines that are logged in it say which call they are about, and tracing goes on from it.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;
use vestibule_admission::{Handler, HandlerFuture, Request, Trace};

/// A handler whose calls are spans.
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

/// Of traces that others know: that of whoever called, or one whose spans a collector has. Nobody else will search for it.
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

/// The first 253 bytes, which is as long as a name may be. Whoever reaches the port may send what no API server would; a
/// line of the log stays one.
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
        // Of two bytes each: the 127th would end at 254.
        assert_eq!(short(&"é".repeat(1 << 19)), "é".repeat(126));
    }
}
