//! Calls in process, from the bytes of a review to the bytes of the answer: without sockets, TLS and HTTP. Their instructions and
//! allocations are counted, which noise does not reach.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bench::review::{MIDDLE, Review, SMALL, Shape};
use bench::rules::{self, Rules};
use futures_util::FutureExt;
use vestibule::Operation::Create;
use vestibule::admission::{Handler, HandlerFuture, Hook, Outcome, Request, Review as Received};
use vestibule::patch::{Patch, View};
use vestibule::tooling::Environment;
use vestibule::{App, FailurePolicy, Rule, on_raw};
use vestibule_injector::{Configuration, Namespaces};

use crate::app::operations;

/// The names of all paths: of the injector, then of each kind of handler.
pub const ALL: [&str; 12] = [
    "injector",
    "injector, 92 KB",
    "injector, 50 rules that act",
    "injector, 50 rules for others",
    "injector, untouched",
    "framework",
    "framework, 92 KB",
    "handler",
    "raw",
    "typed",
    "typed, unchanged",
    "validating",
];

/// A hook and the review to call it with.
pub struct Path {
    hook: Hook,
    body: String,
}

impl Path {
    /// The path of this name.
    ///
    /// # Errors
    /// There is none, or the injector refuses its rules.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let one = Rules { acting: 1, others: 0 };
        let (app, hook, shape) = match name {
            "injector" => (injector(one)?, "best-effort", SMALL),
            "injector, 92 KB" => (injector(one)?, "best-effort", MIDDLE),
            "injector, 50 rules that act" => (injector(Rules { acting: 50, ..one })?, "best-effort", SMALL),
            "injector, 50 rules for others" => (injector(Rules { others: 50, ..one })?, "best-effort", SMALL),
            "injector, untouched" => (injector(one)?, "best-effort", Shape::OtherPod(8_000)),
            "framework" => (framework(SMALL)?, "ready", SMALL),
            "framework, 92 KB" => (framework(MIDDLE)?, "ready", MIDDLE),
            "handler" | "raw" | "typed" => (crate::app(), name, SMALL),
            "typed, unchanged" => (crate::app(), "allow", SMALL),
            "validating" => (crate::app(), "validate", SMALL),
            _ => bail!("no path {name}; there are {}", ALL.join("; ")),
        };
        let registered = app.hooks().iter().find(|registered| registered.entry.name == hook);
        let hook = registered.with_context(|| format!("no hook {hook}"))?.hook(&Environment::default());
        Ok(Self { hook, body: Review::new(shape)?.body })
    }

    /// One call; returns the bytes of its answer.
    ///
    /// # Errors
    /// The answer is none of a decision.
    pub fn call(&self) -> anyhow::Result<Vec<u8>> {
        let review = Received::parse(self.body.as_bytes())?;
        let deadline = Instant::now() + Duration::from_secs(10);
        // No handler of these waits for anything.
        let verdict =
            self.hook.decide(&review.request, deadline).now_or_never().context("the handler waits")?;
        let answer = self.hook.answer(&review, verdict);
        if answer.status != 200 {
            bail!("status {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        Ok(answer.body)
    }
}

/// A handler that answers each call with the same patch: everything else that is allocated or computed is the framework's.
struct Ready(Patch);

impl Handler for Ready {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        Box::pin(async { Outcome::Mutated(self.0.clone()).into() })
    }
}

fn framework(shape: Shape) -> anyhow::Result<App> {
    let body = Review::new(shape)?.body;
    let object = Received::parse(body.as_bytes())?.request.object.context("the review has no object")?;
    let patch = Patch::from(operations(View::of(object))?);
    let pods = on_raw([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Fail);
    Ok(App::new("bench").mutate_raw("ready", pods, Ready(patch)))
}

fn injector(rules: Rules) -> anyhow::Result<App> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("rules.yaml");
    fs::write(&file, rules::text(rules))?;
    let configuration = Configuration::from_paths(&[file], None).context("the rules")?;
    Ok(vestibule_injector::app(configuration, Namespaces::unknown())?)
}
