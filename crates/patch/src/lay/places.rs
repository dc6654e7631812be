//! Where the items of a list stand while others leave it and come to it.
//!
//! Both questions and changes take a number of steps that grows with the logarithm of the list's length.

/// The items of a list by their first places, those marked that are still there. A tree of counts (Fenwick's).
pub(super) struct Places {
    counts: Vec<usize>,
    /// How many cells of the tree were looked at: what grows must be counted, since time is not the same twice.
    #[cfg(test)]
    pub(super) steps: std::cell::Cell<usize>,
}

impl Places {
    /// All `length` items are there.
    pub(super) fn all(length: usize) -> Self {
        // The cell `at` counts as many items as its lowest bit says.
        let counts = (1..=length).map(|at| at & at.wrapping_neg()).collect();
        Self {
            counts,
            #[cfg(test)]
            steps: std::cell::Cell::default(),
        }
    }

    /// How many of the items before the first place `place` are still there.
    pub(super) fn before(&self, place: usize) -> usize {
        let mut at = place.min(self.counts.len());
        let mut sum = 0;
        while at > 0 {
            self.step();
            sum += self.counts[at - 1];
            at &= at - 1;
        }
        sum
    }

    /// The item at the first place `place` leaves.
    pub(super) fn leave(&mut self, place: usize) {
        let mut at = place + 1;
        while let Some(count) = self.counts.get_mut(at - 1) {
            *count -= 1;
            at += at & at.wrapping_neg();
            self.step();
        }
    }

    fn step(&self) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn counts_what_is_there() {
        let mut places = Places::all(11);
        let mut there = [true; 11];
        for gone in [3, 0, 10, 7, 4] {
            places.leave(gone);
            there[gone] = false;
            for place in 0..=11 {
                assert_eq!(places.before(place), there[..place].iter().filter(|one| **one).count());
            }
        }
        assert_eq!(Places::all(0).before(0), 0);
    }
}
