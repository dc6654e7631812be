//! Writes of the rules, one after the other, while pods are created.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use http::StatusCode;
use tokio::time::sleep;

use super::replica::{self, Rules};
use super::scene::{Scene, configuration, until};
use super::{Figures, Made, Outcome, Period, judge, versions};
use crate::rig::{get, sum};
use crate::{Ledger, Load};

/// How long each version is left alone once it is in force.
const STAY: Duration = Duration::from_millis(100);
/// The ConfigMap of the switch.
const SWITCH: &str = "switch";

/// Pods are created, and what is written is noted.
pub struct Course<'s> {
    scene: &'s Scene,
    load: Load,
    ledger: Arc<Ledger>,
    pods: Arc<Mutex<Vec<Made>>>,
    periods: Vec<Period>,
    begun: Instant,
    written: usize,
    figures: Figures,
}

impl<'s> Course<'s> {
    /// Writes the first good version and begins to create pods, `rate` a second, once it is in force.
    ///
    /// # Errors
    /// It does not come into force.
    pub async fn begin(scene: &'s Scene, clients: Vec<kube::Client>, rate: u32) -> anyhow::Result<Self> {
        let (ledger, pods) = (Arc::<Ledger>::default(), Arc::<Mutex<Vec<Made>>>::default());
        let mut course = Self {
            scene,
            load: Load::of(Vec::new(), rate, &ledger, |_, _| async { Ok(()) }),
            ledger: Arc::clone(&ledger),
            pods: Arc::clone(&pods),
            periods: Vec::new(),
            begun: Instant::now(),
            written: 0,
            figures: Figures::default(),
        };
        course.good().await?;
        course.injected().await?;
        let shop = scene.shop.clone();
        course.load = Load::of(clients, rate, &ledger, move |client, _| {
            let (shop, pods) = (shop.clone(), Arc::clone(&pods));
            async move {
                let begun = Instant::now();
                let outcome = Scene::create(&client, &shop).await?;
                let made = Made { begun, ended: Instant::now(), outcome };
                pods.lock().unwrap_or_else(PoisonError::into_inner).push(made);
                Ok(())
            }
        });
        (course.begun, course.figures.versions) = (Instant::now(), 0);
        Ok(course)
    }

    /// A good version: it is in force, a moment later, everywhere.
    ///
    /// # Errors
    /// It is refused, or not in force.
    pub async fn good(&mut self) -> anyhow::Result<()> {
        let (text, name) = self.next(versions::good);
        let former = self.hashes().await?;
        let from = Instant::now();
        let (status, answer) = self.scene.write(&self.scene.config_map, &text, "").await?;
        ensure!(status.is_success(), "a good version is refused: {answer}");
        let hash = self.agreed(&former).await?;
        self.enter(Outcome::Whole { version: name, hash }, from);
        self.figures.versions += 1;
        self.figures.reload(from.elapsed());
        sleep(STAY).await;
        Ok(())
    }

    /// A bad version, which is refused to whoever applies it.
    ///
    /// # Errors
    /// It is not.
    pub async fn refused(&mut self) -> anyhow::Result<()> {
        let (text, _) = self.next(versions::bad);
        let (status, answer) = self.scene.write(&self.scene.config_map, &text, "").await?;
        ensure!(status == StatusCode::FORBIDDEN && answer.contains("VST"), "{status} {answer}:\n{text}");
        self.figures.refused += 1;
        sleep(STAY).await;
        Ok(())
    }

    /// A bad version that nobody judges: it is stored, every replica reads it, and none goes by it.
    ///
    /// # Errors
    /// It is refused, or in force.
    pub async fn stored(&mut self) -> anyhow::Result<()> {
        let (text, _) = self.next(versions::bad);
        let former = self.hashes().await?;
        let (status, answer) = self.scene.write(&self.scene.config_map, &text, "").await?;
        ensure!(status.is_success(), "a bad version is refused, and nobody was to judge it: {answer}");
        until("a bad version being noticed", async || {
            Ok(self.rules().await?.iter().all(|rules| rules.wrong))
        })
        .await?;
        ensure!(self.hashes().await? == former, "a bad version is in force:\n{text}");
        self.figures.stored += 1;
        sleep(STAY).await;
        Ok(())
    }

