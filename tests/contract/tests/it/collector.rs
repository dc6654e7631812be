//! A minimal OpenTelemetry collector that keeps the requests it receives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// Longer than any wait takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Collector {
    pub(crate) address: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    /// Starts a collector that runs until this process ends.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    while let Some(body) = take(&stream) {
                        kept.lock().unwrap().push(body);
                    }
                });
            }
        });
        Self { address, bodies }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.exports()
            .into_iter()
            .flat_map(|export| export.scope_spans)
            .flat_map(|scope| scope.spans)
            .collect()
    }

    /// The `service.name` of the exporter.
    pub(crate) fn service_name(&self) -> String {
        let resource = self.exports().into_iter().find_map(|export| export.resource).unwrap();
        let name = resource.attributes.into_iter().find(|attribute| attribute.key == "service.name").unwrap();
        format!("{:?}", name.value)
    }

    /// Whether a request contains these words.
    pub(crate) fn holds(&self, words: &str) -> bool {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().any(|body| body.windows(words.len()).any(|window| window == words.as_bytes()))
    }

    /// Waits until `is_it` holds for the received spans.
    pub(crate) async fn taken(&self, is_it: impl Fn(&[Span]) -> bool) {
        let began = Instant::now();
        while !is_it(&self.spans()) {
            assert!(began.elapsed() < TIMEOUT, "{:?}", self.spans());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn exports(&self) -> Vec<opentelemetry_proto::tonic::trace::v1::ResourceSpans> {
        let bodies = self.bodies.lock().unwrap();
        let decoded = bodies.iter().map(|body| ExportTraceServiceRequest::decode(&**body).unwrap());
        decoded.flat_map(|export| export.resource_spans).collect()
    }
}

/// Reads and answers the next request, and returns its body; `None` if the connection has ended.
fn take(mut stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("content-type", value)) => assert_eq!(value.trim(), "application/x-protobuf"),
            Some(_) => {}
        }
    }
    assert_eq!(first.trim(), "POST /v1/traces HTTP/1.1");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer.as_bytes()).ok()?;
    Some(body)
}
