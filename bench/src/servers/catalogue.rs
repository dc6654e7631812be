//! All servers.

use std::path::Path;

use super::{Arguments, Backend, Rules, Server};

/// The server that all others are compared with.
pub(crate) const FLOOR: &str = "floor";

/// Lines of the start, but none for a call.
const QUIET: &str = "warn";
/// As shipped.
const SHIPPED: &str = "info";

/// Every server, the floor first, then ours, then the peers. With a folder of other builds, ours stand there a second time.
pub(crate) fn all(baseline: Option<&Path>) -> Vec<Server> {
    let mut servers = ours();
    if let Some(folder) = baseline {
        for mut server in ours().into_iter().skip(1) {
            server.name += " baseline";
            server.backend.folder = Some(folder.to_owned());
            servers.push(server);
        }
    }
    servers.extend(peers());
    servers
}

/// The floor and Vestibule.
fn ours() -> Vec<Server> {
    let injector = |name, level, acting, others| {
        let rules = Rules { acting, others };
        server(name, backend("vestibule", Arguments::Injector { level, rules }), "/mutate/best-effort")
    };
    let webhook = |name, program, level, path| {
        server(name, backend(program, Arguments::Webhook { level, more: Vec::new() }), path)
    };
    vec![
        plain(FLOOR, "bench-floor", "/"),
        injector("injector", SHIPPED, 1, 0),
        injector("injector warn", QUIET, 1, 0),
        injector("injector 10 rules", QUIET, 1, 9),
        injector("injector 50 rules", QUIET, 1, 49),
        webhook("typed", "bench-webhook", QUIET, "/mutate/typed"),
        webhook("typed info", "bench-webhook", SHIPPED, "/mutate/typed"),
        webhook("typed jemalloc", "bench-webhook-jemalloc", QUIET, "/mutate/typed"),
        webhook("raw", "bench-webhook", QUIET, "/mutate/raw"),
        webhook("handler", "bench-webhook", QUIET, "/mutate/handler"),
    ]
}

/// What others write: the usual Rust stack, and the frameworks in Go.
fn peers() -> Vec<Server> {
    vec![
        plain("kube-rs", "bench-kube-rs", "/mutate"),
        plain("go net/http", "bench-go-http", "/mutate"),
        plain("controller-runtime", "bench-controller-runtime", "/mutate"),
        tuned("controller-runtime tuned", "bench-controller-runtime", "/mutate-by-hand"),
        plain("knative", "bench-knative", "/mutate"),
        tuned("knative tuned", "bench-knative", "/mutate"),
    ]
}

fn backend(program: &'static str, arguments: Arguments) -> Backend {
    Backend { program, folder: None, arguments, environment: Vec::new() }
}

fn server(name: &str, backend: Backend, path: &'static str) -> Server {
    Server { name: name.to_owned(), backend, path }
}

fn plain(name: &str, program: &'static str, path: &'static str) -> Server {
    server(name, backend(program, Arguments::Plain), path)
}

/// A peer with less garbage collection and without its log.
fn tuned(name: &str, program: &'static str, path: &'static str) -> Server {
    let environment = vec![("GOGC", "400"), ("BENCH_LOG", "warn")];
    server(name, Backend { environment, ..backend(program, Arguments::Plain) }, path)
}
