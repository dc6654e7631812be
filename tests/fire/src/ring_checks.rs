//! Invariants of the ring's Secret and caBundles in every soak.

use crate::{Order, Report};

/// Returns the invariants that the observed writes violated.
pub(crate) fn problems(report: &Report) -> Vec<String> {
    let counts = &report.counts;
    let mut problems = Vec::new();
    if report.options.order != Order::Ring {
        return problems;
    }
    // A bundle has two CAs, and three while the previous CA may still have valid leaves.
    let sizes = &counts.bundle_sizes;
    let is_bounded = sizes.keys().all(|size| [0, 2, 3].contains(size));
    let is_rotated = counts.rotations == 0 || (sizes.contains_key(&2) && sizes.contains_key(&3));
    if !is_bounded || !is_rotated {
        problems.push(format!("bundles do not have two CAs, three while it rotates: {sizes:?}"));
    }
    if counts.emptied > 0 {
        problems.push(format!("{} bundles were empty again", counts.emptied));
    }
    if counts.most_keys != 2 {
        problems.push(format!("the Secret had {} private keys, not two", counts.most_keys));
    }
    if counts.retired_keys > 0 {
        problems.push(format!("{} keys of CAs that sign no longer were written", counts.retired_keys));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Options};

    #[test]
    fn each_violated_invariant_is_reported() {
        let problem_count = |change: fn(&mut Counts)| {
            let mut counts = Counts::default();
            (counts.rotations, counts.most_keys) = (1, 2);
            counts.bundle_sizes = [(0, 1), (2, 2), (3, 1)].into();
            change(&mut counts);
            problems(&Report::new(Options::of(&[]).unwrap(), counts)).len()
        };
        assert_eq!(problem_count(|_| {}), 0);
        assert_eq!(problem_count(|counts| *counts.bundle_sizes.entry(1).or_default() += 1), 1);
        assert_eq!(problem_count(|counts| counts.bundle_sizes.retain(|size, _| *size != 3)), 1);
        assert_eq!(problem_count(|counts| counts.emptied = 1), 1);
        assert_eq!(problem_count(|counts| counts.most_keys = 3), 1);
        assert_eq!(problem_count(|counts| counts.retired_keys = 1), 1);
    }
}
