//! Digests of document contents.

use sha2::{Digest as _, Sha256};

/// The number of digits of a short digest.
pub(crate) const SHORT: usize = 12;

/// The first 12 hexadecimal digits of the [`full`] digest.
pub(crate) fn short<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut name = full(parts);
    name.truncate(SHORT);
    name
}

/// The SHA-256 of all `parts`, each preceded by its length, in hexadecimal digits.
pub(crate) fn full<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn different_contents_have_different_digests() {
        assert_eq!(short(["a", "b"]), short(["a", "b"]));
        assert_eq!(short([""; 0]).len(), 12);
        assert_ne!(short(["a", "b"]), short(["ab", ""]));
    }
}
