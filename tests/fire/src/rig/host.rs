//! The machine beneath this one, if it is a virtual one: what it takes of the processors' time is late for everybody here.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// A moment of [`Host::watch`] lasts no longer than this, where the processors are there.
const MOMENT: Duration = Duration::from_millis(50);

/// Looks again and again at what becomes of the processors' time, until it is dropped.
pub struct Host(Arc<Mutex<Times>>);

/// Samples of the processors' time: all of it, idle, and taken by the host.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<(Instant, Split)>);

/// The processors' time since the machine came up, of all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Split {
    all: Duration,
    idle: Duration,
    /// By the host ("steal" in proc_stat(5)).
    taken: Duration,
}

impl Host {
    /// Begins now, in a thread of its own: tasks of this process are late themselves.
    #[must_use]
    pub fn watch() -> Self {
        let times = Arc::<Mutex<Times>>::default();
        look(&times);
        let watched = Arc::downgrade(&times);
        // Without the thread there are two moments, the first and the last, and nothing coincides with much.
        let _ = thread::Builder::new().name("host".to_owned()).spawn(move || watch(&watched));
        Self(times)
    }

    /// The samples until now, with one taken by this call.
    #[must_use]
    pub fn times(&self) -> Times {
        look(&self.0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn watch(times: &Weak<Mutex<Times>>) {
    while let Some(times) = times.upgrade() {
        look(&times);
        drop(times);
        thread::sleep(MOMENT);
    }
}

fn look(times: &Mutex<Times>) {
    if let Some(split) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(Split::read) {
        times.lock().unwrap_or_else(PoisonError::into_inner).0.push((Instant::now(), split));
    }
}

impl Times {
    /// How much of the processors' time the host took from `begin` to `end`, and in what else was seen with it of the moments
    /// at both ends; zero where nobody tells.
    #[must_use]
    pub fn taken(&self, begin: Instant, end: Instant) -> Duration {
        self.between(begin, end).taken
    }

    /// The idle part of the processors' time from `begin` to `end`; 1 if no time was sampled.
    #[must_use]
    pub fn idle(&self, begin: Instant, end: Instant) -> f64 {
        let Split { all, idle, .. } = self.between(begin, end);
        if all.is_zero() { 1.0 } else { idle.as_secs_f64() / all.as_secs_f64() }
    }

    /// The most that the host took within one second, in hundredths of all processors' time.
    #[must_use]
    pub fn most_taken(&self) -> u64 {
        let mut most = 0;
        for (position, (begin, first)) in self.0.iter().enumerate() {
            let second = self.0[position..].iter().find(|(at, _)| *at >= *begin + Duration::from_secs(1));
            let Some((_, last)) = second else { break };
            let Split { all, taken, .. } = last.since(first);
            most = most.max((taken.as_millis() * 100).checked_div(all.as_millis()).unwrap_or_default());
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    fn between(&self, begin: Instant, end: Instant) -> Split {
        let first = self.0.iter().rev().find(|(at, _)| *at <= begin).or(self.0.first());
        let last = self.0.iter().find(|(at, _)| *at >= end).or(self.0.last());
        first.zip(last).map_or_else(Split::default, |((_, first), (_, last))| last.since(first))
    }
}

impl Split {
    /// See proc_stat(5): hundredths of a second. Waiting for a disk is idle, and what comes after the eighth is a part of the
    /// first two.
    fn read(stat: &str) -> Option<Self> {
        let times = stat.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = times.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
        let [_, _, _, idle, waiting, _, _, taken] = times[..] else { return None };
        let [all, idle, taken] =
            [times.iter().sum(), idle + waiting, taken].map(|time: u64| Duration::from_millis(10 * time));
        Some(Self { all, idle, taken })
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            all: self.all.saturating_sub(earlier.all),
            idle: self.idle.saturating_sub(earlier.idle),
            taken: self.taken.saturating_sub(earlier.taken),
        }
    }
}

#[cfg(test)]
impl Times {
    /// Ten seconds of two processors, half idle, a moment each; the host takes `taken` in each moment that begins so many
    /// milliseconds after `begin`.
    pub(crate) fn example(begin: Instant, taken: &[(u64, Duration)]) -> Self {
        let mut split = Split::default();
        let mut times = vec![(begin, split)];
        for moment in 0..200 {
            let at = 50 * moment;
            split.all += MOMENT * 2;
            split.idle += MOMENT;
            split.taken +=
                taken.iter().filter(|(begin, _)| *begin == at).map(|(_, taken)| *taken).sum::<Duration>();
            times.push((begin + Duration::from_millis(at + 50), split));
        }
        Self(times)
    }
}

#[cfg(test)]
impl Times {
    /// The same ten seconds without a moment to spare.
    pub(crate) fn busy(begin: Instant) -> Self {
        let mut times = Self::example(begin, &[]);
        times.0.iter_mut().for_each(|(_, split)| split.idle = Duration::ZERO);
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
    fn what_is_taken_is_the_eighth_of_the_times() {
        let stat = |idle, taken| format!("cpu  10 0 5 {idle} 3 0 1 {taken} 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let [before, now] = [stat(100, 4), stat(250, 54)].map(|stat| Split::read(&stat).unwrap());
        assert_eq!(before, Split { all: millis(1230), idle: millis(1030), taken: millis(40) });
        assert_eq!(now.since(&before), Split { all: millis(2000), idle: millis(1500), taken: millis(500) });
        assert_eq!(before.since(&now), Split::default());
        assert!(Split::read("cpu  1 2 3\n").is_none() && Split::read("").is_none());
    }

    #[test]
    fn only_what_was_taken_meanwhile_coincides() {
        let begin = Instant::now();
        let times = Times::example(begin, &[(1_000, millis(40)), (5_000, millis(30))]);
        let taken = |from: u64, to: u64| times.taken(begin + millis(from), begin + millis(to));
        assert_eq!(taken(0, 990), Duration::ZERO);
        // The whole moment counts, for nobody knows when within it.
        assert_eq!([taken(1_010, 1_020), taken(900, 1_010), taken(1_049, 4_000)], [millis(40); 3]);
        assert_eq!([taken(1_051, 4_999), taken(6_000, 60_000)], [Duration::ZERO; 2]);
        assert_eq!(taken(0, 10_000), millis(70));
        assert_eq!(Times::default().taken(begin, begin + millis(1)), Duration::ZERO);
    }

    #[test]
    fn idle_is_a_part_of_all_and_the_worst_second_is_found() {
        let begin = Instant::now();
        let times =
            Times::example(begin, &[(1_000, millis(100)), (1_900, millis(100)), (2_100, millis(100))]);
        assert!((times.idle(begin, begin + millis(3_000)) - 0.5).abs() < 0.01);
        assert!((Times::default().idle(begin, begin) - 1.0).abs() < 0.01);
        assert_eq!((times.most_taken(), Times::default().most_taken()), (10, 0));
    }

    #[test]
    fn this_machine_is_looked_at_until_the_host_is_dropped() {
        let host = Host::watch();
        let (begin, patience) = (Instant::now(), Duration::from_secs(60));
        while host.0.lock().unwrap().0.len() < 4 {
            assert!(begin.elapsed() < patience, "nobody looks");
            thread::yield_now();
        }
        let watched = Arc::downgrade(&host.0);
        assert!(host.times().0.is_sorted_by_key(|(at, _)| *at));
        drop(host);
        while watched.strong_count() > 0 {
            assert!(begin.elapsed() < patience, "somebody looks still");
            thread::yield_now();
        }
    }
}
