//! Mutations of inputs, deterministic for a seed.

/// Tokens that are special in JSON, pointers and Kubernetes.
const WORDS: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\u005c",
    "~",
    "~0",
    "~1",
    "~2",
    "/",
    "//",
    "/-",
    "/0",
    "/00",
    "-1",
    "null",
    "true",
    "1e999",
    "1.0",
    "1",
    "-0",
    "0.1e-7",
    "12345678901234567890",
    "\u{feff}",
    "\u{2028}",
    "\n",
    "\r",
    "\t",
    " ",
    "é",
    "\"\":",
    "{\"a\":1,\"a\":2}",
    "[[[[[[[[",
    "\"name\":",
    "\"metadata\":",
    "\"labels\":",
    "\"uid\":",
    "\"op\":\"move\"",
    "\"op\":\"copy\"",
    "\"op\":\"test\"",
    "\"path\":\"\"",
    "\"from\":",
    "\"value\":",
    "\"operation\":",
];

/// An endless iterator of mutations.
pub struct Mutations {
    seeds: Vec<Vec<u8>>,
    state: u64,
}

impl Mutations {
    /// Mutations of `seeds`, which must not be empty.
    pub fn new(seeds: Vec<Vec<u8>>, seed: u64) -> Self {
        assert!(!seeds.is_empty());
        Self { seeds, state: seed.wrapping_mul(2).wrapping_add(1) }
    }

    /// A number below `end`, by xorshift64* (Vigna, 2016).
    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap_or_default() % end.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = (start + 1 + self.below(24)).min(length);
        start..end.max(start)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input.len());
        match self.below(8) {
            0 => drop(input.drain(range)),
            1 => {
                let part = input[range.clone()].to_vec();
                input.splice(range.start..range.start, part);
            }
            2 => {
                let other = self.below(self.seeds.len());
                let part = self.seeds[other].clone();
                let part = &part[self.range(part.len())];
                input.splice(range, part.iter().copied());
            }
            3 => {
                if let Some(byte) = input.get_mut(range.start) {
                    *byte ^= 1 << self.below(8);
                }
            }
            4 => {
                let part = input[range].to_vec();
                let at = self.below(input.len() + 1);
                input.splice(at..at, part);
            }
            kind => {
                let word = WORDS[self.below(WORDS.len())];
                let end = if kind == 5 { range.end } else { range.start };
                input.splice(range.start..end, word.bytes());
            }
        }
    }
}

impl Iterator for Mutations {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let seed = self.below(self.seeds.len());
        let mut input = self.seeds[seed].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        Some(input)
    }
}
