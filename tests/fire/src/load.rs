//! Calls through every API server, at a steady rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::{Ledger, hook};

/// Dry-run creates of ConfigMaps, until this is stopped or dropped.
pub struct Load {
    servers: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Load {
    /// Begins: `rate` calls a second, in turn through each client. Three of four ask for a new connection.
    #[must_use]
    pub fn start(clients: Vec<Client>, namespace: &str, rate: u32, ledger: &Arc<Ledger>) -> Self {
        let share = rate.max(1) as f64 / clients.len().max(1) as f64;
        let mut servers = JoinSet::new();
        let (stop, stopped) = watch::channel(false);
        for (position, client) in clients.into_iter().enumerate() {
            let configmaps = Api::namespaced(client, namespace);
            servers.spawn(call_on((configmaps, position), share, Arc::clone(ledger), stopped.clone()));
        }
        Self { servers, stop }
    }

    /// Ends, when what is under way has been answered.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.servers.join_all().await;
    }
}

async fn call_on(
    (configmaps, position): (Api<ConfigMap>, usize),
    rate: f64,
    ledger: Arc<Ledger>,
    mut stopped: watch::Receiver<bool>,
) {
    const MOST: usize = 64;
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    // What a busy machine could not do in time is not made up for.
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
        let (configmaps, ledger) = (configmaps.clone(), Arc::clone(&ledger));
        let connection = if number % 4 == 3 { "keep" } else { "close" };
        calls.spawn(async move {
            let begun = Instant::now();
            let failure = call(&configmaps, connection).await.err();
            let failure = failure.map(|failure| format!("API server {position}, {connection}: {failure}"));
            ledger.called(begun.elapsed(), failure);
        });
    }
    while calls.join_next().await.is_some() {}
}

/// One call; it failed too if nobody answered it.
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

/// Without what differs from call to call.
fn plain(message: &str) -> String {
    let words = message.split_whitespace().map(|word| {
        let number = word.chars().filter(char::is_ascii_digit).count() > 4;
        if number { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
