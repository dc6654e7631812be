//! Spans of calls, for a collector of OpenTelemetry.
//!
//! The parent of a call's span is the API server's span. Its id is known from the start of the call, so that the spans of
//! the handler's code and those of the server's stages become its children.

mod arguments;
mod collector;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor,
};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use vestibule::Options;
use vestibule::tooling::CallTraces;
use vestibule_admission::Trace;
use vestibule_server::{Converted, Decided, Observer};

use crate::CommandError;
use crate::logs::{self, BoxedLayer, ExtraLayers};
pub(crate) use arguments::TraceArguments;
use collector::Collector;

/// The time that the end of a process waits for its last spans.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// The spans of this process. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct Traces {
    spans: Spans,
    provider: SdkTracerProvider,
    scope: InstrumentationScope,
    /// The part of the calls without a trace that begins one: from 0 to 1.
    ratio: f64,
}

/// The queue of spans for the collector. When it is full, spans are dropped.
#[derive(Clone, Debug)]
struct Spans(Arc<BatchSpanProcessor>);

impl Traces {
    /// Spans are posted to `/v1/traces` of `endpoint`; without one, to the address in `OTEL_EXPORTER_OTLP_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`. Needs a Tokio runtime, on which the connections to the collector run.
    ///
    /// # Errors
    /// The collector's address, or a value of an `OTEL_` variable, cannot be used.
    fn new(endpoint: Option<&str>, ratio: f64, app: &str) -> Result<Self, ExporterBuildError> {
        let mut exporter = SpanExporter::builder().with_http().with_http_client(Collector::new());
        if let Some(endpoint) = endpoint {
            exporter = exporter.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        }
        let resource = resource(app);
        let mut spans = BatchSpanProcessor::builder(exporter.build()?).build();
        spans.set_resource(&resource);
        let spans = Spans(Arc::new(spans));
        // The spans of a handler are exported with its call; no other span begins a trace.
        let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOff));
        let provider = SdkTracerProvider::builder()
            .with_span_processor(spans.clone())
            .with_sampler(sampler)
            .with_resource(resource)
            .build();
        let version = env!("CARGO_PKG_VERSION");
        let scope = InstrumentationScope::builder("vestibule").with_version(version).build();
        Ok(Self { spans, provider, scope, ratio })
    }

    /// The layer that exports spans of `tracing`, the author's among them.
    fn layer(&self) -> BoxedLayer {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(self.scope.clone()))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            // Events are not exported: their fields are for readers of the log.
            .with_filter(logs::redacted(filter_fn(|metadata| !metadata.is_event())))
            .boxed()
    }

    fn context(&self, trace: &Trace, span: u64, is_remote: bool) -> SpanContext {
        let flags = if self.keeps(trace) { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        let (trace, span) = (TraceId::from(trace.trace), SpanId::from(span));
        SpanContext::new(trace, span, flags, is_remote, TraceState::NONE)
    }
}

impl CallTraces for Traces {
    fn adopt(&self, span: &tracing::Span, trace: &Trace) {
        let context = Context::new().with_remote_span_context(self.context(trace, trace.span, true));
        // A span that no layer records has no parent either.
        let _not_recorded = span.set_parent(context);
    }

    fn keeps(&self, trace: &Trace) -> bool {
        match trace.parent {
            Some(_) => trace.sampled,
            // The trace id is random, and every process that sees it decides alike.
            None => {
                ((trace.trace as u64) >> 1) as f64 <= self.ratio * (u64::MAX >> 1) as f64 && self.ratio > 0.0
            }
        }
    }
}

impl Observer for Traces {
    fn decided(&self, decided: &Decided<'_>) {
        if let Some(trace) = decided.request.trace.filter(|trace| self.keeps(trace)) {
            spans::of_decision(decided, &trace, self).into_iter().for_each(|span| self.spans.on_end(span));
        }
    }

    fn converted(&self, converted: &Converted<'_>) {
        if let Some(trace) = converted.request.trace.filter(|trace| self.keeps(trace)) {
            spans::of_conversion(converted, &trace, self)
                .into_iter()
                .for_each(|span| self.spans.on_end(span));
        }
    }
}

impl SpanProcessor for Spans {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }
}

/// The layers that export spans; none if no collector is named.
///
/// # Errors
/// The collector's address, or a value of an `OTEL_` variable, cannot be used.
pub(crate) fn layers(arguments: &TraceArguments, app: &str) -> Result<ExtraLayers, CommandError> {
    if !arguments.name_a_collector() {
        return Ok(ExtraLayers::new());
    }
    let traces = Traces::new(arguments.otlp_endpoint.as_deref(), arguments.trace_ratio, app);
    let traces = traces.map_err(|error| {
        CommandError::input(format_args!("spans cannot be sent: {error}; see --otlp-endpoint"))
    })?;
    Ok(vec![traces.layer(), logs::attached(traces)])
}

/// The attributes of this process; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override them.
fn resource(app: &str) -> Resource {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_the_pod = [("k8s.namespace.name", "POD_NAMESPACE"), ("k8s.pod.name", "HOSTNAME")];
    let of_the_pod = of_the_pod.map(|(key, name)| Some(KeyValue::new(key, variable(name)?)));
    Resource::builder_empty()
        .with_service_name(variable("OTEL_SERVICE_NAME").unwrap_or_else(|| app.to_owned()))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(of_the_pod.into_iter().flatten())
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())])
        .build()
}

/// Exports the calls that a server with these options answers, if spans are exported.
pub(crate) fn observe(options: &mut Options) {
    if let Some(traces) = logs::find::<Traces>() {
        options.observer = Some(Arc::new(traces.clone()));
        options.traces = Some(Arc::new(traces));
    }
}

/// Sends the last spans of this process for 5 s at most, without blocking the runtime.
pub(crate) async fn finish() {
    if let Some(traces) = logs::find::<Traces>() {
        let finish = move || traces.spans.0.shutdown_with_timeout(FINISH_TIMEOUT);
        let finished = tokio::task::spawn_blocking(finish).await;
        if let Ok(Err(error)) = finished {
            tracing::warn!(target: "vestibule::server", %error, "the last spans were not taken");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(ratio: f64) -> Traces {
        Traces::new(Some("http://127.0.0.1:9"), ratio, "demo").unwrap()
    }

    #[tokio::test]
    async fn the_caller_decides_about_sampling_or_else_the_ratio() {
        let header = |flags: &str| format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
        let (all, none) = (traces(1.0), traces(0.0));
        for (flags, kept) in [("01", true), ("00", false)] {
            let trace = Trace::continued(&header(flags), 7).unwrap();
            assert_eq!((all.keeps(&trace), none.keeps(&trace)), (kept, kept), "{flags}");
        }
        let half = traces(0.5);
        let begun =
            |number: u128| Trace::begun(number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835), 7);
        let kept = |traces: &Traces| (0..1000).filter(|number| traces.keeps(&begun(*number))).count();
        assert_eq!((kept(&all), kept(&none)), (1000, 0));
        assert!((400..600).contains(&kept(&half)), "{}", kept(&half));
    }

    #[tokio::test]
    async fn an_invalid_collector_address_is_refused() {
        assert!(Traces::new(Some("http://a b"), 1.0, "demo").is_err());
    }
}
