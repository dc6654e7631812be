//! A soak: replicas serve under load while certificates change.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use vestibule_testenv::{self as testenv, Environment};

use crate::{Case, Cluster, Load, Options, Replica, Report, Rotations, full_cluster, ring_checks, watch};

/// A running soak.
pub struct Soak<'e> {
    /// The objects around the replicas.
    pub cluster: Cluster<'e>,
    /// The running replicas.
    pub replicas: Vec<Replica>,
    /// Requests CA rotations.
    pub rotations: Rotations,
    options: Options,
    first_ready: Duration,
    begun: Instant,
    load: Option<Load>,
    resident: Vec<(u64, u64)>,
    _watches: JoinSet<()>,
}

/// Starts API servers and runs a soak. `program` is the replica; `say` gets progress lines.
///
/// # Errors
/// An API server or a replica does not start. Failed calls are in the report.
pub async fn soak(options: &Options, program: &Path, say: fn(&str)) -> anyhow::Result<Report> {
    let mut settings = testenv::Options::default();
    if options.api_servers > 1 {
        settings = settings.second_api_server();
    }
    say("starting API servers");
    let environment = Environment::start_with(&settings).await?;
    soak_in(&environment, options, program, say).await
}

async fn soak_in(
    environment: &Environment,
    options: &Options,
    program: &Path,
    say: fn(&str),
) -> anyhow::Result<Report> {
    let (period, lag) = (options.period(), Duration::from_secs(options.lag));
    ensure!(
        period > lag,
        "period {period:?} must exceed the lag: a cross-signed certificate covers one generation"
    );
    let mut notes = Vec::new();
    if options.case == Some(Case::Row36) {
        notes.extend(full_cluster::fill(environment, say).await?);
    }
    let mut soak = Soak::start(environment, program, options).await?;
    say(&format!("{} replicas ready after {:.1} s", options.replicas, soak.first_ready.as_secs_f64()));
    let watches = full_cluster::watches(environment).await?;
    soak.lag()?;
    soak.load()?;
    let mut problems = soak.run(say).await;
    let mut report = soak.finish().await;
    if options.case == Some(Case::Row36) {
        problems.extend(full_cluster::problems(&report, &watches));
    }
    problems.extend(ring_checks::problems(&report));
    let watches: Vec<_> = watches.iter().map(|(resource, count)| format!("{resource}: {count}")).collect();
    notes.push(("watches by name".to_owned(), watches.join(", ")));
    (report.notes, report.problems) = (notes, problems);
    Ok(report)
}

impl<'e> Soak<'e> {
    /// Registers the webhook, starts its replicas and waits until all are ready. No load runs yet.
    ///
    /// # Errors
    /// A replica does not start.
    pub async fn start(
        environment: &'e Environment,
        program: &Path,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let cluster = Cluster::prepare(environment, program, options).await?;
        let (views, watches) = watch::both(&cluster, options)?;
        let rotations = Rotations::new(cluster.secrets()?, cluster.secret(), views);
        let begun = Instant::now();
        let mut replicas = Vec::new();
        for _ in 0..options.replicas {
            replicas.push(cluster.start_replica().await?);
        }
        if let Err(error) = cluster.service().wait_for_replicas(replicas.len()).await {
            let logs: Vec<_> = replicas.iter().map(|replica| replica.child().log()).collect();
            bail!("{error}; the logs of the replicas:\n{}", logs.join("\n"));
        }
        Ok(Self {
            cluster,
            resident: vec![(u64::MAX, 0); replicas.len()],
            replicas,
            rotations,
            options: options.clone(),
            first_ready: begun.elapsed(),
            begun: Instant::now(),
            load: None,
            _watches: watches,
        })
    }

    /// Delays the watches of the second API server, if a lag was requested.
    ///
    /// # Errors
    /// There is no second API server.
    pub fn lag(&self) -> anyhow::Result<()> {
        if self.options.lag > 0 {
            let watches = self.cluster.environment().second_watches();
            watches.context("no second API server")?.delay(Duration::from_secs(self.options.lag));
        }
        Ok(())
    }

