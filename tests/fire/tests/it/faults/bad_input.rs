//! Row 10: everything that can be wrong with the ring's Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use fire::ROTATE;
use futures_util::{StreamExt, stream};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use rustls_pki_types::UnixTime;
use vestibule_identity::{Identity, NamespacedName, Settings};
use vestibule_pki::Authority;
use vestibule_pki::ring::{Algorithm, CaId, Change, Facts, KeySource, Moment, Policy, Problem, carry_out};
use vestibule_testenv::Environment;

use super::ground::{Inner, annotate, event, now, ring, shared_or_skip, until};

const SECRET: &str = "bad-ring";
/// So many replicas at a time.
const AT_A_TIME: usize = 6;

type Data = BTreeMap<String, Vec<u8>>;

/// Returns what the Event is to say: the field, or one of them where names drawn by chance decide, and the problem.
type Spoil = dyn Fn(&Fields, &mut Data) -> (Vec<String>, Problem);
/// What becomes of a field.
type Alter = fn(Vec<u8>) -> Option<Vec<u8>>;

/// One thing that is wrong, and what the Event is to say of which field.
struct Case {
    name: String,
    spoil: Box<Spoil>,
}

/// The names of the fields of a ring that has rotated once.
struct Fields {
    active: CaId,
    next: CaId,
    retired: CaId,
}

impl Fields {
    fn of(facts: &Facts) -> Self {
        let (active, next) = (facts.active().unwrap().id, facts.next().unwrap().id);
        let retired = facts.trusted().into_iter().find(|id| *id != active && *id != next);
        Self { active, next, retired: retired.unwrap() }
    }

    fn named(&self, role: &str) -> String {
        match role {
            "active certificate" => format!("ca-{}.crt", self.active),
            "active key" => format!("ca-{}.key", self.active),
            "next certificate" => format!("ca-{}.crt", self.next),
            "next key" => format!("ca-{}.key", self.next),
            "retired certificate" => format!("ca-{}.crt", self.retired),
            "cross certificate" => format!("cross-{}.crt", self.active),
            other => other.to_owned(),
        }
    }
}

const ROLES: [(&str, Problem); 7] = [
    ("ring.json", Problem::Json),
    ("active certificate", Problem::Certificate),
    ("active key", Problem::Key),
    ("next certificate", Problem::Certificate),
    ("next key", Problem::Key),
    ("retired certificate", Problem::Certificate),
    ("cross certificate", Problem::Certificate),
];

#[tokio::test]
async fn whatever_is_wrong_with_the_secret_is_told_and_mended() {
    let Some(env) = shared_or_skip().await else { return };
    let cases = cases();
    assert!(cases.len() > 35, "{}", cases.len());
    let outcomes = stream::iter(cases).map(|case| heals(&env, case)).buffer_unordered(AT_A_TIME);
    let outcomes: Vec<Option<String>> = outcomes.collect().await;
    let failures: Vec<_> = outcomes.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (role, unreadable) in ROLES {
        let each: [(&str, Problem, Alter); 5] = [
            ("is missing", Problem::Missing, |_| None),
            ("is empty", unreadable, |_| Some(Vec::new())),
            ("is cut off", unreadable, |bytes| Some(bytes[..bytes.len() / 2].to_vec())),
            ("is of another type", unreadable, |bytes| Some(relabelled(&bytes))),
            ("is no text", unreadable, |_| Some(vec![0xff; 300])),
        ];
        for (what, problem, change) in each {
            cases.push(Case::new(&format!("{role} {what}"), move |fields, data| {
                let field = fields.named(role);
                let bytes = data.remove(&field).unwrap_or_else(|| panic!("no {field}"));
                data.extend(change(bytes).map(|bytes| (field.clone(), bytes)));
                (vec![field], problem)
            }));
        }
    }
    cases.extend([
        swapped("active certificate", "next certificate", Problem::OtherCertificate),
        swapped("active key", "next key", Problem::OtherKey),
        swapped("cross certificate", "retired certificate", Problem::OtherCertificate),
        Case::new("the CA's own certificate is its cross", |fields, data| {
            let own = data[&fields.named("next certificate")].clone();
            data.insert(fields.named("cross certificate"), own);
            (vec![fields.named("cross certificate")], Problem::Bridge)
        }),
        Case::new("two are active", |_, data| {
            replace(data, "\"next\"", "\"active\"");
            (vec!["ring.json".to_owned()], Problem::States)
        }),
        Case::new("none is active", |_, data| {
            replace(data, "\"active\"", "\"next\"");
            (vec!["ring.json".to_owned()], Problem::States)
        }),
        Case::new("900 KB of rubbish", |_, data| {
            data.insert("ring.json".to_owned(), vec![b'x'; 900_000]);
            (vec!["ring.json".to_owned()], Problem::TooLarge)
        }),
        Case::new("the active CA is none", no_authority),
        Case::new("the ring has expired", |_, data| {
            let active = other_ring(data, Moment(now().0 - 20 * 365 * 24 * 60 * 60));
            (vec![format!("ca-{active}.crt")], Problem::Expired)
        }),
        Case::new("the ring is of the future", |_, data| {
            other_ring(data, Moment(now().0 + 24 * 60 * 60));
            let certificates = data.keys().filter(|field| field.ends_with(".crt") && *field != "ca.crt");
            (certificates.cloned().collect(), Problem::NotYetValid)
        }),
    ]);
    cases
}

