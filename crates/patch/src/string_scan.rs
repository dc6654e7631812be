//! Finds the bytes that end or escape a string: quotes, backslashes and control characters. Most bytes of a document are in
//! strings, so 16 are compared at a time.

use wide::u8x16;

const BLOCK: usize = 64;

/// The first such byte from `at` on, or the end; for a single lookup.
#[inline(always)]
pub(crate) fn plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let stops = stops(*chunk);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += chunk.len();
    }
    last_plain(bytes, at)
}

/// Whether `string` has such a byte. Most strings are shorter than 16 bytes: their two ends are compared at once.
#[inline]
pub(crate) fn has_stop(string: &[u8]) -> bool {
    if let Some(end) = string.last_chunk() {
        let (chunks, _) = string.as_chunks();
        return chunks.iter().any(|chunk| stops(*chunk) != 0) || stops(*end) != 0;
    }
    let Some((start, end)) = ends(string) else { return stops(filled(string)) != 0 };
    stops((u128::from(start) << 64 | u128::from(end)).to_le_bytes()) != 0
}

/// The first and the last eight bytes of a string, which overlap; twice both ends of a shorter one. [`None`] for less than four bytes.
#[inline(always)]
fn ends(string: &[u8]) -> Option<(u64, u64)> {
    if let (Some(start), Some(end)) = (string.first_chunk(), string.last_chunk()) {
        return Some((u64::from_le_bytes(*start), u64::from_le_bytes(*end)));
    }
    let start = u32::from_le_bytes(*string.first_chunk()?);
    let end = u32::from_le_bytes(*string.last_chunk()?);
    let both = u64::from(start) << 32 | u64::from(end);
    Some((both, both))
}

/// As [`plain`], for the last bytes of a text.
#[cold]
fn last_plain(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.len().min(stops(filled(rest)).trailing_zeros() as usize)
}

/// Finds such bytes in a whole text, block by block. The block that is read next rarely depends on the end of the last string, so
/// the CPU need not wait for it.
pub(crate) struct Stops {
    /// The start of the current block.
    start: usize,
    /// One bit for each such byte in it.
    bits: u64,
}

impl Stops {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { start: 0, bits: bits(bytes) }
    }

    /// The position of the first such byte from `at` on, or the length. `bytes` must be the text that [`of`](Self::of) was given.
    /// A lookup before the current block reads that block again.
    #[inline(always)]
    pub(crate) fn next(&mut self, bytes: &[u8], mut at: usize) -> usize {
        loop {
            let offset = at.wrapping_sub(self.start);
            if offset < BLOCK {
                let rest = self.bits >> offset;
                if rest != 0 {
                    return at + rest.trailing_zeros() as usize;
                }
                at = self.start + BLOCK;
            }
            if at >= bytes.len() {
                return bytes.len();
            }
            self.start = at - at % BLOCK;
            self.bits = bits(bytes.get(self.start..).unwrap_or_default());
        }
    }
}

/// One bit for each such byte in the first block of `bytes`.
#[inline(always)]
fn bits(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<BLOCK>() {
        Some(block) => {
            let (chunks, _) = block.as_chunks();
            chunks.iter().rev().fold(0, |bits, chunk| bits << 16 | u64::from(stops(*chunk)))
        }
        None => last_bits(bytes),
    }
}

/// As [`bits`], for less than a block.
#[cold]
fn last_bits(bytes: &[u8]) -> u64 {
    bits(&filled::<BLOCK>(bytes))
}

/// The bytes, filled up with spaces.
#[inline(always)]
fn filled<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    let mut filled = [b' '; LENGTH];
    filled.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    filled
}

/// One bit for each such byte in `chunk`.
#[inline(always)]
fn stops(chunk: [u8; 16]) -> u32 {
    let chunk = u8x16::from(chunk);
    let is = |byte| chunk.simd_eq(u8x16::splat(byte));
    let is_control = chunk.min(u8x16::splat(0x1f)).simd_eq(chunk);
    (is(b'"') | is(b'\\') | is_control).to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, Stops, has_stop, plain};

    fn one_by_one(bytes: &[u8], at: usize) -> usize {
        let stop = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
        bytes[at..].iter().position(stop).map_or(bytes.len(), |place| at + place)
    }

    /// Mostly letters, and the bytes next to all that end or escape a string.
    fn byte() -> impl Strategy<Value = u8> {
        let edges = b"\0\x1f !\"#[\\]\x7f\x80\xff".to_vec();
        prop_oneof![40 => b'a'..=b'z', 2 => any::<u8>(), 1 => prop::sample::select(edges)]
    }

    proptest! {
        #[test]
        fn blocks_find_the_same_bytes_as_single_steps(
            bytes in prop::collection::vec(byte(), 0..4 * BLOCK),
            steps in prop::collection::vec(any::<prop::sample::Index>(), 50),
        ) {
            let mut stops = Stops::of(&bytes);
            // Forwards and backwards, over whole blocks and within one.
            for at in (0..=bytes.len()).chain(steps.iter().map(|step| step.index(bytes.len() + 1))) {
                let expected = one_by_one(&bytes, at);
                prop_assert_eq!(plain(&bytes, at), expected);
                prop_assert_eq!(stops.next(&bytes, at), expected);
                let length = (at * 7) % 40;
                let string = &bytes[at..bytes.len().min(at + length)];
                prop_assert_eq!(has_stop(string), one_by_one(string, 0) < string.len());
            }
        }
    }
}
