//! All servers, by what they are asked to do.

use std::path::Path;

use bench::rules::Rules;

use super::{Arguments, Backend, Server};

/// The server that all others are compared with.
pub(crate) const FLOOR: &str = "floor";
/// The servers by which the goals are judged.
pub(crate) const INJECTOR: &str = "injector";
pub(crate) const INJECTOR_WARN: &str = "injector warn";
pub(crate) const TYPED: &str = "typed";
pub(crate) const PEERS: [&str; 2] = ["controller-runtime", "knative"];

/// Lines of the start, but none for a call.
const QUIET: &str = "warn";
/// As shipped.
const SHIPPED: &str = "info";

const MUTATE: &str = "/mutate";
const VALIDATE: &str = "/validate";
const INJECT: &str = "/mutate/best-effort";
const WEBHOOK: &str = "bench-webhook";

/// Every server that adds a sidecar to Pods: the floor first, then ours, then the peers. With a folder of other builds, ours stand
/// there a second time.
pub(crate) fn mutating(baseline: Option<&Path>) -> Vec<Server> {
    let ours = || {
        vec![
            injector(INJECTOR, SHIPPED, 1, 0),
            injector(INJECTOR_WARN, QUIET, 1, 0),
            injector("injector 10 rules", QUIET, 1, 9),
            injector("injector 50 rules", QUIET, 1, 49),
            webhook(TYPED, QUIET, "/mutate/typed"),
            webhook("typed info", SHIPPED, "/mutate/typed"),
            with_jemalloc("typed jemalloc", "/mutate/typed"),
            webhook("raw", QUIET, "/mutate/raw"),
            webhook("handler", QUIET, "/mutate/handler"),
        ]
    };
    let peers = vec![
        plain("kube-rs", "bench-kube-rs", MUTATE),
        plain("go net/http", "bench-go-http", MUTATE),
        plain("controller-runtime", "bench-controller-runtime", MUTATE),
        tuned("controller-runtime tuned", "bench-controller-runtime", "/mutate-by-hand"),
        plain("knative", "bench-knative", MUTATE),
        tuned("knative tuned", "bench-knative", MUTATE),
    ];
    all(&ours, baseline, peers)
}

/// Servers that allow every Pod as it is.
pub(crate) fn allowing(baseline: Option<&Path>) -> Vec<Server> {
    let ours = || {
        vec![
            injector(INJECTOR, SHIPPED, 1, 0),
            injector(INJECTOR_WARN, QUIET, 1, 0),
            injector("injector 50 rules", QUIET, 1, 49),
            webhook("typed unchanged", QUIET, "/mutate/allow"),
            webhook("typed validating", QUIET, "/validate/validate"),
        ]
    };
    let peers = vec![
        plain("kube-rs", "bench-kube-rs", VALIDATE),
        plain("go net/http", "bench-go-http", VALIDATE),
        plain("controller-runtime", "bench-controller-runtime", VALIDATE),
        plain("knative", "bench-knative", VALIDATE),
    ];
    all(&ours, baseline, peers)
}

/// Servers that deny every Pod with a message.
pub(crate) fn denying(baseline: Option<&Path>) -> Vec<Server> {
    let ours = || vec![webhook("typed validating", QUIET, "/validate/deny")];
    let peers = vec![
        plain("kube-rs", "bench-kube-rs", "/deny"),
        plain("go net/http", "bench-go-http", "/deny"),
        plain("controller-runtime", "bench-controller-runtime", "/deny"),
    ];
    all(&ours, baseline, peers)
}

/// Servers that add a sidecar to the template of a Deployment.
pub(crate) fn of_deployments(baseline: Option<&Path>) -> Vec<Server> {
    let ours = || vec![injector(INJECTOR_WARN, QUIET, 1, 0), webhook(TYPED, QUIET, "/mutate/deployment")];
    all(&ours, baseline, Vec::new())
}

/// Servers that compute for 1 ms and change nothing.
pub(crate) fn working() -> Vec<Server> {
    vec![
        webhook(TYPED, QUIET, "/mutate/work"),
        plain("controller-runtime", "bench-controller-runtime", "/work"),
    ]
}

/// The injector with these rules, and with no line for a call.
pub(crate) fn injector_of(rules: Rules) -> Server {
    injector(INJECTOR_WARN, QUIET, rules.acting, rules.others)
}

/// The injector that writes a profile.
pub(crate) fn training() -> Server {
    server("training", backend("vestibule", Arguments::Examples), INJECT)
}

pub(crate) fn floor() -> Server {
    plain(FLOOR, "bench-floor", "/")
}

fn all(ours: &dyn Fn() -> Vec<Server>, baseline: Option<&Path>, peers: Vec<Server>) -> Vec<Server> {
    let mut servers = vec![floor()];
    servers.extend(ours());
    if let Some(folder) = baseline {
        servers.extend(ours().into_iter().map(|mut server| {
            server.name += " baseline";
            server.backend.folder = Some(folder.to_owned());
            server
        }));
    }
    servers.extend(peers);
    servers
}

fn injector(name: &str, level: &'static str, acting: usize, others: usize) -> Server {
    let rules = Rules { acting, others };
    server(name, backend("vestibule", Arguments::Injector { level, rules }), INJECT)
}

fn webhook(name: &str, level: &'static str, path: &'static str) -> Server {
    server(name, backend(WEBHOOK, Arguments::Webhook { level, more: Vec::new() }), path)
}

fn with_jemalloc(name: &str, path: &'static str) -> Server {
    let arguments = Arguments::Webhook { level: QUIET, more: Vec::new() };
    server(name, backend("bench-webhook-jemalloc", arguments), path)
}

fn plain(name: &str, program: &'static str, path: &'static str) -> Server {
    server(name, backend(program, Arguments::Plain), path)
}

/// A peer with less garbage collection and without its log.
fn tuned(name: &str, program: &'static str, path: &'static str) -> Server {
    let environment = vec![("GOGC", "400"), ("BENCH_LOG", "warn")];
    server(name, Backend { environment, ..backend(program, Arguments::Plain) }, path)
}

fn backend(program: &'static str, arguments: Arguments) -> Backend {
    Backend { program, folder: None, arguments, environment: Vec::new() }
}

fn server(name: &str, backend: Backend, path: &'static str) -> Server {
    Server { name: name.to_owned(), backend, path }
}