impl Case {
    fn new(name: &str, spoil: impl Fn(&Fields, &mut Data) -> (Vec<String>, Problem) + 'static) -> Self {
        Self { name: name.to_owned(), spoil: Box::new(spoil) }
    }
}

fn swapped(one: &'static str, other: &'static str, problem: Problem) -> Case {
    Case::new(&format!("{one} and {other} are swapped"), move |fields, data| {
        let [first, second] = [one, other].map(|role| fields.named(role));
        let (a, b) = (data[&first].clone(), data[&second].clone());
        data.extend([(first.clone(), b), (second.clone(), a)]);
        (vec![first, second], problem)
    })
}

/// A certificate says that it is a key, a key that it is a certificate, and JSON that it is a list.
fn relabelled(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let text = if text.contains("PRIVATE KEY") {
        text.replace("PRIVATE KEY", "CERTIFICATE")
    } else if text.contains("CERTIFICATE") {
        text.replace("CERTIFICATE", "PRIVATE KEY")
    } else {
        format!("[{text}]")
    };
    text.into_bytes()
}

fn replace(data: &mut Data, from: &str, to: &str) {
    let text = String::from_utf8(data["ring.json"].clone()).unwrap();
    assert!(text.contains(from));
    data.insert("ring.json".to_owned(), text.replace(from, to).into_bytes());
}

/// CA:FALSE: a serving certificate in the place of the active CA, with its key, under its own name.
fn no_authority(fields: &Fields, data: &mut Data) -> (Vec<String>, Problem) {
    let at = UnixTime::since_unix_epoch(Duration::from_secs(now().0));
    let stranger = Authority::new("stranger", at, Duration::from_secs(3600)).unwrap();
    let others = [fields.next, fields.retired];
    let place = |id: CaId| others.map(|other| other < id);
    // The description is in the order of names.
    let mut leaves = std::iter::repeat_with(|| {
        stranger.issue(&["hooks.demo.svc"], at, Duration::from_secs(3600)).unwrap()
    });
    let leaf = leaves.find(|leaf| place(CaId::of(&leaf.chain[0])) == place(fields.active)).unwrap();
    let id = CaId::of(&leaf.chain[0]);
    for role in ["active certificate", "active key", "cross certificate"] {
        data.remove(&fields.named(role));
    }
    data.insert(format!("ca-{id}.crt"), leaf.chain_pem().into_bytes());
    data.insert(format!("ca-{id}.key"), leaf.key_pem().as_bytes().to_vec());
    replace(data, &fields.active.to_string(), &id.to_string());
    (vec![format!("ca-{id}.crt")], Problem::NotAnAuthority)
}

