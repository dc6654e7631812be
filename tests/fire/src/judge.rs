//! What holds of every ring, whatever a soak does to it.

use crate::{Order, Report};

/// What does not hold of what was watched.
pub(crate) fn ring(report: &Report) -> Vec<String> {
    let book = &report.book;
    let mut short = Vec::new();
    if report.options.order != Order::Ring {
        return short;
    }
    // Never one alone; three for as long as a predecessor may still have leaves.
    let sizes = &book.bundle_sizes;
    let is_bounded = sizes.keys().all(|size| [0, 2, 3].contains(size));
    let is_rotated = book.rotations == 0 || (sizes.contains_key(&2) && sizes.contains_key(&3));
    if !is_bounded || !is_rotated {
        short.push(format!("bundles do not have two CAs, three while it rotates: {sizes:?}"));
    }
    if book.emptied > 0 {
        short.push(format!("{} bundles were empty again", book.emptied));
    }
    if book.most_keys != 2 {
        short.push(format!("the Secret had {} private keys, not two", book.most_keys));
    }
    if book.retired_keys > 0 {
        short.push(format!("{} keys of CAs that sign no longer were written", book.retired_keys));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Book, Options};

    #[test]
    fn each_thing_that_does_not_hold_is_said() {
        let said = |change: fn(&mut Book)| {
            let mut book = Book::default();
            (book.rotations, book.most_keys) = (1, 2);
            book.bundle_sizes = [(0, 1), (2, 2), (3, 1)].into();
            change(&mut book);
            ring(&Report::new(Options::of(&[]).unwrap(), book)).len()
        };
        assert_eq!(said(|_| {}), 0);
        assert_eq!(said(|book| *book.bundle_sizes.entry(1).or_default() += 1), 1);
        assert_eq!(said(|book| book.bundle_sizes.retain(|size, _| *size != 3)), 1);
        assert_eq!(said(|book| book.emptied = 1), 1);
        assert_eq!(said(|book| book.most_keys = 3), 1);
        assert_eq!(said(|book| book.retired_keys = 1), 1);
    }
}
