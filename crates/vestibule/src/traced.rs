//! A span around each call: lines that are logged in it say which call they are about, and tracing goes on from it.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;
use vestibule_admission::{Handler, HandlerFuture, Request};

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
    fn handle<'a>(&'a self, request: &'a Request<'a>, budget: Duration) -> HandlerFuture<'a> {
        let hook = &*self.hook;
        let trace_id = request.trace.filter(|trace| trace.parent.is_some()).map(|trace| trace.id());
        let span = tracing::info_span!(target: "vestibule::admission", "decide", hook, uid = short(&request.uid), trace_id);
        #[cfg(feature = "otel")]
        if let (Some(traces), Some(trace)) = (&self.traces, &request.trace) {
            traces.adopt(&span, trace);
        }
        let verdict = span.in_scope(|| self.handler.handle(request, budget));
        Box::pin(verdict.instrument(span))
    }
}

/// Whoever reaches the port may send what no API server would; a log line stays a line.
pub(crate) fn short(text: &str) -> &str {
    const LONGEST_NAME: usize = 253;
    text.char_indices().nth(LONGEST_NAME).map_or(text, |(end, _)| &text[..end])
}
