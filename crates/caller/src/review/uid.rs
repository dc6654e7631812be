//! The uid of a review.

use rustls::crypto::aws_lc_rs;

/// A random UUID (RFC 9562, version 4); [`None`] if the random generator of the system fails.
pub(super) fn fresh() -> Option<String> {
    let mut bytes = [0; 16];
    aws_lc_rs::default_provider().secure_random.fill(&mut bytes).ok()?;
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | 0x4 << 76; // the version
    let number = number & !(0x3 << 62) | 0x2 << 62; // the variant
    let digits = format!("{number:032x}");
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    Some([a, b, c, d, e].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_uuid_of_version_4_and_new_every_time() {
        let uid = fresh().unwrap();
        let groups: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(&uid[14..15], "4");
        assert!("89ab".contains(&uid[19..20]), "{uid}");
        assert_ne!(fresh().unwrap(), uid);
    }
}
