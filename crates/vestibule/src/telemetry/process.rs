//! Metrics of the process, by the names that all Prometheus client libraries use.

use std::fs;
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::scrape::at_each_scrape;

/// Linux reports CPU time in hundredths of a second (USER_HZ).
const TICKS_IN_A_SECOND: f64 = 100.0;

/// All but the build and the start time are read at each scrape. Without `/proc`, only the metrics that do not need it are served.
pub(crate) fn register(registry: &mut Registry) {
    registry.register(
        "vestibule_build",
        "The version of vestibule",
        Info::new([("version", env!("CARGO_PKG_VERSION"))]),
    );
    let began = began().unwrap_or_else(SystemTime::now);
    let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    at_each_scrape(registry, move |scrape| {
        let seconds = Some(&Unit::Seconds);
        scrape.gauge("process_start_time", seconds, "When the process began, in Unix time", began)?;
        let bytes = Some(&Unit::Bytes);
        scrape.gauge("process_resident_memory", bytes, "Memory that the process holds", memory())?;
        scrape.gauge("process_open_fds", None, "Open files and connections", descriptors())?;
        scrape.gauge(
            "process_max_fds",
            None,
            "The limit of open files and connections",
            most_descriptors(),
        )?;
        let Some(used) = processor().map(ConstCounter::new) else { return Ok(()) };
        let (help, unit, kind) = ("Processor time used.", Some(&Unit::Seconds), used.metric_type());
        used.encode(scrape.0.encode_descriptor("process_cpu", help, unit, kind)?)
    });
}

fn memory() -> Option<f64> {
    let kibibytes: f64 = field("/proc/self/status", "VmRSS:")?.trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn descriptors() -> Option<f64> {
    // One of them is the folder `/proc/self/fd` itself.
    let open = fs::read_dir("/proc/self/fd").ok()?.count().checked_sub(1)?;
    u32::try_from(open).ok().map(f64::from)
}

fn most_descriptors() -> Option<f64> {
    field("/proc/self/limits", "Max open files")?.split_whitespace().next()?.parse().ok()
}

/// In user and in kernel mode.
fn processor() -> Option<f64> {
    let [user, kernel] = [14, 15].map(seconds);
    Some(user? + kernel?)
}

/// The boot time, plus the time from boot to the start of this process.
fn began() -> Option<SystemTime> {
    let system = field("/proc/stat", "btime")?.parse().ok()?;
    let before = Duration::try_from_secs_f64(seconds(22)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(system).checked_add(before)?)
}

/// This process's time in the field of this number.
fn seconds(number: usize) -> Option<f64> {
    seconds_of(&fs::read_to_string("/proc/self/stat").ok()?, number)
}

/// The field with this number in `proc_pid_stat(5)`. Fields are counted from the end of the second, a name that may contain spaces
/// and parentheses.
fn seconds_of(stat: &str, number: usize) -> Option<f64> {
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    let ticks: f64 = behind_the_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()?;
    Some(ticks / TICKS_IN_A_SECOND)
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_and_descriptors_are_read_from_proc() {
        let memory = memory().unwrap();
        assert!((1e6..1e11).contains(&memory), "{memory}");
        let (open, most) = (descriptors().unwrap(), most_descriptors().unwrap());
        assert!(3.0 <= open && open < most, "{open} of {most}");
    }

    /// `proc_pid_stat(5)` counts from 1: 14 and 15 are user and kernel time, 22 is the start.
    #[test]
    fn a_time_is_read_from_its_field_for_any_name_of_the_process() {
        let fields: Vec<_> = (4..=30).map(|field| (field * 100).to_string()).collect();
        let stat = format!("4711 (a) b (c)) R {}\n", fields.join(" "));
        assert_eq!(
            [14, 15, 22].map(|number| seconds_of(&stat, number)),
            [Some(14.0), Some(15.0), Some(22.0)]
        );
        assert_eq!((seconds_of(&stat, 31), seconds_of("4711", 14)), (None, None));
    }

    #[test]
    fn cpu_time_grows_while_the_process_computes() {
        let (before, began) = (processor().unwrap(), std::time::Instant::now());
        let patience = Duration::from_secs(60);
        while processor().unwrap() < before + 0.1 {
            assert!(began.elapsed() < patience, "no tenth of a second was counted in {patience:?}");
        }
        let most = began.elapsed().as_secs_f64() * std::thread::available_parallelism().unwrap().get() as f64;
        let computed = processor().unwrap() - before;
        // Each of the two parts is rounded to a hundredth.
        assert!(computed <= most + 0.05, "{computed} s on the processors in {most} s of them");
    }

    #[test]
    fn the_process_began_a_little_before_it_asks() {
        let now = SystemTime::now();
        let began = began().unwrap();
        // The system gives its start to the second, by the clock of that time.
        let minute = Duration::from_secs(60);
        assert!(now - 60 * minute < began && began < now + minute, "{began:?}, {now:?}");
    }
}