    /// Starts the load.
    ///
    /// # Errors
    /// No client can be made.
    pub fn load(&mut self) -> anyhow::Result<()> {
        let (clients, counters) = (self.cluster.clients()?, self.cluster.counters());
        self.begun = Instant::now();
        self.load = Some(Load::start(clients, self.cluster.target(), self.options.rate, counters));
        Ok(())
    }

    /// Rotates until the requested numbers are reached. Returns the problems.
    pub async fn run(&mut self, say: fn(&str)) -> Vec<String> {
        let limit = Duration::from_secs(self.options.minutes * 60);
        let mut problems = Vec::new();
        match timeout(limit.saturating_sub(self.begun.elapsed()), self.reach(say)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => problems.push(format!("{error:#}")),
            Err(_) => problems.push(format!("{} minutes were not enough", self.options.minutes)),
        }
        let ready = self.cluster.service().routed().len();
        if ready != self.replicas.len() {
            problems.push(format!("{ready} of {} replicas are ready in the end", self.replicas.len()));
        }
        problems
    }

    async fn reach(&mut self, say: fn(&str)) -> anyhow::Result<()> {
        let Options { rotations, leaf_renewals, .. } = self.options;
        let period = self.options.period();
        let patience = period * 3 + Duration::from_secs(30);
        while self.cluster.counters().read().rotations < rotations {
            self.rotate(period, patience).await?;
            self.rotations.settle(patience).await?;
            self.progress(say);
        }
        let mut last = Instant::now();
        while self.cluster.counters().read().renewals() < leaf_renewals {
            sleep(Duration::from_millis(100)).await;
            if last.elapsed() > Duration::from_secs(10) {
                last = Instant::now();
                self.progress(say);
            }
        }
        // The last change may still fail calls.
        sleep(Duration::from_secs(self.options.lag + 2)).await;
        Ok(())
    }

    /// Rotates the CA once, and returns when every replica has presented a leaf of the new CA.
    ///
    /// # Errors
    /// A step of the rotation takes longer than `patience`.
    pub async fn rotate(&mut self, period: Duration, patience: Duration) -> anyhow::Result<()> {
        let before = self.issuers();
        self.rotations.rotate(period, patience).await?;
        let begun = Instant::now();
        while self.issuers().iter().any(|issuer| issuer.is_none() || before.contains(issuer)) {
            if begun.elapsed() > patience {
                bail!("not every replica presents a leaf of the new CA within {patience:?}");
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Stops calls to a replica that was removed from [`Soak::replicas`] but still runs. Kept connections would still carry
    /// calls to it, so the CA is rotated: with another caBundle, API servers open new connections.
    ///
    /// # Errors
    /// The rotation that changes the bundle takes longer than `patience`.
    pub async fn abandon(&mut self, replica: &Replica, patience: Duration) -> anyhow::Result<()> {
        self.cluster.unroute(replica).await;
        self.rotate(Duration::ZERO, patience).await
    }

    /// The issuer of the last leaf of each replica.
    fn issuers(&self) -> Vec<Option<String>> {
        let counts = self.cluster.counters().read();
        let issuer = |replica: &Replica| counts.replicas.get(&replica.number())?.issuer.clone();
        self.replicas.iter().map(issuer).collect()
    }

    fn progress(&mut self, say: fn(&str)) {
        self.sample_memory();
        let counts = self.cluster.counters().read();
        say(&format!(
            "{:>6.0} s: {} rotations, {} renewals, {} calls, {} failed, {} failed handshakes, worst {} ms",
            self.begun.elapsed().as_secs_f64(),
            counts.rotations,
            counts.renewals(),
            counts.calls,
            counts.failed(),
            counts.failed_handshakes(),
            counts.worst.as_millis(),
        ));
    }

    fn sample_memory(&mut self) {
        for (replica, (least, most)) in self.replicas.iter().zip(&mut self.resident) {
            if let Some(now) = replica.resident() {
                (*least, *most) = ((*least).min(now), (*most).max(now));
            }
        }
    }

    /// Stops the load and returns the report.
    pub async fn finish(mut self) -> Report {
        self.sample_memory();
        let took = self.begun.elapsed();
        if let Some(load) = self.load.take() {
            load.stop().await;
        }
        let mut report = Report::new(self.options, self.cluster.counters().read());
        (report.took, report.first_ready, report.resident) = (took, self.first_ready, self.resident);
        report
    }
}
