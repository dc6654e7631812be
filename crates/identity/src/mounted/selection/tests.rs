use std::time::Duration;

use vestibule_pki::Authority;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NAME: &str = "hooks.demo.svc";

/// Day `n` of the test.
fn day(n: u32) -> UnixTime {
    UnixTime::since_unix_epoch(DAY * (20_000 + n))
}

fn authority() -> Authority {
    Authority::new("test CA", day(0), DAY * 1000).unwrap()
}

/// A whole generation that begins on day `n` and lives for ten.
fn generation(authority: &Authority, n: u32) -> Content {
    let leaf = authority.issue(&[NAME], day(n), DAY * 10).unwrap();
    Content {
        certificate: leaf.chain_pem().into(),
        key: leaf.key_pem().to_string().into(),
        authority: Some(authority.certificate_pem().to_owned().into()),
    }
}

/// The selection, and what it had adopted.
#[derive(Default)]
struct Folder {
    selection: Selection,
    presented: Option<Pair>,
}

impl Folder {
    /// Reads once. Returns whether a pair was adopted, and the problem once the files are settled.
    fn read(&mut self, content: Result<&Content, &str>, now: UnixTime) -> (bool, Option<String>) {
        let content = content.cloned().map_err(str::to_owned);
        let outcome = self.selection.select(
            content,
            self.presented.as_ref(),
            &MountedFiles::default(),
            Some(NAME),
            now,
        );
        let adopted = outcome.adopted.is_some();
        self.presented = outcome.adopted.or(self.presented.take());
        (adopted, outcome.problem.filter(|_| outcome.is_settled))
    }

    fn chain(&self) -> String {
        self.presented.as_ref().unwrap().leaf.chain_pem()
    }
}

#[test]
fn each_generation_is_adopted_once() {
    let (authority, mut folder) = (authority(), Folder::default());
    for n in [0, 5, 12, 19] {
        let content = generation(&authority, n);
        assert_eq!(folder.read(Ok(&content), day(n)), (true, None));
        assert_eq!(folder.read(Ok(&content), day(n)), (false, None));
        assert_eq!(folder.chain(), *content.certificate);
        assert_eq!(
            folder.presented.as_ref().unwrap().authorities[0].not_after,
            system_time(authority.not_after().as_secs())
        );
    }
}

#[test]
fn a_torn_pair_is_told_only_if_it_stays() {
    let (authority, mut folder) = (authority(), Folder::default());
    let (old, new) = (generation(&authority, 0), generation(&authority, 5));
    folder.read(Ok(&old), day(5));
    let key_first = Content { key: new.key.clone(), ..old.clone() };
    let certificate_first = Content { certificate: new.certificate.clone(), ..old.clone() };
    for torn in [&key_first, &certificate_first] {
        assert_eq!(folder.read(Ok(torn), day(5)), (false, None), "it may be on its way");
        let (adopted, problem) = folder.read(Ok(torn), day(5));
        assert!(!adopted && problem.unwrap().starts_with("tls.crt and tls.key: "));
        assert_eq!(folder.chain(), *old.certificate, "the last good pair is kept");
    }
    assert_eq!(folder.read(Ok(&new), day(5)), (true, None));
}

#[test]
fn files_that_vanish_and_come_back_change_nothing() {
    let (authority, mut folder) = (authority(), Folder::default());
    let content = generation(&authority, 0);
    folder.read(Ok(&content), day(0));
    assert_eq!(folder.read(Err("tls.key is missing"), day(1)), (false, None));
    assert_eq!(
        folder.read(Err("tls.key is missing"), day(1)),
        (false, Some("tls.key is missing".to_owned()))
    );
    assert_eq!(folder.read(Ok(&content), day(1)), (false, None));
    assert_eq!(folder.chain(), *content.certificate);
}

#[test]
fn an_expired_pair_does_not_replace_a_valid_one_and_stays_until_another_comes() {
    let (authority, mut folder) = (authority(), Folder::default());
    let (expired, valid) = (generation(&authority, 0), generation(&authority, 15));
    folder.read(Ok(&valid), day(15));
    folder.read(Ok(&expired), day(16));
    let (_, problem) = folder.read(Ok(&expired), day(16));
    assert!(problem.unwrap().contains("expired"));
    assert_eq!(folder.chain(), *valid.certificate);

    folder.read(Ok(&valid), day(26));
    let (adopted, problem) = folder.read(Ok(&valid), day(26));
    assert_eq!((adopted, problem.as_deref()), (false, Some("tls.crt has expired")));
    assert_eq!(folder.read(Ok(&generation(&authority, 26)), day(26)), (true, None));
}

#[test]
fn a_pair_that_may_be_refused_is_used_only_without_a_better_one() {
    let (ours, theirs) = (authority(), authority());
    let good = generation(&ours, 0);
    let unvouched = Content { authority: good.authority.clone(), ..generation(&theirs, 5) };
    let mut folder = Folder::default();
    folder.read(Ok(&good), day(0));
    assert_eq!(folder.read(Ok(&unvouched), day(5)), (false, None));
    let (adopted, problem) = folder.read(Ok(&unvouched), day(5));
    assert!(!adopted && problem.unwrap().starts_with("clients that trust ca.crt refuse tls.crt: "));
    let (adopted, problem) = folder.read(Ok(&unvouched), day(11));
    assert!(adopted && problem.is_some(), "the good one has expired");
    let (adopted, problem) = folder.read(Ok(&unvouched), day(11));
    assert!(!adopted && problem.is_some(), "the doubt stays");
}

#[test]
fn the_renewal_of_a_doubtful_pair_does_not_wait_for_its_end() {
    let (ours, theirs) = (authority(), authority());
    let unvouched =
        |n| Content { authority: Some(ours.certificate_pem().to_owned().into()), ..generation(&theirs, n) };
    let mut folder = Folder::default();
    assert!(folder.read(Ok(&unvouched(0)), day(0)).0, "there is none better");
    let renewed = unvouched(7);
    assert!(folder.read(Ok(&renewed), day(7)).0);
    assert_eq!(folder.chain(), *renewed.certificate);
}

#[test]
fn a_certificate_for_another_service_names_both() {
    let authority = authority();
    let leaf = authority.issue(&["other.demo.svc"], day(0), DAY).unwrap();
    let content = Content {
        certificate: leaf.chain_pem().into(),
        key: leaf.key_pem().to_string().into(),
        authority: None,
    };
    let mut folder = Folder::default();
    folder.read(Ok(&content), day(0));
    let (_, problem) = folder.read(Ok(&content), day(0));
    assert_eq!(problem.unwrap(), "tls.crt is not for `hooks.demo.svc`; it names other.demo.svc");
}

#[test]
fn without_authorities_the_issuer_is_unknown() {
    let authority = authority();
    for text in [None, Some("\n".to_owned().into())] {
        let mut folder = Folder::default();
        let content = Content { authority: text, ..generation(&authority, 0) };
        assert_eq!(folder.read(Ok(&content), day(0)), (true, None));
        assert!(folder.presented.unwrap().ca_bundle.is_none());
    }
}
