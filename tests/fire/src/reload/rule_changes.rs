//! Writes of good and bad rule versions, one after the other, while pods are created.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use http::StatusCode;
use tokio::time::sleep;

use super::fixture::{InjectorFixture, configuration, until};
use super::replica::{self, Rules};
use super::{CreatedPod, Figures, Outcome, Period, check_pods, versions};
use crate::rig::{get, sum};
use crate::{Counters, Load};

/// The time for which each version stays in force.
const STAY: Duration = Duration::from_millis(100);
/// The ConfigMap that sets the mode.
const SWITCH: &str = "switch";

/// A load of pod creates, and the versions written during it.
pub struct RuleChanges<'s> {
    fixture: &'s InjectorFixture,
    load: Load,
    counters: Arc<Counters>,
    pods: Arc<Mutex<Vec<CreatedPod>>>,
    periods: Vec<Period>,
    begun: Instant,
    written: usize,
    figures: Figures,
}

impl<'s> RuleChanges<'s> {
    /// Writes the first good version, waits until it is in force, and starts to create `rate` pods a second.
    ///
    /// # Errors
    /// The version does not come into force.
    pub async fn begin(
        fixture: &'s InjectorFixture,
        clients: Vec<kube::Client>,
        rate: u32,
    ) -> anyhow::Result<Self> {
        let (counters, pods) = (Arc::<Counters>::default(), Arc::<Mutex<Vec<CreatedPod>>>::default());
        let mut changes = Self {
            fixture,
            load: Load::of(Vec::new(), rate, &counters, |_, _| async { Ok(()) }),
            counters: Arc::clone(&counters),
            pods: Arc::clone(&pods),
            periods: Vec::new(),
            begun: Instant::now(),
            written: 0,
            figures: Figures::default(),
        };
        changes.write_good().await?;
        changes.injected().await?;
        let pod_namespace = fixture.pod_namespace.clone();
        changes.load = Load::of(clients, rate, &counters, move |client, _| {
            let (pod_namespace, pods) = (pod_namespace.clone(), Arc::clone(&pods));
            async move {
                let begun = Instant::now();
                let outcome = InjectorFixture::create(&client, &pod_namespace).await?;
                let made = CreatedPod { begun, ended: Instant::now(), outcome };
                pods.lock().unwrap_or_else(PoisonError::into_inner).push(made);
                Ok(())
            }
        });
        (changes.begun, changes.figures.versions) = (Instant::now(), 0);
        Ok(changes)
    }

    /// Writes a good version and waits until it is in force at all replicas.
    ///
    /// # Errors
    /// The version is refused, or does not come into force.
    pub async fn write_good(&mut self) -> anyhow::Result<()> {
        let (text, name) = self.next(versions::good);
        let former = self.hashes().await?;
        let from = Instant::now();
        let (status, answer) = self.fixture.write(&self.fixture.config_map, &text, "").await?;
        ensure!(status.is_success(), "a good version is refused: {answer}");
        let hash = self.agreed(&former).await?;
        self.start_period(Outcome::Injected { version: name, hash }, from);
        self.figures.versions += 1;
        self.figures.reload(from.elapsed());
        sleep(STAY).await;
        Ok(())
    }

    /// Writes a bad version, which the validating webhook must refuse.
    ///
    /// # Errors
    /// The version is not refused.
    pub async fn write_refused(&mut self) -> anyhow::Result<()> {
        let (text, _) = self.next(versions::bad);
        let (status, answer) = self.fixture.write(&self.fixture.config_map, &text, "").await?;
        ensure!(status == StatusCode::FORBIDDEN && answer.contains("VST"), "{status} {answer}:\n{text}");
        self.figures.refused += 1;
        sleep(STAY).await;
        Ok(())
    }

