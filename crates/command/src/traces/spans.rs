//! The spans of a call: they hold names and words that are in the log too, and never a value of an object.

use std::borrow::Cow;
use std::time::{Instant, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};
use vestibule_admission::{Decision, Trace};
use vestibule_server::{Converted, Decided, Stage};

use super::Traces;
use vestibule::tooling::shorten;

/// The handler's own part: a span of its own, with everything in it.
const DECIDE: &str = "decide";

pub(super) fn of_decision(decided: &Decided<'_>, trace: &Trace, traces: &Traces) -> Vec<SpanData> {
    let request = decided.request;
    let mut attributes = vec![
        KeyValue::new("vestibule.hook", decided.hook.to_owned()),
        KeyValue::new("vestibule.uid", shorten(&request.uid).to_owned()),
        KeyValue::new("vestibule.kind", shorten(&request.kind.to_string()).to_owned()),
        KeyValue::new("vestibule.operation", request.operation.as_str()),
        KeyValue::new("vestibule.dry_run", request.dry_run),
    ];
    let names =
        [("vestibule.namespace", request.namespace.as_deref()), ("vestibule.name", request.name.as_deref())];
    attributes.extend(
        names.into_iter().filter_map(|(key, name)| Some(KeyValue::new(key, shorten(name?).to_owned()))),
    );
    if let Decision::Mutated(operations) = decided.decision {
        attributes.push(KeyValue::new("vestibule.operations", operations as i64));
    }
    let name = format!("{} {}", decided.hook_kind.verb(), decided.hook);
    let call = Call { name, decision: decided.decision, attributes };
    // The spans of a handler come from its own code.
    let stages = decided.stages.iter().filter(|stage| stage.what != DECIDE);
    call.spans(trace, traces, decided.stages, stages)
}

pub(super) fn of_conversion(converted: &Converted<'_>, trace: &Trace, traces: &Traces) -> Vec<SpanData> {
    let request = converted.request;
    let attributes = vec![
        KeyValue::new("vestibule.hook", converted.hook.to_owned()),
        KeyValue::new("vestibule.uid", shorten(&request.uid).to_owned()),
        KeyValue::new("vestibule.version", shorten(&request.desired_api_version).to_owned()),
        KeyValue::new("vestibule.objects", request.objects.len() as i64),
    ];
    let name = format!("convert {}", converted.hook);
    let call = Call { name, decision: converted.decision, attributes };
    call.spans(trace, traces, converted.stages, converted.stages.iter())
}

/// A call as a whole.
struct Call {
    name: String,
    decision: Decision,
    attributes: Vec<KeyValue>,
}

impl Call {
    /// The span of the call, from its first stage to its last, and the spans of its stages.
    fn spans<'s>(
        mut self,
        trace: &Trace,
        traces: &Traces,
        all: &[Stage],
        shown: impl Iterator<Item = &'s Stage>,
    ) -> Vec<SpanData> {
        self.attributes.push(KeyValue::new("vestibule.verdict", self.decision.as_str()));
        let status = match self.decision {
            Decision::Fault(kind) => {
                self.attributes.push(KeyValue::new("vestibule.reason", kind.as_str()));
                Status::error(kind.as_str())
            }
            _ => Status::Unset,
        };
        let (now, today) = (Instant::now(), SystemTime::now());
        let at = |moment: Instant| today - now.saturating_duration_since(moment);
        let span =
            |name: Cow<'static, str>, id: u64, parent: SpanId, began: Instant, ended: Instant| SpanData {
                span_context: traces.context(trace, id, false),
                parent_span_id: parent,
                parent_span_is_remote: false,
                span_kind: SpanKind::Internal,
                name,
                start_time: at(began),
                end_time: at(ended),
                attributes: Vec::new(),
                dropped_attributes_count: 0,
                events: SpanEvents::default(),
                links: SpanLinks::default(),
                status: Status::Unset,
                instrumentation_scope: traces.scope.clone(),
            };
        let end = |stage: &Stage| stage.began + stage.took;
        let mut spans = Vec::with_capacity(all.len() + 1);
        for stage in shown {
            let id = u64::from_be_bytes(RandomIdGenerator::default().new_span_id().to_bytes());
            spans.push(span(stage.what.into(), id, SpanId::from(trace.span), stage.began, end(stage)));
        }
        if let (Some(first), Some(last)) = (all.first(), all.last()) {
            let parent = trace.parent.map_or(SpanId::INVALID, SpanId::from);
            let whole = span(self.name.into(), trace.span, parent, first.began, end(last));
            spans.push(SpanData {
                parent_span_is_remote: trace.parent.is_some(),
                span_kind: SpanKind::Server,
                attributes: self.attributes,
                status,
                ..whole
            });
        }
        spans
    }
}