/// A ring as it is made at that time, in the place of ours. Returns its active CA.
fn other_ring(data: &mut Data, made: Moment) -> CaId {
    let mut keys = KeySource::new("stranger", &["demo.svc"], Algorithm::default());
    let create = Change::Create { trust: [].into() };
    let ring = carry_out(&create, None, &mut keys, made, &Policy::default()).unwrap();
    *data = ring.encode().into_iter().map(|(field, bytes)| (field, bytes.to_vec())).collect();
    ring.facts().active().unwrap().id
}

/// A ring that has rotated is spoilt, told of and mended by the replica that remembers it. Returns what is not so.
async fn heals(env: &Environment, case: Case) -> Option<String> {
    let admin = env.admin().unwrap();
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let secrets: Api<Secret> = Api::namespaced(admin.clone(), &namespace);
    let named = |name: &str| NamespacedName { namespace: namespace.clone(), name: name.to_owned() };
    let mut settings = Settings::for_service(named("hooks"));
    settings.secret = Some(named(SECRET));
    let policy = &mut settings.policy;
    (policy.hold, policy.hold_cold) = (Duration::from_secs(2), Duration::from_secs(2));
    policy.recheck = Duration::from_secs(1);
    let replica = Inner::start(admin.clone(), settings);
    replica.ready().await;
    annotate(&secrets, SECRET, ROTATE, "once").await;
    until(&format!("{}: a rotation", case.name), 30, async || {
        ring(&secrets, SECRET)
            .await
            .is_some_and(|facts| facts.is_overlapping() && facts.next().is_some_and(|ca| ca.held.is_some()))
    })
    .await;
    let before = ring(&secrets, SECRET).await.unwrap();

    let mut secret = secrets.get(SECRET).await.unwrap();
    let mut data: Data =
        secret.data.take().unwrap().into_iter().map(|(field, bytes)| (field, bytes.0)).collect();
    let (fields, problem) = (case.spoil)(&Fields::of(&before), &mut data);
    secret.data = Some(data.into_iter().map(|(field, bytes)| (field, ByteString(bytes))).collect());
    secrets.replace(SECRET, &Default::default(), &secret).await.unwrap();

    let healed =
        async || ring(&secrets, SECRET).await.is_some_and(|ring| ring.generation > before.generation);
    let note = async || event(&admin, &namespace, "RingUnreadable").await;
    until(&format!("{}: the ring is mended", case.name), 20, healed).await;
    until(&format!("{}: an Event", case.name), 20, async || note().await.is_some()).await;
    let (note, after) = (note().await.unwrap(), ring(&secrets, SECRET).await.unwrap());
    let failure = if !fields.iter().any(|field| note.contains(&format!("`{field}` {problem}"))) {
        Some(format!("the Event does not say {fields:?} {problem}: {note}"))
    } else if leaks(&note, &secret) {
        Some(format!("the Event holds bytes: {note}"))
    } else if !after.trusted().is_superset(&before.trusted()) {
        Some(format!("what was trusted is no longer: {before:?}, {after:?}"))
    } else {
        let waiting_for = replica.identity.status().waiting_for;
        waiting_for.map(|what| format!("the replica is not ready any more: {what}"))
    };
    failure.map(|failure| format!("{}: {failure}", case.name))
}

/// Whether the note repeats a piece of what is in the Secret.
fn leaks(note: &str, secret: &Secret) -> bool {
    const PIECE: usize = 20;
    let values =
        secret.data.iter().flatten().map(|(_, bytes)| String::from_utf8_lossy(&bytes.0).into_owned());
    values.flat_map(|text| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()).any(|line| {
        line.is_ascii()
            && !line.starts_with('{')
            && !line.starts_with("-----")
            && line.len() >= PIECE
            && note.contains(&line[..PIECE])
    })
}
