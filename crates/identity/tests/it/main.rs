#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cluster;
mod mounted;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, SystemTime};

use rustls_pki_types::UnixTime;
use tempfile::TempDir;
use vestibule_identity::{Identity, IdentityError, Local};
use vestibule_pki::verify;

const NAMES: [&str; 2] = ["hooks.demo.svc", "127.0.0.1"];

fn open(folder: &Path) -> Result<Local, IdentityError> {
    Local::open(folder, &NAMES, SystemTime::now())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_folder_gets_an_authority_that_only_the_owner_can_use() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("a/b");
    let identity = open(&folder).unwrap();
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("ca.key")), 0o600);
    assert_eq!(fs::read_to_string(folder.join("ca.crt")).unwrap(), &*identity.ca_bundle().unwrap());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    let leaf = identity.present().unwrap();
    assert_eq!(leaf.names, NAMES);
    assert_eq!(verify(&identity.ca_bundle().unwrap(), &leaf.chain, &NAMES, UnixTime::now()), Ok(()));
}

#[test]
fn the_next_start_uses_the_same_authority_and_another_leaf() {
    let folder = TempDir::new().unwrap();
    let (first, second) = (open(folder.path()).unwrap(), open(folder.path()).unwrap());
    assert_eq!(first.ca_bundle().unwrap(), second.ca_bundle().unwrap());
    assert_ne!(first.present().unwrap().chain, second.present().unwrap().chain);
}

#[test]
fn starts_at_the_same_time_end_with_one_authority() {
    for _ in 0..20 {
        let folder = Arc::new(TempDir::new().unwrap());
        let barrier = Arc::new(Barrier::new(8));
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let (folder, barrier) = (Arc::clone(&folder), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    open(folder.path()).unwrap().ca_bundle().unwrap()
                })
            })
            .collect();
        let mut bundles: Vec<_> = starts.into_iter().map(|start| start.join().unwrap()).collect();
        bundles.dedup();
        assert_eq!(bundles.len(), 1);
    }
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o777, 0o770, 0o702] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = Local::open(folder.path(), &["localhost"], SystemTime::now()).err().unwrap().to_string();
        assert!(error.contains(&format!("chmod 700 {}", folder.path().display())), "{error}");
        assert!(!folder.path().join("ca.key").exists());
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    open(folder.path()).unwrap();
}

/// Only root can change the owner of a folder.
#[test]
fn a_folder_or_key_of_another_user_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()).unwrap());
    for path in [folder.path().to_owned(), folder.path().join("ca.key"), folder.path().join("ca.crt")] {
        let before = fs::metadata(&path).unwrap().uid();
        if std::os::unix::fs::chown(&path, Some(before + 4711), None).is_err() {
            return;
        }
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(&error, IdentityError::Folder { path: named, .. } if *named == path), "{error}");
        assert!(error.to_string().contains("belongs to user"), "{error}");
        std::os::unix::fs::chown(&path, Some(before), None).unwrap();
    }
    open(folder.path()).unwrap();
}

#[test]
fn a_crash_between_key_and_certificate_is_mended_by_the_next_start() {
    let folder = TempDir::new().unwrap();
    let before = open(folder.path()).unwrap().ca_bundle().unwrap();
    let (certificate, unfinished) = (folder.path().join("ca.crt"), folder.path().join("ca.crt.unfinished"));
    fs::rename(&certificate, &unfinished).unwrap();
    assert_eq!(open(folder.path()).unwrap().ca_bundle().unwrap(), before);
    assert!(certificate.exists() && !unfinished.exists());

    // Half a certificate, or another CA's, is no remainder of this key's.
    let (whole, other) = (fs::read(&certificate).unwrap(), TempDir::new().unwrap());
    drop(open(other.path()).unwrap());
    for remainder in [whole[..whole.len() / 2].to_vec(), fs::read(other.path().join("ca.crt")).unwrap()] {
        let _ = fs::remove_file(&certificate);
        fs::write(&unfinished, remainder).unwrap();
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(error, IdentityError::Folder { .. }), "{error}");
        assert!(error.to_string().contains("is missing: put it back"), "{error}");
    }
}

#[test]
fn a_key_that_others_can_read_is_refused_with_the_line_to_type() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()).unwrap());
    let key = folder.path().join("ca.key");
    for mode in [0o640, 0o604, 0o660] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let error = open(folder.path()).err().unwrap().to_string();
        assert!(error.contains(&format!("mode {mode:03o}")), "{error}");
        assert!(error.contains(&format!("chmod 600 {}", key.display())), "{error}");
    }
}

#[test]
fn an_expired_authority_says_what_to_delete() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()).unwrap());
    let later = SystemTime::now() + Duration::from_secs(11 * 365 * 24 * 60 * 60);
    let error = Local::open(folder.path(), &NAMES, later).err().unwrap().to_string();
    for part in ["ca.crt", "ca.key", "expired at ", "delete both"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn half_a_pair_is_never_completed() {
    for (kept, lost) in [("ca.crt", "ca.key"), ("ca.key", "ca.crt")] {
        let folder = TempDir::new().unwrap();
        drop(open(folder.path()).unwrap());
        fs::remove_file(folder.path().join(lost)).unwrap();
        let before = fs::read(folder.path().join(kept)).unwrap();
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(error, IdentityError::Folder { .. }), "{error}");
        assert!(error.to_string().contains("is missing: put it back"), "{error}");
        assert_eq!(fs::read(folder.path().join(kept)).unwrap(), before);
    }
}

#[test]
fn files_that_are_no_pair_are_refused_and_left_alone() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    drop((open(one.path()).unwrap(), open(other.path()).unwrap()));
    fs::copy(other.path().join("ca.crt"), one.path().join("ca.crt")).unwrap();
    let error = open(one.path()).err().unwrap().to_string();
    assert!(error.contains("does not belong"), "{error}");
    fs::write(one.path().join("ca.crt"), "words").unwrap();
    let error = open(one.path()).err().unwrap().to_string();
    assert!(error.contains("cannot be read"), "{error}");
    assert_eq!(fs::read_to_string(one.path().join("ca.crt")).unwrap(), "words");
}

#[test]
fn unfinished_files_of_a_dead_process_are_removed() {
    let folder = TempDir::new().unwrap();
    for name in ["ca.key.unfinished", "ca.crt.unfinished"] {
        fs::write(folder.path().join(name), "half a k").unwrap();
    }
    open(folder.path()).unwrap();
    assert_eq!(mode(&folder.path().join("ca.key")), 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_path_that_is_no_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open(&file).err().unwrap().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}

#[test]
fn bad_names_are_not_blamed_on_the_files() {
    let folder = TempDir::new().unwrap();
    let error = Local::open(folder.path(), &["not a name"], SystemTime::now()).err().unwrap();
    assert!(matches!(error, IdentityError::Leaf(_)), "{error}");
}
