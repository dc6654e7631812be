//! `docs/how-to/watch.md`: probes, metrics and spans of the program that the page starts.

use std::path::Path;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::Span;

use super::{ROOT, compare, folder, is_there, run_in};
use crate::collector::Collector;
use crate::served::{Server, get};

const PAGE: &str = "docs/how-to/watch.md";
/// The addresses on the page, in whose place the test uses free ones.
const HTTPS: &str = "127.0.0.1:10250";
const PLAIN: &str = "127.0.0.1:9090";
const COLLECTOR: &str = "http://127.0.0.1:4318";

#[tokio::test]
async fn the_page_about_watching_shows_real_output() {
    if !is_there("curl") {
        return vestibule_testenv::leave_out("there is no `curl` in PATH");
    }
    let page = std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap();
    let (folder, collector) = (folder(&["deploy", "examples"]), Collector::start());
    let (_, typed) = page.split_once("$ vestibule serve ").unwrap();
    let typed = typed.split_once("\n```").unwrap().0.replace("\\\n", " ");
    let mut arguments = format!("serve {typed}").replace(HTTPS, "127.0.0.1:0").replace(PLAIN, "127.0.0.1:0");
    let help = folder.run("serve --help").stdout();
    let traces = help.contains("--otlp-endpoint");
    if traces {
        arguments = arguments.replace(COLLECTOR, &collector.address);
    } else {
        vestibule_testenv::leave_out_part("the trace: this build has no feature `otel`");
        arguments = arguments.replace(&format!("--otlp-endpoint {COLLECTOR}"), "");
    }
    let server = Server::spawn(folder.command(&arguments).env("OTEL_BSP_SCHEDULE_DELAY", "100"));
    let end = Instant::now() + Duration::from_secs(60);
    while !get(&server, "/readyz").starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < end, "{}", get(&server, "/readyz?verbose"));
    }

    let addresses =
        [HTTPS, PLAIN].into_iter().zip(["address", "probes"].map(|which| server.address(which).to_string()));
    let addresses: Vec<_> = addresses.collect();
    let here = addresses.iter().fold(page.clone(), |page, (written, here)| page.replace(written, here));
    let now = run_in(&folder, &here);
    let mut now = addresses.iter().fold(now, |now, (written, here)| now.replace(here, written));
    if traces {
        collector.taken(|spans| spans.iter().any(|span| span.name.starts_with("mutate "))).await;
        assert!(collector.service_name().contains("\"injector\""), "{}", collector.service_name());
        assert!(!collector.holds("helloworld-go"), "a value of the object is in a span");
        let (before, after) = now.split_once("```text spans\n").unwrap();
        let (_, after) = after.split_once("```").unwrap();
        let tree = tree(&collector.spans(), &PARENT, 0);
        now = format!("{before}```text spans\n{tree}```{after}");
    }
    if timeless(&page) != timeless(&now) {
        compare(PAGE, &page, &now);
    }
}

/// The API server's span, by the page's `traceparent`.
const PARENT: [u8; 8] = [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7];

/// The spans below `parent`, in the order of their start.
fn tree(spans: &[Span], parent: &[u8], depth: usize) -> String {
    let mut children: Vec<_> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
    children.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    let line = |span: &&Span| {
        format!("{:1$}{2}\n", "", 2 * depth, span.name) + &tree(spans, &span.span_id, depth + 1)
    };
    children.iter().map(line).collect()
}

/// The text without the times of conditions.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.split_once(" since ") {
        Some((condition, _)) if line.starts_with('[') => condition.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