    /// From now on nobody judges ConfigMaps.
    ///
    /// # Errors
    /// The API server does not let go.
    pub async fn stop_judging(&mut self) -> anyhow::Result<()> {
        self.scene.delete(&configuration("validating")).await?;
        let (text, _) = self.next(versions::bad);
        until("a bad version being let through", async || {
            let (status, _) = self.scene.write(&self.scene.config_map, &text, "&dryRun=All").await?;
            Ok(status.is_success())
        })
        .await
    }

    /// `observe`, `off`, `on`, and the configurations deleted and applied again; each while pods are created.
    ///
    /// # Errors
    /// A switch does not do what it says.
    pub async fn switches(&mut self, stay: Duration) -> anyhow::Result<()> {
        let Some(Period { outcome: whole, .. }) = self.periods.last().cloned() else { bail!("no rules") };
        let from = self.mode("observe").await?;
        self.enter(Outcome::Bare, from);
        self.figures.time("observe in force everywhere", from.elapsed());
        let before = self.counts().await?;
        sleep(stay).await;
        let after = self.counts().await?;
        let (calls, observed) = (after.0 - before.0, after.1 - before.1);
        ensure!(calls > 0 && observed > 0, "{calls} calls, {observed} decisions reported under observe");
        self.figures.note(format!("observe: {calls} calls, {observed} decisions reported"));

        let from = self.mode("off").await?;
        self.enter(Outcome::Bare, from);
        self.figures.time("off in force everywhere", from.elapsed());
        until("the entries being gone", async || Ok(self.scene.entries("mutating").await? == 0)).await?;
        self.figures.time("off: entries gone", from.elapsed());
        self.quiet("off", from, stay).await?;

        let from = Instant::now();
        self.scene.delete(&format!("/api/v1/namespaces/{}/configmaps/{SWITCH}", self.scene.home)).await?;
        self.injected().await?;
        self.enter(whole.clone(), from);
        self.figures.time("on: injected again", from.elapsed());
        sleep(stay).await;

        let from = Instant::now();
        for kind in ["mutating", "validating"] {
            // One of them may be gone already.
            if self.scene.entries(kind).await? > 0 {
                self.scene.delete(&configuration(kind)).await?;
            }
        }
        until("nothing being injected", async || Ok(self.created(&Outcome::Bare).await?)).await?;
        self.enter(Outcome::Bare, from);
        self.figures.time("configurations deleted: nothing injected", from.elapsed());
        self.quiet("configurations deleted", from, stay).await?;

        let from = Instant::now();
        self.scene.apply_configurations().await?;
        self.injected().await?;
        self.enter(whole, from);
        self.figures.time("configurations applied: injected again", from.elapsed());
        sleep(stay).await;
        Ok(())
    }

    /// No more pods are created; what became of them.
    pub async fn end(self) -> Figures {
        self.load.stop().await;
        let mut figures = self.figures;
        let book = self.ledger.read();
        let pods = std::mem::take(&mut *self.pods.lock().unwrap_or_else(PoisonError::into_inner));
        figures.judgement = judge(&self.periods, &pods);
        (figures.took, figures.calls, figures.worst) = (self.begun.elapsed(), book.calls, book.worst);
        figures.failures = book.failures;
        figures
    }

    fn next(&mut self, text: fn(usize, &str) -> String) -> (String, String) {
        self.written += 1;
        (text(self.written, &self.scene.shop), format!("v{}", self.written))
    }

    fn enter(&mut self, outcome: Outcome, from: Instant) {
        self.periods.push(Period { outcome, from, settled: Instant::now() });
    }

