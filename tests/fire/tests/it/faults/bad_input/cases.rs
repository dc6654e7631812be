//! The defects of a ring's Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use rustls_pki_types::UnixTime;
use vestibule_pki::Authority;
use vestibule_pki::ring::{Algorithm, CaId, Change, Facts, KeySource, Moment, Policy, Problem, carry_out};

use crate::faults::fixture::now;

pub(crate) type Data = BTreeMap<String, Vec<u8>>;

/// Damages the Secret and returns the expected words of the Event: the field, or one of several if random names decide,
/// and the problem.
pub(crate) type Spoil = dyn Fn(&Fields, &mut Data) -> (Vec<String>, Problem);
/// A change of a field.
type Alter = fn(Vec<u8>) -> Option<Vec<u8>>;

/// A defect, and the expected words of the Event.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) spoil: Box<Spoil>,
}

/// The fields of a ring that has rotated once.
pub(crate) struct Fields {
    active: CaId,
    next: CaId,
    retired: CaId,
}

impl Fields {
    pub(crate) fn of(facts: &Facts) -> Self {
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

pub(crate) fn cases() -> Vec<Case> {
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
            (vec![fields.named("cross certificate")], Problem::CrossSignature)
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

/// Swaps the PEM labels of certificate and key, and makes JSON a list.
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

/// Replaces the active CA by a serving certificate (CA:FALSE) with its key, under its own name.
fn no_authority(fields: &Fields, data: &mut Data) -> (Vec<String>, Problem) {
    let at = UnixTime::since_unix_epoch(Duration::from_secs(now().0));
    let unknown_ca = Authority::new("unknown", at, Duration::from_secs(3600)).unwrap();
    let others = [fields.next, fields.retired];
    let place = |id: CaId| others.map(|other| other < id);
    // The description is ordered by name.
    let mut leaves = std::iter::repeat_with(|| {
        unknown_ca.issue(&["hooks.demo.svc"], at, Duration::from_secs(3600)).unwrap()
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

/// Replaces the ring by one made at that time. Returns its active CA.
fn other_ring(data: &mut Data, made: Moment) -> CaId {
    let mut keys = KeySource::new("unknown", &["demo.svc"], Algorithm::default());
    let create = Change::Create { trust: [].into(), imported: [].into() };
    let ring = carry_out(&create, None, &mut keys, made, &Policy::default()).unwrap();
    *data = ring.encode().into_iter().map(|(field, bytes)| (field, bytes.to_vec())).collect();
    ring.facts().active().unwrap().id
}
