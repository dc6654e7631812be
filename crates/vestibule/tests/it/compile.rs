//! Compiler errors for functions that are no handlers. Each file in `tests/compile` begins with the texts that must be in its error.
//!
//! The files are compiled against the library that this test is linked to: a second build of all dependencies would take minutes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

#[test]
fn compile_errors_name_the_signature_of_a_handler() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile");
    let library = library(&folder.join("a_handler.rs"));
    let mut cases = 0;
    for case in std::fs::read_dir(&folder).unwrap().map(|case| case.unwrap().path()) {
        let text = std::fs::read_to_string(&case).unwrap();
        let compiled = compile(&case, &library);
        let said = String::from_utf8(compiled.stderr).unwrap();
        if case.ends_with("a_handler.rs") {
            assert!(compiled.status.success(), "{said}");
            continue;
        }
        assert!(!compiled.status.success(), "{} compiles", case.display());
        for expected in text.lines().map_while(|line| line.strip_prefix("//! ")) {
            assert!(said.contains(expected), "{}: {expected}\n{said}", case.display());
        }
        cases += 1;
    }
    assert_eq!(cases, 5);
}

/// The newest build of the library.
fn library(fine: &Path) -> PathBuf {
    let built =
        |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut libraries: Vec<PathBuf> =
        std::fs::read_dir(beside()).unwrap().map(|entry| entry.unwrap().path()).collect();
    libraries.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libvestibule-") && name.ends_with(".rlib")
    });
    libraries.sort_by_key(|path| std::cmp::Reverse(built(path)));
    let mut fits = libraries.into_iter().filter(|library| compile(fine, library).status.success());
    fits.next().expect("a library beside the test, and a handler that compiles against it")
}

fn compile(case: &Path, library: &Path) -> Output {
    let (mut dependencies, mut vestibule) = (OsString::from("dependency="), OsString::from("vestibule="));
    dependencies.push(beside());
    vestibule.push(library);
    let made = tempfile::tempdir().unwrap();
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
        .arg(made.path())
        .arg("-L")
        .arg(dependencies)
        .arg("--extern")
        .arg(vestibule)
        .arg(case)
        .output()
        .unwrap()
}

fn beside() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}
