//! Samples of CPU time, to find the time that the host of a virtual machine steals (ADR 0083).

use std::fs;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The sampling interval.
const MOMENT: Duration = Duration::from_millis(50);

/// Samples CPU times every 50 ms until it is dropped.
pub struct CpuMonitor(Arc<Mutex<CpuTimes>>);

/// Samples of CPU time: total, idle, and stolen by the host.
#[derive(Clone, Debug, Default)]
pub struct CpuTimes(Vec<(Instant, CpuSample)>);

/// CPU time of all processors since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuSample {
    all: Duration,
    idle: Duration,
    /// "steal" in proc_stat(5).
    stolen: Duration,
}

impl CpuMonitor {
    /// Starts sampling on its own thread, because tasks of this process may be late.
    #[must_use]
    pub fn start() -> Self {
        let times = Arc::<Mutex<CpuTimes>>::default();
        sample(&times);
        let watched = Arc::downgrade(&times);
        // Without the thread there are only the first and the last sample, which excuse little.
        let _ = thread::Builder::new().name("cpu-times".to_owned()).spawn(move || watch(&watched));
        Self(times)
    }

    /// The samples until now; this call adds one.
    #[must_use]
    pub fn times(&self) -> CpuTimes {
        sample(&self.0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn watch(times: &Weak<Mutex<CpuTimes>>) {
    while let Some(times) = times.upgrade() {
        sample(&times);
        drop(times);
        thread::sleep(MOMENT);
    }
}

fn sample(times: &Mutex<CpuTimes>) {
    if let Some(sample) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(CpuSample::read) {
        times.lock().unwrap_or_else(PoisonError::into_inner).0.push((Instant::now(), sample));
    }
}

impl CpuTimes {
    /// CPU time that the host stole from `begin` to `end`, rounded out to the next samples; zero without samples.
    #[must_use]
    pub fn stolen(&self, begin: Instant, end: Instant) -> Duration {
        self.between(begin, end).stolen
    }

    /// The idle share of CPU time from `begin` to `end`; 1 if no time was sampled.
    #[must_use]
    pub fn idle(&self, begin: Instant, end: Instant) -> f64 {
        let CpuSample { all, idle, .. } = self.between(begin, end);
        if all.is_zero() { 1.0 } else { idle.as_secs_f64() / all.as_secs_f64() }
    }

    /// The highest share of CPU time that the host stole within one second, in percent.
    #[must_use]
    pub fn most_stolen(&self) -> u64 {
        let mut most = 0;
        for (position, (begin, first)) in self.0.iter().enumerate() {
            let second = self.0[position..].iter().find(|(at, _)| *at >= *begin + Duration::from_secs(1));
            let Some((_, last)) = second else { break };
            let CpuSample { all, stolen, .. } = last.since(first);
            most = most.max((stolen.as_millis() * 100).checked_div(all.as_millis()).unwrap_or_default());
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    fn between(&self, begin: Instant, end: Instant) -> CpuSample {
        let first = self.0.iter().rev().find(|(at, _)| *at <= begin).or(self.0.first());
        let last = self.0.iter().find(|(at, _)| *at >= end).or(self.0.last());
        first.zip(last).map_or_else(CpuSample::default, |((_, first), (_, last))| last.since(first))
    }
}

impl CpuSample {
    /// Parses /proc/stat, see proc_stat(5): hundredths of a second. Waiting for a disk counts as idle; the fields after the
    /// eighth are included in the first two.
    fn read(stat: &str) -> Option<Self> {
        let times = stat.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = times.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
        let [_, _, _, idle, waiting, _, _, stolen] = times[..] else { return None };
        let [all, idle, stolen] =
            [times.iter().sum(), idle + waiting, stolen].map(|time: u64| Duration::from_millis(10 * time));
        Some(Self { all, idle, stolen })
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            all: self.all.saturating_sub(earlier.all),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

#[cfg(test)]
impl CpuTimes {
    /// Ten seconds of two processors, half idle. Each item of `stolen` is the start of a 50 ms interval in milliseconds after
    /// `begin`, and the time stolen in it.
    pub(crate) fn example(begin: Instant, stolen: &[(u64, Duration)]) -> Self {
        let mut sample = CpuSample::default();
        let mut times = vec![(begin, sample)];
        for moment in 0..200 {
            let at = 50 * moment;
            sample.all += MOMENT * 2;
            sample.idle += MOMENT;
            sample.stolen +=
                stolen.iter().filter(|(begin, _)| *begin == at).map(|(_, stolen)| *stolen).sum::<Duration>();
            times.push((begin + Duration::from_millis(at + 50), sample));
        }
        Self(times)
    }
}

#[cfg(test)]
impl CpuTimes {
    /// The same ten seconds without idle time.
    pub(crate) fn busy(begin: Instant) -> Self {
        let mut times = Self::example(begin, &[]);
        times.0.iter_mut().for_each(|(_, sample)| sample.idle = Duration::ZERO);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn steal_is_the_eighth_field() {
        let stat =
            |idle, stolen| format!("cpu  10 0 5 {idle} 3 0 1 {stolen} 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let [before, now] = [stat(100, 4), stat(250, 54)].map(|stat| CpuSample::read(&stat).unwrap());
        assert_eq!(before, CpuSample { all: millis(1230), idle: millis(1030), stolen: millis(40) });
        assert_eq!(
            now.since(&before),
            CpuSample { all: millis(2000), idle: millis(1500), stolen: millis(500) }
        );
        assert_eq!(before.since(&now), CpuSample::default());
        assert!(CpuSample::read("cpu  1 2 3\n").is_none() && CpuSample::read("").is_none());
    }

    #[test]
    fn only_time_stolen_during_the_span_counts() {
        let begin = Instant::now();
        let times = CpuTimes::example(begin, &[(1_000, millis(40)), (5_000, millis(30))]);
        let stolen = |from: u64, to: u64| times.stolen(begin + millis(from), begin + millis(to));
        assert_eq!(stolen(0, 990), Duration::ZERO);
        // The whole sampling interval counts, because the moment within it is unknown.
        assert_eq!([stolen(1_010, 1_020), stolen(900, 1_010), stolen(1_049, 4_000)], [millis(40); 3]);
        assert_eq!([stolen(1_051, 4_999), stolen(6_000, 60_000)], [Duration::ZERO; 2]);
        assert_eq!(stolen(0, 10_000), millis(70));
        assert_eq!(CpuTimes::default().stolen(begin, begin + millis(1)), Duration::ZERO);
    }

    #[test]
    fn the_idle_share_and_the_worst_second_are_computed() {
        let begin = Instant::now();
        let times =
            CpuTimes::example(begin, &[(1_000, millis(100)), (1_900, millis(100)), (2_100, millis(100))]);
        assert!((times.idle(begin, begin + millis(3_000)) - 0.5).abs() < 0.01);
        assert!((CpuTimes::default().idle(begin, begin) - 1.0).abs() < 0.01);
        assert_eq!((times.most_stolen(), CpuTimes::default().most_stolen()), (10, 0));
    }

    #[test]
    fn this_machine_is_sampled_until_the_monitor_is_dropped() {
        let host = CpuMonitor::start();
        let (begin, patience) = (Instant::now(), Duration::from_secs(60));
        while host.0.lock().unwrap().0.len() < 4 {
            assert!(begin.elapsed() < patience, "no samples");
            thread::yield_now();
        }
        let watched = Arc::downgrade(&host.0);
        assert!(host.times().0.is_sorted_by_key(|(at, _)| *at));
        drop(host);
        while watched.strong_count() > 0 {
            assert!(begin.elapsed() < patience, "the thread still samples");
            thread::yield_now();
        }
    }
}