    async fn rules(&self) -> anyhow::Result<Vec<Rules>> {
        let mut all = Vec::new();
        for replica in &self.scene.replicas {
            all.push(replica::rules(*replica).await?);
        }
        Ok(all)
    }

    async fn hashes(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.rules().await?.into_iter().map(|rules| rules.hash).collect())
    }

    /// The hash that all replicas have, none of `former`, and nothing wrong.
    async fn agreed(&self, former: &[String]) -> anyhow::Result<String> {
        let agreed = |rules: &[Rules]| {
            let first = rules.first().is_some_and(|first| !former.contains(&first.hash) && !first.wrong);
            first && rules.windows(2).all(|pair| pair.first() == pair.last())
        };
        until("rules being in force", async || Ok(agreed(&self.rules().await?))).await?;
        Ok(self.hashes().await?.swap_remove(0))
    }

    /// Writes the switch; since when.
    async fn mode(&self, mode: &str) -> anyhow::Result<Instant> {
        let former = self.hashes().await?;
        let from = Instant::now();
        let (status, answer) = self.scene.write(SWITCH, &versions::settings(mode), "").await?;
        ensure!(status.is_success(), "{mode} is refused: {answer}");
        self.agreed(&former).await?;
        Ok(from)
    }

    /// Nobody is called any longer, while pods are created.
    async fn quiet(&mut self, what: &str, from: Instant, stay: Duration) -> anyhow::Result<()> {
        const STILL: Duration = Duration::from_millis(500);
        let mut last = (self.calls().await?, Instant::now());
        while last.1.elapsed() < STILL {
            ensure!(from.elapsed() < super::scene::PATIENCE, "{what}: calls do not end");
            let calls = self.calls().await?;
            if calls != last.0 {
                last = (calls, Instant::now());
            }
            sleep(super::scene::PAUSE).await;
        }
        self.figures.time(&format!("{what}: the last call"), last.1 - from);
        let creates = self.ledger.read().calls;
        sleep(stay).await;
        let (calls, creates) = (self.calls().await? - last.0, self.ledger.read().calls - creates);
        ensure!(calls == 0 && creates > 0, "{what}: {calls} calls for {creates} creates");
        self.figures.note(format!("{what}: {calls} calls for {creates} creates"));
        Ok(())
    }

    async fn calls(&self) -> anyhow::Result<u64> {
        Ok(self.counts().await?.0)
    }

    /// Calls, and decisions that were reported only; those of a replica are of one moment.
    async fn counts(&self) -> anyhow::Result<(u64, u64)> {
        let mut counts = (0, 0);
        for replica in &self.scene.replicas {
            let metrics = get(*replica, "/metrics").await?;
            counts.0 += sum(&metrics, "vestibule_admission_requests_total", &["operation=\"CREATE\""]) as u64;
            counts.1 += sum(&metrics, "vestibule_injections_total", &["result=\"observed\""]) as u64;
        }
        Ok(counts)
    }

    /// Returns when pods are injected by the rules in force.
    async fn injected(&self) -> anyhow::Result<()> {
        let whole = self.periods.iter().rev().map(|period| &period.outcome);
        let whole = whole.into_iter().find(|outcome| **outcome != Outcome::Bare);
        let Some(whole) = whole else { bail!("no rules") };
        until("pods being injected", async || self.created(whole).await).await
    }

    /// Whether pods are so, several in a row.
    async fn created(&self, outcome: &Outcome) -> anyhow::Result<bool> {
        const IN_A_ROW: usize = 10;
        for _ in 0..IN_A_ROW {
            let made = Scene::create(&self.scene.admin, &self.scene.shop).await;
            match made {
                Ok(made) if made == *outcome => {}
                Ok(_) => return Ok(false),
                Err(failure) => bail!("a create failed: {failure}"),
            }
        }
        Ok(true)
    }
}
