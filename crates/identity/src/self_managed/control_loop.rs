//! The main task, and the state that it shares with handshakes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use vestibule_pki::Leaf;
use vestibule_pki::ring::Moment;

use super::api_client::{ApiClient, Purpose};
use super::notices::Notifier;
use super::state::{Operation, State};
use super::watches::WatchEvent;
use crate::Observer;
use crate::time::unix_time;

/// The pause after a panic.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(1);

/// The state that the task and handshakes share. The lock is held for microseconds, never during I/O.
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    notifier: Mutex<Notifier>,
    /// Called without the lock, because it may ask for the status.
    observer: Option<Arc<dyn Observer>>,
    pub(super) presented: ArcSwapOption<Presented>,
    pub(super) is_ready: watch::Sender<bool>,
    pub(super) is_draining: watch::Sender<bool>,
}

pub(super) struct Presented {
    pub(super) leaf: Arc<Leaf>,
    /// From then on a handshake renews the leaf if the task did not.
    pub(super) overdue: Instant,
}

impl Shared {
    pub(super) fn new(state: State, notifier: Notifier, observer: Option<Arc<dyn Observer>>) -> Self {
        Self {
            state: Mutex::new(state),
            notifier: Mutex::new(notifier),
            observer,
            presented: ArcSwapOption::empty(),
            is_ready: watch::Sender::new(false),
            is_draining: watch::Sender::new(false),
        }
    }

    async fn drained(&self) {
        // The sender lives as long as `self`.
        let _ = self.is_draining.subscribe().wait_for(|draining| *draining).await;
    }

    pub(super) fn present(&self, leaf: &Arc<Leaf>, state: &State, now: Moment, at: Instant) {
        let overdue = at + state.overdue_in(now);
        self.presented.store(Some(Arc::new(Presented { leaf: Arc::clone(leaf), overdue })));
    }

    /// Changes the state, then sends its notices without the lock.
    pub(super) fn with_state<T>(&self, change: impl FnOnce(&mut State, Moment, Instant) -> T) -> T {
        let (outcome, notices) = {
            let (mut state, now) = (lock(&self.state), now());
            let outcome = change(&mut state, now, Instant::now());
            let ready = state.waiting_for(now).is_none();
            self.is_ready.send_if_modified(|is_ready| std::mem::replace(is_ready, ready) != ready);
            (outcome, std::mem::take(&mut state.notices))
        };
        for notice in notices {
            let event = notice.event.clone();
            lock(&self.notifier).send(notice);
            if let (Some(observer), Some(event)) = (&self.observer, event) {
                // The process's panic hook reports a panic of the observer; it must not stop the ring.
                let _ = catch_unwind(AssertUnwindSafe(|| observer.happened(&event)));
            }
        }
        outcome
    }
}

/// The main task.
pub(super) struct ControlLoop {
    shared: Arc<Shared>,
    api_client: ApiClient,
    inbox: mpsc::Receiver<WatchEvent>,
}

impl ControlLoop {
    pub(super) fn new(shared: Arc<Shared>, api_client: ApiClient, inbox: mpsc::Receiver<WatchEvent>) -> Self {
        Self { shared, api_client, inbox }
    }

    /// Never ends, also after a panic: otherwise the leaf would expire.
    pub(super) async fn run(mut self) {
        while AssertUnwindSafe(self.work()).catch_unwind().await.is_err() {
            tokio::time::sleep(PAUSE_AFTER_PANIC).await;
            self.shared.with_state(|state, _, _| state.reread_all());
        }
    }

    /// Performs one operation after the other, each decided on the latest state.
    async fn work(&mut self) {
        loop {
            while let Ok(event) = self.inbox.try_recv() {
                self.shared.with_state(|state, now, _| state.watch_event(event, now));
            }
            match self.shared.with_state(State::decide) {
                Some(operation) => self.perform(operation).await,
                None => self.wait().await,
            }
        }
    }

    async fn wait(&mut self) {
        let pause = self.shared.with_state(|state, _, at| state.pause(at));
        if let Ok(Some(event)) = tokio::time::timeout(pause, self.inbox.recv()).await {
            self.shared.with_state(|state, now, _| state.watch_event(event, now));
        }
    }

    async fn perform(&self, operation: Operation) {
        let (shared, api) = (&self.shared, &self.api_client);
        match operation {
            Operation::ReadRing => {
                let answer = api.read_ring().await;
                shared.with_state(|state, now, at| state.ring_answered(answer, now, at));
            }
            Operation::WriteRing(mut write) => {
                let object = std::mem::take(&mut *write.object);
                let answer = api.write_ring(object, write.creates).await;
                shared.with_state(|state, now, at| state.ring_write_answered(*write, answer, now, at));
            }
            Operation::ReadConfiguration(position) => {
                let answer = api.read_configuration(position).await;
                shared.with_state(|state, now, at| state.configuration_answered(position, answer, now, at));
            }
            Operation::Publish { position, patch, purpose } => {
                // A drain cancels a patch that is not sent yet, for example while it waits for a connection.
                let given_up = async {
                    match purpose {
                        Purpose::Objection => std::future::pending().await,
                        _ => shared.drained().await,
                    }
                };
                tokio::select! {
                    biased;
                    () = given_up => shared.with_state(|state, _, _| state.patch_given_up(position)),
                    answer = api.patch_configuration(position, &patch, purpose) => shared.with_state(|state, now, at| {
                        state.patch_answered((position, purpose), answer, now, at);
                    }),
                }
            }
            Operation::Present(leaf) => {
                shared.with_state(|state, now, at| shared.present(&leaf, state, now, at));
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn now() -> Moment {
    Moment(unix_time(SystemTime::now()).as_secs())
}
