//! Invariants that hold for arbitrary bytes. Each function takes an input and panics if an invariant is violated. libFuzzer
//! calls them from `fuzz/`; the tests here call them with the inputs of `fuzz/corpus` and with mutations of them.
//!
//! An input of several documents has one document per line.

// A violated invariant is a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

mod apply;
mod diff;
mod http;
pub mod malformed;
mod mutate;
mod pointer;
mod reference;
mod review;
mod rules;
mod secret;
mod selector;
mod yaml;

pub use apply::apply;
pub use diff::diff;
pub use http::http;
pub use mutate::Mutations;
pub use pointer::pointer;
pub use review::review;
pub use rules::rules;
pub use secret::secret;
pub use selector::selector;
pub use yaml::yaml;

/// A target and the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 9] = [
    ("apply", apply),
    ("diff", diff),
    ("http", http),
    ("pointer", pointer),
    ("review", review),
    ("rules", rules),
    ("secret", secret),
    ("selector", selector),
    ("yaml", yaml),
];

/// The saved inputs of the target with their files; for reviews, also the recorded requests of an API server.
pub fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![workspace.join("fuzz/corpus").join(name)];
    if name == "review" {
        folders.push(workspace.join("tests/corpus"));
    }
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The first `N` lines; `None` if there are fewer, or the input is not UTF-8.
fn lines<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let mut lines = std::str::from_utf8(input).ok()?.splitn(N, '\n');
    let lines = std::array::from_fn(|_| lines.next());
    lines.iter().all(Option::is_some).then(|| lines.map(Option::unwrap_or_default))
}
