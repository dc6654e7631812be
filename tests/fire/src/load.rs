//! Calls through every API server at a steady rate.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::{Counters, hook};

/// A load that runs until it is stopped or dropped.
pub struct Load {
    clients: JoinSet<()>,
    stop: watch::Sender<bool>,
}

/// Makes the call with this number, counted from 0, through a client; the error says how it failed.
type Call = Arc<dyn Fn(Client, u64) -> Answer + Send + Sync>;
type Answer = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

impl Load {
    /// Starts dry-run creates of ConfigMaps: `rate` calls a second, spread over the clients. Three of four use the hook that
    /// closes its connection.
    #[must_use]
    pub fn start(clients: Vec<Client>, namespace: &str, rate: u32, counters: &Arc<Counters>) -> Self {
        let namespace: Arc<str> = namespace.into();
        Self::of(clients, rate, counters, move |client, number| {
            let configmaps = Api::namespaced(client, &namespace);
            let connection = if number % 4 == 3 { "keep" } else { "close" };
            async move {
                let failure = call(&configmaps, connection).await;
                failure.map_err(|failure| format!("{connection}: {failure}"))
            }
        })
    }

    /// Starts `rate` invocations of `call` a second, spread over the clients.
    pub fn of<F>(
        clients: Vec<Client>,
        rate: u32,
        counters: &Arc<Counters>,
        call: impl Fn(Client, u64) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let share = f64::from(rate.max(1)) / clients.len().max(1) as f64;
        let call: Call = Arc::new(move |client, number| Box::pin(call(client, number)));
        let mut tasks = JoinSet::new();
        let (stop, stopped) = watch::channel(false);
        for (position, client) in clients.into_iter().enumerate() {
            let (call, counters) = (Arc::clone(&call), Arc::clone(counters));
            tasks.spawn(call_through((client, position), share, call, counters, stopped.clone()));
        }
        Self { clients: tasks, stop }
    }

    /// Stops the load, after calls in flight have been answered.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.clients.join_all().await;
    }
}

async fn call_through(
    (client, position): (Client, usize),
    rate: f64,
    call: Call,
    counters: Arc<Counters>,
    mut stopped: watch::Receiver<bool>,
) {
    const MOST: usize = 64;
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    // Calls that a busy machine could not send in time are skipped.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut calls = JoinSet::new();
    for number in 0_u64.. {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
        while calls.try_join_next().is_some() {}
        if calls.len() >= MOST {
            calls.join_next().await;
        }
        let (answer, counters) = (call(client.clone(), number), Arc::clone(&counters));
        calls.spawn(async move {
            let begun = Instant::now();
            let failure = answer.await.err().map(|failure| format!("client {position}, {failure}"));
            counters.record_call(begun.elapsed(), failure);
        });
    }
    while calls.join_next().await.is_some() {}
}

/// Makes one call. It has also failed if the webhook's annotation is missing.
async fn call(configmaps: &Api<ConfigMap>, connection: &str) -> Result<(), String> {
    let label = (hook::LABEL.to_owned(), connection.to_owned());
    let metadata = ObjectMeta {
        generate_name: Some("call-".to_owned()),
        labels: Some([label].into()),
        annotations: Some([("fire.vestibule.dev/asked".to_owned(), "true".to_owned())].into()),
        ..ObjectMeta::default()
    };
    let object = ConfigMap { metadata, ..ConfigMap::default() };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let made = configmaps.create(&dry_run, &object).await.map_err(|error| match error {
        kube::Error::Api(status) => plain(&status.message),
        other => plain(&other.to_string()),
    })?;
    let answered = made.metadata.annotations.is_some_and(|all| all.contains_key(hook::ANNOTATION));
    if answered { Ok(()) } else { Err("the webhook was not called".to_owned()) }
}

/// The message without numbers such as ports and times, so that equal failures are counted together.
fn plain(message: &str) -> String {
    let words = message.split_whitespace().map(|word| {
        let number = word.chars().filter(char::is_ascii_digit).count() > 4;
        if number { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
