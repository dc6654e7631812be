//! Names of contents.

use sha2::{Digest as _, Sha256};

/// How many digits a short name has.
pub(crate) const SHORT: usize = 12;

/// The first 12 hexadecimal digits of the [`whole`] name.
pub(crate) fn short<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut name = whole(parts);
    name.truncate(SHORT);
    name
}

/// The SHA-256 of all `parts`, in hexadecimal digits; where one ends and the next begins counts.
pub(crate) fn whole<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
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
    fn tells_contents_apart() {
        assert_eq!(short(["a", "b"]), short(["a", "b"]));
        assert_eq!(short([""; 0]).len(), 12);
        assert_ne!(short(["a", "b"]), short(["ab", ""]));
    }
}
