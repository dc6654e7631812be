//! Malformed reviews to served webhooks, over TLS on kept connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hostile::corpus;
use hostile::malformed::{Connection, Malformed, allowed};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use vestibule::Operation::{Connect, Create, Delete, Update};
use vestibule::identity::{Identity, Local};
use vestibule::{App, Change, Context, FailurePolicy, Options, Reject, deny, on};
use vestibule_admission::keys;
use vestibule_injector::Namespaces;
use vestibule_rules::RuleSet;

const NAME: &str = "hook.shop.svc";
/// A few seconds in an unoptimized build.
const SOME: usize = 1_000;

const RULES: &str = "
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: hostile}
spec:
  match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: corpus}}}
  pod: {labels: {seen: 'true'}}
  containerPatches:
  - select: {all: true}
    env: [{name: SEEN, value: 'true'}]
";

#[test]
fn malformed_reviews_get_a_one_line_error_or_a_review() {
    send(SOME, 7);
}

#[test]
#[ignore = "it takes half a minute; in release none may take long"]
fn ten_thousand_malformed_reviews() {
    send(10_000, 4711);
}

/// The limit of each answer.
const SLOWEST: Duration = Duration::from_millis(50);

/// A name, an app, and the paths of its hooks.
type Webhook = (&'static str, fn() -> App, &'static [&'static str]);

/// Sends `count` different reviews to the hooks in turn. A panic of a server thread fails the test even if the call was
/// answered.
fn send(count: usize, seed: u64) {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().name().is_some_and(|name| name.starts_with("served")) {
            PANICS.fetch_add(1, Ordering::SeqCst);
        }
        told(panic);
    }));
    let apps: [Webhook; 2] = [
        ("served-app", app, &["/mutate/label", "/validate/data", "/mutate/pods"]),
        ("served-injector", injector, &["/mutate/required", "/mutate/best-effort"]),
    ];
    let mut hooks = Vec::new();
    for (name, app, paths) in apps {
        let served = Served::start(name, app);
        hooks.extend(paths.iter().map(|path| (served.connect(), *path)));
    }
    let reviews = corpus("review").into_iter().map(|(_, body)| body);
    let (mut slowest, mut longest) = (Duration::ZERO, 0);
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for (number, body) in Malformed::new(reviews, seed).take(count).enumerate() {
        let hooks_count = hooks.len();
        let (connection, path) = &mut hooks[number % hooks_count];
        let began = Instant::now();
        let (status, answer) = connection.post(path, &body);
        if began.elapsed() > slowest {
            (slowest, longest) = (began.elapsed(), body.len());
        }
        *statuses.entry(status).or_default() += 1;
        if let Err(why) = allowed(&body, status, &answer) {
            let body = String::from_utf8_lossy(&body[..body.len().min(3000)]).into_owned();
            panic!("{path}: {why}\n{body}");
        }
    }
    println!("{count} reviews, by status {statuses:?}; the slowest took {slowest:?}, of {longest} bytes");
    // In an unoptimized build on a busy machine, the time says nothing about the server.
    assert!(cfg!(debug_assertions) || slowest < SLOWEST, "{slowest:?}");
    assert!(statuses[&200] > count / 50 && statuses[&400] > count / 50, "{statuses:?}");
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

fn app() -> App {
    async fn label(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
        object.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
        Ok(object)
    }
    async fn data(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
        let is_empty = change.object().is_some_and(|object| object.data.is_none());
        if is_empty { Err(deny("no data")) } else { Ok(()) }
    }
    async fn pods(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
        context.warn("seen");
        pod.metadata.annotations.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
        Ok(pod)
    }
    App::new("hostile")
        .mutate("label", on::<ConfigMap>([Create, Update]).failure_policy(FailurePolicy::Fail), label)
        .validate("data", on::<ConfigMap>([Create, Update, Delete]).failure_policy(FailurePolicy::Fail), data)
        .mutate("pods", on::<Pod>([Create, Update, Connect]).failure_policy(FailurePolicy::Fail), pods)
}

fn injector() -> App {
    let rules = RuleSet::load([("rules.yaml", RULES)], keys::schema("", "v1", "Pod"));
    let rules = rules.unwrap_or_else(|findings| panic!("{}", findings[0]));
    vestibule_injector::app(rules, Namespaces::labelled::<String, String>([])).unwrap()
}

/// A webhook on its own thread, which runs until the process ends.
struct Served {
    address: SocketAddr,
    bundle: Arc<str>,
}

impl Served {
    fn start(name: &str, app: fn() -> App) -> Self {
        let (tell, told) = mpsc::channel();
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let identity = Local::in_memory(&[NAME], SystemTime::now()).unwrap();
                let bundle = identity.ca_bundle().unwrap();
                let bound =
                    app().bind(Options::new(([127, 0, 0, 1], 0).into(), Arc::new(identity))).await.unwrap();
                tell.send(Self { address: bound.address(), bundle }).ok();
                bound.serve().await.unwrap();
            });
        };
        thread::Builder::new().name(name.to_owned()).spawn(serve).unwrap();
        told.recv().unwrap()
    }

    fn connect(&self) -> Connection {
        Connection::to(self.address, NAME, self.bundle.as_bytes())
    }
}
