//! The machine beneath this one, if it is a virtual one: what it takes of the processors' time is late for everybody here.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// Looks once a second at what is taken, until it is dropped.
pub struct Host {
    most: Arc<AtomicU64>,
    watching: JoinHandle<()>,
}

impl Host {
    /// Begins now. It needs a tokio runtime around it.
    #[must_use]
    pub fn watch() -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let watching = tokio::spawn(watch(Arc::clone(&most)));
        Self { most, watching }
    }

    /// The most that was taken within one second, in hundredths of all processors' time; 0 where nobody tells.
    #[must_use]
    pub fn took(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn watch(most: Arc<AtomicU64>) {
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = None;
    loop {
        second.tick().await;
        let Some(now) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(times) else { return };
        if let Some(before) = before.replace(now) {
            most.fetch_max(share(before, now), Ordering::Relaxed);
        }
    }
}

/// The processors' time since the machine came up, and what of it was taken ("steal" in proc_stat(5)).
fn times(stat: &str) -> Option<(u64, u64)> {
    let times = stat.lines().next()?.strip_prefix("cpu ")?;
    // What comes after these is a part of the first two.
    let times: Vec<u64> = times.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
    Some((times.iter().sum(), *times.get(7)?))
}

fn share(before: (u64, u64), now: (u64, u64)) -> u64 {
    let [all, taken] = [now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)];
    (taken * 100).checked_div(all).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_the_eighth_of_the_times() {
        let stat = |idle, taken| format!("cpu  10 0 5 {idle} 0 0 1 {taken} 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let [before, now] = [stat(100, 4), stat(250, 54)].map(|stat| times(&stat).unwrap());
        assert_eq!((before, now), ((120, 4), (320, 54)));
        assert_eq!((share(before, now), share(now, now)), (25, 0));
        assert!(times("cpu  1 2 3\n").is_none() && times("").is_none());
    }
}
