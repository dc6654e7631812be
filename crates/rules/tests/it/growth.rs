//! Comparison of the processor time of small and of large work.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Other work on the machine makes single measurements longer, sometimes several times. It does not make each of twenty longer.
const MEASUREMENTS: usize = 20;

/// Asserts that `large` takes less than `most` times the processor time of `small`.
///
/// The two are measured in turns, and the shortest times count. The first measurements that hold suffice.
pub(crate) fn takes_less_than(most: u32, small: impl Fn(), large: impl Fn()) {
    let mut few = measured(&small).min(measured(&small));
    let mut many = measured(&large);
    for _ in 1..MEASUREMENTS {
        if many < few * most {
            return;
        }
        few = few.min(measured(&small));
        many = many.min(measured(&large));
    }
    panic!("{few:?} for the small work and {many:?} for the large work, which may take {most} times as long");
}

fn measured(work: &impl Fn()) -> Duration {
    let start = ThreadTime::now();
    work();
    start.elapsed()
}
