//! Mounted files, written as the kubelet and as users write them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustls_pki_types::UnixTime;
use tempfile::TempDir;
use vestibule_identity::{
    Identity, IdentityEvent, Leaf, Mounted, MountedFiles, NamespacedName, Observer, Settings, Source,
};
use vestibule_pki::{Authority, verify};

const HOUR: Duration = Duration::from_secs(60 * 60);
const NAME: &str = "hooks.demo.svc";

/// Records the events of an identity.
#[derive(Default)]
struct RecordedEvents(Mutex<Vec<IdentityEvent>>);

impl Observer for RecordedEvents {
    fn happened(&self, event: &IdentityEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl RecordedEvents {
    fn failures(&self) -> Vec<String> {
        let events = self.0.lock().unwrap();
        events
            .iter()
            .filter_map(|one| match one {
                IdentityEvent::Failed { reason, .. } => Some(reason.clone()),
                _ => None,
            })
            .collect()
    }
}

fn settings(events: &Arc<RecordedEvents>) -> Settings {
    let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
    let mut settings = Settings::for_service(service);
    settings.mounted.poll = Duration::from_millis(10);
    settings.observer = Some(events.clone());
    settings
}

fn authority() -> Authority {
    Authority::new("test CA", UnixTime::now(), HOUR * 48).unwrap()
}

fn leaf(authority: &Authority) -> Leaf {
    authority.issue(&[NAME], UnixTime::now(), HOUR).unwrap()
}

fn write(folder: &Path, authority: &Authority, leaf: &Leaf) {
    put(folder, "tls.crt", &leaf.chain_pem());
    put(folder, "tls.key", &leaf.key_pem());
    put(folder, "ca.crt", authority.certificate_pem());
}

/// By a rename: a reader that sees half of a file twice reports it.
fn put(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join("new"), text).unwrap();
    fs::rename(folder.join("new"), folder.join(file)).unwrap();
}

/// A Secret as a kubelet mounts it: `tls.crt -> ..data/tls.crt`, `..data -> ..GENERATION`, one rename swaps all.
struct Volume {
    folder: TempDir,
    generation: u32,
}

impl Volume {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            symlink(Path::new("..data").join(name), folder.path().join(name)).unwrap();
        }
        Self { folder, generation: 0 }
    }

    fn swap(&mut self, authority: &Authority, leaf: &Leaf) {
        self.generation += 1;
        let root = self.folder.path();
        let name = format!("..generation-{}", self.generation);
        fs::create_dir(root.join(&name)).unwrap();
        write(&root.join(&name), authority, leaf);
        symlink(&name, root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        let old = root.join(format!("..generation-{}", self.generation - 1));
        let _ = fs::remove_dir_all(old);
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn presents(identity: &Mounted, leaf: &Leaf) -> bool {
    identity.present().is_some_and(|presented| presented.chain == leaf.chain)
}

#[tokio::test]
async fn each_swap_of_a_volume_is_noticed_the_third_like_the_first() {
    let (authority, events, mut volume) = (authority(), Arc::default(), Volume::new());
    let first = leaf(&authority);
    volume.swap(&authority, &first);
    let identity = Mounted::start(volume.folder.path(), &settings(&events)).unwrap();
    assert!(presents(&identity, &first), "there is one at once");
    for _ in 0..4 {
        let next = leaf(&authority);
        volume.swap(&authority, &next);
        until("the swap is noticed", || presents(&identity, &next)).await;
        let bundle = identity.ca_bundle().unwrap();
        assert_eq!(verify(&bundle, &identity.present().unwrap().chain, &[NAME], UnixTime::now()), Ok(()));
    }
    assert_eq!(events.failures(), [""; 0]);
    assert!(identity.status().leaf_not_after.unwrap() > SystemTime::now());
}

#[tokio::test]
async fn a_new_authority_comes_with_its_leaf() {
    let (events, mut volume) = (Arc::default(), Volume::new());
    let old = authority();
    volume.swap(&old, &leaf(&old));
    let identity = Mounted::start(volume.folder.path(), &settings(&events)).unwrap();
    assert_eq!(&*identity.ca_bundle().unwrap(), old.certificate_pem());
    let new = authority();
    volume.swap(&new, &leaf(&new));
    until("the new CA is noticed", || *identity.ca_bundle().unwrap() == *new.certificate_pem()).await;
    assert_eq!(events.failures(), [""; 0]);
}

#[tokio::test]
async fn files_that_are_not_there_yet_are_waited_for_by_name() {
    let (authority, events, folder) = (authority(), Arc::default(), TempDir::new().unwrap());
    let leaf = leaf(&authority);
    let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
    let waits = |file: &str| {
        let expected = format!("a valid certificate in {}: {file} is missing", folder.path().display());
        identity.status().waiting_for.is_some_and(|waiting| waiting == expected)
    };
    assert!(waits("tls.crt"));
    assert!(identity.present().is_none());
    until("it is counted", || events.failures() == ["tls.crt is missing"]).await;
    put(folder.path(), "tls.crt", &leaf.chain_pem());
    until("the other file is named", || waits("tls.key")).await;
    write(folder.path(), &authority, &leaf);
    identity.ready().await;
    assert!(presents(&identity, &leaf));
}

#[tokio::test]
async fn a_torn_pair_leaves_the_last_good_one_whichever_file_comes_first() {
    for first in ["tls.key", "tls.crt"] {
        let (authority, events, folder) = (authority(), Arc::default(), TempDir::new().unwrap());
        let (old, new) = (leaf(&authority), leaf(&authority));
        write(folder.path(), &authority, &old);
        let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
        let text = if first == "tls.key" { new.key_pem().to_string() } else { new.chain_pem() };
        put(folder.path(), first, &text);
        until("it is counted", || events.failures().len() == 1).await;
        assert!(presents(&identity, &old));
        assert_eq!(identity.status().waiting_for, None, "it serves on");
        write(folder.path(), &authority, &new);
        until("the whole pair is taken", || presents(&identity, &new)).await;
        let failures = events.failures().join("\n");
        assert!(failures.starts_with("tls.crt and tls.key: ") && !failures.contains("PRIVATE"), "{failures}");
    }
}

#[tokio::test]
async fn a_file_that_vanishes_or_rots_changes_nothing() {
    let (authority, events, folder) = (authority(), Arc::default(), TempDir::new().unwrap());
    let leaf = leaf(&authority);
    write(folder.path(), &authority, &leaf);
    let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
    for (file, content) in
        [("tls.crt", None), ("tls.key", None), ("tls.key", Some("rubbish")), ("tls.crt", Some(""))]
    {
        let before = events.failures().len();
        match content {
            None => fs::remove_file(folder.path().join(file)).unwrap(),
            Some(text) => put(folder.path(), file, text),
        }
        until("it is counted", || events.failures().len() > before).await;
        assert!(events.failures()[before].contains(file), "{:?}", events.failures());
        assert!(presents(&identity, &leaf));
        // Well again in between, so that the next one counts as another.
        write(folder.path(), &authority, &leaf);
        let new = self::leaf(&authority);
        write(folder.path(), &authority, &new);
        until("it is well again", || presents(&identity, &new)).await;
        write(folder.path(), &authority, &leaf);
        until("it is as before", || presents(&identity, &leaf)).await;
    }
}

#[tokio::test]
async fn an_expired_certificate_is_not_taken_and_says_so() {
    let events = Arc::default();
    let folder = TempDir::new().unwrap();
    let past = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) - HOUR * 24);
    let authority = Authority::new("test CA", past, HOUR * 48).unwrap();
    let expired = authority.issue(&[NAME], past, HOUR).unwrap();
    let valid = leaf(&authority);
    write(folder.path(), &authority, &valid);
    let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
    write(folder.path(), &authority, &expired);
    until("it is counted", || events.failures().iter().any(|failure| failure.contains("expired"))).await;
    assert!(presents(&identity, &valid));

    let late = Mounted::start(folder.path(), &settings(&events)).unwrap();
    assert!(late.present().is_none());
    assert!(late.status().waiting_for.unwrap().contains("expired"));
}