    /// Writes a bad version without validation: it is stored, every replica reports it, and none puts it in force.
    ///
    /// # Errors
    /// The version is refused, or in force.
    pub async fn write_stored(&mut self) -> anyhow::Result<()> {
        let (text, _) = self.next(versions::bad);
        let former = self.hashes().await?;
        let (status, answer) = self.fixture.write(&self.fixture.config_map, &text, "").await?;
        ensure!(status.is_success(), "a bad version is refused although validation is off: {answer}");
        until("a bad version being noticed", async || {
            Ok(self.rules().await?.iter().all(|rules| rules.wrong))
        })
        .await?;
        ensure!(self.hashes().await? == former, "a bad version is in force:\n{text}");
        self.figures.stored += 1;
        sleep(STAY).await;
        Ok(())
    }

    /// Deletes the validating webhook configuration, and waits until the API server stops calling it.
    ///
    /// # Errors
    /// The API server still calls the validating webhook.
    pub async fn stop_validation(&mut self) -> anyhow::Result<()> {
        self.fixture.delete(&configuration("validating")).await?;
        let (text, _) = self.next(versions::bad);
        until("a bad version being let through", async || {
            let (status, _) = self.fixture.write(&self.fixture.config_map, &text, "&dryRun=All").await?;
            Ok(status.is_success())
        })
        .await
    }

    /// Sets the modes `observe`, `off` and `on`, and deletes and applies the configurations, while pods are created.
    ///
    /// # Errors
    /// A mode does not have its effect.
    pub async fn switch_modes(&mut self, stay: Duration) -> anyhow::Result<()> {
        let Some(Period { outcome: injected, .. }) = self.periods.last().cloned() else { bail!("no rules") };
        let from = self.mode("observe").await?;
        self.start_period(Outcome::NotInjected, from);
        self.figures.time("observe in force everywhere", from.elapsed());
        let before = self.counts().await?;
        sleep(stay).await;
        let after = self.counts().await?;
        let (calls, observed) = (after.0 - before.0, after.1 - before.1);
        ensure!(calls > 0 && observed > 0, "{calls} calls, {observed} decisions reported under observe");
        self.figures.note(format!("observe: {calls} calls, {observed} decisions reported"));

        let from = self.mode("off").await?;
        self.start_period(Outcome::NotInjected, from);
        self.figures.time("off in force everywhere", from.elapsed());
        until("the entries being gone", async || Ok(self.fixture.entries("mutating").await? == 0)).await?;
        self.figures.time("off: entries gone", from.elapsed());
        self.assert_no_calls("off", from, stay).await?;

        let from = Instant::now();
        self.fixture.delete(&format!("/api/v1/namespaces/{}/configmaps/{SWITCH}", self.fixture.home)).await?;
        self.injected().await?;
        self.start_period(injected.clone(), from);
        self.figures.time("on: injected again", from.elapsed());
        sleep(stay).await;

        let from = Instant::now();
        for kind in ["mutating", "validating"] {
            // The validating configuration may be deleted already.
            if self.fixture.entries(kind).await? > 0 {
                self.fixture.delete(&configuration(kind)).await?;
            }
        }
        until("nothing being injected", async || Ok(self.created(&Outcome::NotInjected).await?)).await?;
        self.start_period(Outcome::NotInjected, from);
        self.figures.time("configurations deleted: nothing injected", from.elapsed());
        self.assert_no_calls("configurations deleted", from, stay).await?;

        let from = Instant::now();
        self.fixture.apply_configurations().await?;
        self.injected().await?;
        self.start_period(injected, from);
        self.figures.time("configurations applied: injected again", from.elapsed());
        sleep(stay).await;
        Ok(())
    }

    /// Stops the load, checks the pods and returns the figures.
    pub async fn end(self) -> Figures {
        self.load.stop().await;
        let mut figures = self.figures;
        let counts = self.counters.read();
        let pods = std::mem::take(&mut *self.pods.lock().unwrap_or_else(PoisonError::into_inner));
        figures.checks = check_pods(&self.periods, &pods);
        (figures.took, figures.calls, figures.worst) = (self.begun.elapsed(), counts.calls, counts.worst);
        figures.failures = counts.failures;
        figures
    }

    fn next(&mut self, text: fn(usize, &str) -> String) -> (String, String) {
        self.written += 1;
        (text(self.written, &self.fixture.pod_namespace), format!("v{}", self.written))
    }

