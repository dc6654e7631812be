//! The positions of list items while others are removed.
//!
//! A lookup or a removal takes a number of steps that grows with the logarithm of the list's length.

/// The items of a list by their first positions, and whether each is still there: a tree of counts (Fenwick tree).
pub(super) struct RemainingItems {
    counts: Vec<usize>,
    /// The number of cells read, for a test of the growth: counts are exact, times are not.
    #[cfg(test)]
    pub(super) steps: std::cell::Cell<usize>,
}

impl RemainingItems {
    /// A list of `length` items.
    pub(super) fn all(length: usize) -> Self {
        // The lowest bit of a cell's number is the number of items that it counts.
        let counts = (1..=length).map(|at| at & at.wrapping_neg()).collect();
        Self {
            counts,
            #[cfg(test)]
            steps: std::cell::Cell::default(),
        }
    }

    /// The number of items before the first position `place` that are still there.
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

    /// Removes the item at the first position `place`.
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
    use super::RemainingItems;

    #[test]
    fn counts_what_is_there() {
        let mut places = RemainingItems::all(11);
        let mut there = [true; 11];
        for gone in [3, 0, 10, 7, 4] {
            places.leave(gone);
            there[gone] = false;
            for place in 0..=11 {
                assert_eq!(places.before(place), there[..place].iter().filter(|one| **one).count());
            }
        }
        assert_eq!(RemainingItems::all(0).before(0), 0);
    }
}