#[tokio::test]
async fn files_may_have_other_names_and_authorities_may_be_missing() {
    let (authority, events, folder) = (authority(), Arc::default(), TempDir::new().unwrap());
    let leaf = leaf(&authority);
    fs::write(folder.path().join("server.crt"), leaf.chain_pem()).unwrap();
    fs::write(folder.path().join("server.key"), &*leaf.key_pem()).unwrap();
    let mut settings = settings(&events);
    settings.mounted =
        MountedFiles { certificate: "server.crt".into(), key: "server.key".into(), ..settings.mounted };
    let source = Source::Mounted(folder.path().to_owned());
    let identity = source.open(&settings, None).await.unwrap();
    identity.ready().await;
    assert_eq!(identity.present().unwrap().names, [NAME]);
    assert_eq!(identity.ca_bundle(), None);
}

#[tokio::test]
async fn a_new_authority_alone_is_no_renewal() {
    let (old, events, folder) = (authority(), Arc::new(RecordedEvents::default()), TempDir::new().unwrap());
    write(folder.path(), &old, &leaf(&old));
    let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
    let both = format!("{}{}", old.certificate_pem(), authority().certificate_pem());
    put(folder.path(), "ca.crt", &both);
    until("the bundle is noticed", || *identity.ca_bundle().unwrap() == *both).await;
    let events = events.0.lock().unwrap();
    assert!(matches!(events[..], [IdentityEvent::LeafRenewed { .. }]), "{events:?}");
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let error = Mounted::start(Path::new("."), &settings(&Arc::default())).err().unwrap();
    assert!(error.to_string().contains("Tokio runtime"), "{error}");
}

