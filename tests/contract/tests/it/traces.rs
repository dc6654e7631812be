//! A call is part of one trace, from the API server's span to the handler's spans.

use std::net::{Ipv4Addr, TcpListener};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};
use vestibule_caller::Review;

use crate::client::{Client, Reply};
use crate::collector::Collector;
use crate::process::Process;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Makes a call, with or without a `traceparent`.
async fn call(client: &mut Client, path: &str, traceparent: Option<&str>) -> Reply {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "demo"}});
    let review = Review::create(pod).namespace("demo").build().unwrap();
    let mut request = Request::post(path).header("content-type", "application/json");
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent);
    }
    client.send(request.body(Full::new(Bytes::from(review.body().to_vec()))).unwrap()).await
}

fn children<'s>(spans: &'s [Span], of: &Span) -> Vec<&'s Span> {
    let mut children: Vec<_> = spans.iter().filter(|span| span.parent_span_id == of.span_id).collect();
    children.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    children
}

fn names(spans: &[&Span]) -> Vec<String> {
    spans.iter().map(|span| span.name.clone()).collect()
}

#[tokio::test]
async fn the_trace_of_the_api_server_continues_in_spans_and_log_lines() {
    let collector = Collector::start();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.address), ("VESTIBULE_TRACE_RATIO", "0")];
    let server = Process::start(&["--drain-delay", "0s"], &variables);
    let mut client = Client::connect(&server).await;
    let traceparent = |flags: &str| format!("00-{TRACE}-{PARENT}-{flags}");
    // These traces are not sampled.
    assert_eq!(call(&mut client, "/mutate/fail", None).await.status, 500);
    assert_eq!(call(&mut client, "/mutate/fail", Some(&traceparent("00"))).await.status, 500);
    assert_eq!(call(&mut client, "/mutate/same", Some(&traceparent("01"))).await.status, 200);
    assert_eq!(call(&mut client, "/mutate/panic", Some(&traceparent("01"))).await.status, 500);

    // The remaining spans are exported at the end.
    drop(client);
    server.signal("-TERM");
    server.ended().await;
    let spans = collector.spans();
    assert_eq!(collector.service_name().matches("contract").count(), 1, "{}", collector.service_name());
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE), "{spans:?}");
    let calls: Vec<_> = spans.iter().filter(|span| span.kind == SpanKind::Server as i32).collect();
    assert_eq!(names(&calls), ["mutate same", "mutate panic"], "{spans:?}");
    assert!(calls.iter().all(|call| hex(&call.parent_span_id) == PARENT));

    let [same, panicked] = *calls else { panic!("two") };
    let stages = children(&spans, same);
    assert_eq!(names(&stages), ["receive", "decode", "wait", "decide", "check", "encode"]);
    let decide = stages.iter().find(|span| span.name == "decide").unwrap();
    let parts = children(&spans, decide);
    assert_eq!(names(&parts), ["match", "decode", "handle", "diff"]);
    assert_eq!(names(&children(&spans, parts[2])), ["price"], "an author's own span");
    for (part, whole) in
        stages.iter().map(|stage| (*stage, same)).chain(parts.iter().map(|part| (*part, *decide)))
    {
        // Two clocks are read one after the other, on a machine that may be busy.
        let slack = 1_000_000_000;
        assert!(part.start_time_unix_nano + slack >= whole.start_time_unix_nano, "{part:?} {whole:?}");
        assert!(part.end_time_unix_nano <= whole.end_time_unix_nano + slack, "{part:?} {whole:?}");
    }
    let status = panicked.status.as_ref().unwrap();
    assert_eq!((status.code, &*status.message), (2, "panic"));
    let says = |key: &str| {
        let value = same.attributes.iter().find(|attribute| attribute.key == key).unwrap();
        format!("{:?}", value.value)
    };
    for (key, value) in
        [("vestibule.verdict", "allowed"), ("vestibule.namespace", "demo"), ("vestibule.operation", "CREATE")]
    {
        assert!(says(key).contains(value), "{key}: {}", says(key));
    }

    let log = server.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines
        .filter(|line| ["decided", "priced"].contains(&line["message"].as_str().unwrap_or_default()))
        .collect();
    let ids = |message: &str, id: fn(&Value) -> &Value| -> Vec<Value> {
        lines.iter().filter(|line| line["message"] == message).map(|line| id(line).clone()).collect()
    };
    assert_eq!(
        ids("decided", |line| &line["trace_id"]),
        [&Value::Null, &json!(TRACE), &json!(TRACE), &json!(TRACE)].map(Clone::clone)
    );
    assert_eq!(ids("priced", |line| &line["spans"][0]["trace_id"]), [json!(TRACE)], "an author's own line");
}

/// A sampled trace that no caller started can be found by its log line.
#[tokio::test]
async fn a_sampled_trace_that_begins_in_the_webhook_is_named_in_the_log_line() {
    let collector = Collector::start();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.address)];
    let server = Process::start(&["--drain-delay", "0s", "--trace-ratio", "1"], &variables);
    let mut client = Client::connect(&server).await;
    assert_eq!(call(&mut client, "/mutate/same", None).await.status, 200);
    drop(client);
    server.signal("-TERM");
    server.ended().await;
    let spans = collector.spans();
    let kept: String = spans[0].trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let log = server.log();
    let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let decided = lines.find(|line| line["message"] == "decided").unwrap();
    assert_eq!(decided["trace_id"], json!(kept));
}

/// Calls do not wait for a collector that never answers or that is missing.
#[tokio::test]
async fn a_collector_that_fails_fails_no_call() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for endpoint in [&*silent, "https://127.0.0.1:9"] {
        let variables = [
            ("VESTIBULE_OTLP_ENDPOINT", endpoint),
            ("OTEL_BSP_SCHEDULE_DELAY", "1"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "8"),
        ];
        let server = Process::start(&["--drain-delay", "0s", "--trace-ratio", "1"], &variables);
        let mut client = Client::connect(&server).await;
        for _ in 0..50 {
            assert_eq!(call(&mut client, "/mutate/same", None).await.status, 200);
        }
        drop(client);
        server.signal("-TERM");
        assert!(server.ended().await.success());
    }
}