    fn start_period(&mut self, outcome: Outcome, from: Instant) {
        self.periods.push(Period { outcome, from, settled: Instant::now() });
    }

    async fn rules(&self) -> anyhow::Result<Vec<Rules>> {
        let mut all = Vec::new();
        for replica in &self.fixture.replicas {
            all.push(replica::rules(*replica).await?);
        }
        Ok(all)
    }

    async fn hashes(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.rules().await?.into_iter().map(|rules| rules.hash).collect())
    }

    /// Waits until all replicas have the same new hash and no errors; returns the hash.
    async fn agreed(&self, former: &[String]) -> anyhow::Result<String> {
        let agreed = |rules: &[Rules]| {
            let first = rules.first().is_some_and(|first| !former.contains(&first.hash) && !first.wrong);
            first && rules.windows(2).all(|pair| pair.first() == pair.last())
        };
        until("rules being in force", async || Ok(agreed(&self.rules().await?))).await?;
        Ok(self.hashes().await?.swap_remove(0))
    }

    /// Sets the mode and waits until it is in force; returns the time of the write.
    async fn mode(&self, mode: &str) -> anyhow::Result<Instant> {
        let former = self.hashes().await?;
        let from = Instant::now();
        let (status, answer) = self.fixture.write(SWITCH, &versions::settings(mode), "").await?;
        ensure!(status.is_success(), "{mode} is refused: {answer}");
        self.agreed(&former).await?;
        Ok(from)
    }

    /// Checks that calls end, and that the webhook gets none while pods are created.
    async fn assert_no_calls(&mut self, what: &str, from: Instant, stay: Duration) -> anyhow::Result<()> {
        const STILL: Duration = Duration::from_millis(500);
        let mut last = (self.calls().await?, Instant::now());
        while last.1.elapsed() < STILL {
            ensure!(from.elapsed() < super::fixture::PATIENCE, "{what}: calls do not end");
            let calls = self.calls().await?;
            if calls != last.0 {
                last = (calls, Instant::now());
            }
            sleep(super::fixture::PAUSE).await;
        }
        self.figures.time(&format!("{what}: the last call"), last.1 - from);
        let creates = self.counters.read().calls;
        sleep(stay).await;
        let (calls, creates) = (self.calls().await? - last.0, self.counters.read().calls - creates);
        ensure!(calls == 0 && creates > 0, "{what}: {calls} calls for {creates} creates");
        self.figures.note(format!("{what}: {calls} calls for {creates} creates"));
        Ok(())
    }

    async fn calls(&self) -> anyhow::Result<u64> {
        Ok(self.counts().await?.0)
    }

    /// The number of calls, and of decisions under `observe`, summed over the replicas.
    async fn counts(&self) -> anyhow::Result<(u64, u64)> {
        let mut counts = (0, 0);
        for replica in &self.fixture.replicas {
            let metrics = get(*replica, "/metrics").await?;
            counts.0 += sum(&metrics, "vestibule_admission_requests_total", &["operation=\"CREATE\""]) as u64;
            counts.1 += sum(&metrics, "vestibule_injections_total", &["result=\"observed\""]) as u64;
        }
        Ok(counts)
    }

    /// Waits until pods are injected by the rules in force.
    async fn injected(&self) -> anyhow::Result<()> {
        let injected = self.periods.iter().rev().map(|period| &period.outcome);
        let injected = injected.into_iter().find(|outcome| **outcome != Outcome::NotInjected);
        let Some(injected) = injected else { bail!("no rules") };
        until("pods being injected", async || self.created(injected).await).await
    }

    /// Whether ten created pods in a row have this outcome.
    async fn created(&self, outcome: &Outcome) -> anyhow::Result<bool> {
        const IN_A_ROW: usize = 10;
        for _ in 0..IN_A_ROW {
            let made = InjectorFixture::create(&self.fixture.admin, &self.fixture.pod_namespace).await;
            match made {
                Ok(made) if made == *outcome => {}
                Ok(_) => return Ok(false),
                Err(failure) => bail!("a create failed: {failure}"),
            }
        }
        Ok(true)
    }
}