/// Asks for the status whenever it is told something.
#[derive(Default)]
struct Curious(Mutex<Option<Arc<Mounted>>>, Mutex<Vec<Option<String>>>);

impl Observer for Curious {
    fn happened(&self, _: &IdentityEvent) {
        let identity = self.0.lock().unwrap().clone();
        self.1.lock().unwrap().extend(identity.map(|identity| identity.status().waiting_for));
    }
}

#[tokio::test]
async fn an_observer_may_ask_for_the_status() {
    let (curious, folder) = (Arc::new(Curious::default()), TempDir::new().unwrap());
    let mut settings = settings(&Arc::default());
    settings.observer = Some(curious.clone());
    *curious.0.lock().unwrap() = Some(Mounted::start(folder.path(), &settings).unwrap());
    until("it is told of the missing files", || !curious.1.lock().unwrap().is_empty()).await;
    assert!(curious.1.lock().unwrap()[0].as_ref().unwrap().contains("tls.crt is missing"));
}

#[tokio::test]
async fn a_dropped_source_stops_reading_its_files() {
    let (authority, events, folder) =
        (authority(), Arc::new(RecordedEvents::default()), TempDir::new().unwrap());
    write(folder.path(), &authority, &leaf(&authority));
    drop(Mounted::start(folder.path(), &settings(&events)).unwrap());
    until("its task has ended", || Arc::strong_count(&events) == 1).await;
}

/// The folder of a `genSelfSignedCert` of a Helm chart, or of a SelfSigned issuer of cert-manager: clients trust the certificate itself.
/// The comment is that of a CA bundle in Latin-1.
#[tokio::test]
async fn a_certificate_that_is_trusted_itself_and_a_comment_in_latin_1_are_no_problem() {
    let (folder, events) = (TempDir::new().unwrap(), Arc::<RecordedEvents>::default());
    let leaf = leaf(&authority());
    put(folder.path(), "tls.crt", &leaf.chain_pem());
    put(folder.path(), "tls.key", &leaf.key_pem());
    fs::write(folder.path().join("ca.crt"), [b"# M\xfcller\n", leaf.chain_pem().as_bytes()].concat())
        .unwrap();
    let identity = Mounted::start(folder.path(), &settings(&events)).unwrap();
    assert!(presents(&identity, &leaf));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(events.failures(), [""; 0]);
}
