use std::time::SystemTime;

use k8s_openapi::ByteString;
use serde_json::json;

use super::*;
use crate::self_managed::conversation::{Answer, Trouble, TroubleKind};
use crate::self_managed::watches::{self, News};

const START: Moment = Moment(1_800_000_000);

/// A replica, and objects of one version after the other.
struct Bench {
    state: State,
    secret: Option<Value>,
    configuration: Option<Value>,
    /// How a configuration answers writes.
    refusal: Option<TroubleKind>,
    version: u64,
    now: Moment,
    at: Instant,
    reachable: bool,
}

impl Bench {
    fn new() -> Self {
        let (state, at) = (state(&[]), Instant::now());
        Self {
            state,
            secret: None,
            configuration: None,
            refusal: None,
            version: 0,
            now: START,
            at,
            reachable: true,
        }
    }

    /// Ready, with a configuration that holds the bundle.
    fn registered() -> Self {
        let mut bench = Self { state: state(&["mutating/hooks"]), ..Self::new() };
        let service = json!({ "namespace": "demo", "name": "hooks" });
        bench.configuration = Some(json!({
            "metadata": { "name": "hooks", "resourceVersion": "0", "creationTimestamp": "2026-01-01T00:00:00Z" },
            "webhooks": [{ "name": "a", "clientConfig": { "service": service } }],
        }));
        assert!(bench.run().is_none(), "the configuration is not quiet yet");
        bench.pass(Duration::from_secs(31));
        assert!(bench.run().is_some());
        bench
    }

    /// Another replica takes the place of this one.
    fn restart(&mut self) {
        let registrations: Vec<_> =
            self.state.registrations.iter().map(|watched| watched.name.to_string()).collect();
        let registrations: Vec<_> = registrations.iter().map(String::as_str).collect();
        self.state = state(&registrations);
    }

    /// Somebody else empties a bundle.
    fn spoil_configuration(&mut self) {
        self.version += 1;
        let object = self.configuration.as_mut().unwrap();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["webhooks"][0]["clientConfig"]["caBundle"] = json!("");
        self.watch_configuration();
    }

    fn watch_configuration(&mut self) {
        let object = serde_json::from_value(self.configuration.clone().unwrap()).unwrap();
        let news = News::Configuration { position: 0, listed: false, object: watches::Change::Is(object) };
        self.state.heard(news, self.now);
    }

    /// Somebody else writes the Secret.
    fn edit_secret(&mut self, edit: impl FnOnce(&mut Value)) {
        self.version += 1;
        let secret = self.secret.as_mut().unwrap();
        edit(&mut secret["data"]);
        secret["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.state.heard(News::Ring(Some(self.version.to_string())), self.now);
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        self.at += span;
    }

    /// Until nothing is to be done; the leaf that is presented then.
    fn run(&mut self) -> Option<Arc<Leaf>> {
        let mut presented = None;
        for _ in 0..100 {
            match self.state.decide(self.now, self.at) {
                None if self.state.planned.as_ref().is_some_and(|(_, when)| *when > self.at) => {
                    self.at += self.state.pause(self.at);
                }
                None => return presented,
                Some(deed) => presented = self.perform(deed).or(presented),
            }
        }
        panic!("it does not come to rest");
    }

    /// Until a configuration was to be written.
    fn run_to_write(&mut self) {
        for _ in 0..100 {
            match self.state.decide(self.now, self.at) {
                None => self.at += self.state.pause(self.at),
                Some(deed) => {
                    let writes = matches!(deed, Deed::Publish { .. });
                    self.perform(deed);
                    if writes {
                        return;
                    }
                }
            }
        }
        panic!("nothing is written");
    }

    fn perform(&mut self, deed: Deed) -> Option<Arc<Leaf>> {
        match deed {
            Deed::ReadRing => {
                let answer = self.answer(self.secret.clone());
                self.state.ring_answered(answer, self.now, self.at);
            }
            Deed::WriteRing(mut write) => {
                let mut object: Value = serde_json::from_slice(&std::mem::take(&mut write.object)).unwrap();
                self.version += 1;
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.secret = Some(object.clone());
                let answer = self.answer(Some(object));
                self.state.ring_write_answered(*write, answer, self.now, self.at);
            }
            Deed::ReadConfiguration(position) => {
                let answer = self.answer(self.configuration.clone());
                self.state.configuration_answered(position, answer, self.now, self.at);
            }
            Deed::Publish { position, patch, is_repair } => {
                let answer = self.write_configuration(&patch);
                self.state.patch_answered((position, is_repair), answer, self.now, self.at);
            }
            Deed::Present(leaf) => return Some(leaf),
        }
        None
    }

    fn write_configuration(&mut self, patch: &Value) -> Answer {
        if let Some(kind) = self.refusal {
            return Answer { date: None, outcome: Err(Trouble { kind, text: String::new() }) };
        }
        let object = self.configuration.as_mut().unwrap();
        for operation in patch.as_array().unwrap().iter().filter(|operation| operation["op"] == "add") {
            let (parent, key) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = operation["value"].clone();
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.answer(self.configuration.clone())
    }

    fn answer(&self, object: Option<Value>) -> Answer {
        let trouble = |kind| Trouble { kind, text: String::new() };
        let outcome = match object {
            _ if !self.reachable => Err(trouble(TroubleKind::Unreachable)),
            None => Err(trouble(TroubleKind::NotFound)),
            Some(object) => Ok(object.to_string().into_bytes().into()),
        };
        Answer { date: None, outcome }
    }

    fn status(&self) -> crate::Status {
        self.state.status(self.now, self.at)
    }
}

fn state(registrations: &[&str]) -> State {
    let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
    let mut settings = Settings::for_service(service);
    settings.registrations = registrations.iter().map(|name| name.parse().unwrap()).collect();
    let secret = settings.secret.clone().unwrap();
    State::new(settings, secret)
}

fn seconds(moment: Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(moment.0)
}

#[test]
fn a_handshake_signs_what_the_task_did_not() {
    let mut bench = Bench::new();
    let leaf = bench.run().unwrap();
    assert_eq!(bench.status().waiting_for, None);
    assert!(bench.state.renew_overdue(bench.now, bench.at).is_none(), "nothing is due");

    // The task stands still for six of seven days; the clock of a lease goes on.
    bench.pass(Duration::from_secs(6 * 24 * 60 * 60));
    assert!(
        bench.state.renew_overdue(bench.now, bench.at).is_none(),
        "the ring was not read since: no longer lease"
    );
    bench.reachable = true;
    let answer = bench.answer(bench.secret.clone());
    bench.state.ring_answered(answer, bench.now, bench.at);
    bench.at += Duration::from_secs(1);
    let renewed = bench.state.renew_overdue(bench.now, bench.at).unwrap();
    assert!(renewed.not_after > leaf.not_after);
    assert!(bench.state.overdue_in(bench.now) > Duration::from_secs(4 * 24 * 60 * 60));
}

#[test]
fn without_an_api_server_the_leaf_lasts_to_its_end_and_no_longer() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let leaf = bench.state.seen.leaf.clone().unwrap();
    bench.reachable = false;
    bench.pass(Duration::from_secs(5 * 24 * 60 * 60));
    assert!(bench.run().is_none(), "a new one would end no later");
    assert_eq!(bench.status().waiting_for, None);
    let left = leaf.not_after.0 - bench.now.0;
    bench.pass(Duration::from_secs(left - 10));
    assert!(bench.run().is_none());
    assert_eq!(bench.status().waiting_for, None);
    bench.pass(Duration::from_secs(1));
    let waiting_for = bench.status().waiting_for.unwrap();
    assert!(waiting_for.contains("renewed (Secret demo/hooks-ring was last read"), "{waiting_for}");
    bench.pass(Duration::from_secs(60));
    assert!(bench.run().is_none());
    assert!(bench.status().waiting_for.is_some());
    assert!(bench.status().leaf_not_after.unwrap() < seconds(bench.now));

    bench.reachable = true;
    bench.pass(Duration::from_secs(60));
    assert!(bench.run().is_some(), "it recovers by itself");
    assert_eq!(bench.status().waiting_for, None);
}

#[test]
fn a_ring_that_ended_in_the_sleep_of_all_is_made_anew() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let first = bench.state.stored.as_ref().unwrap().facts().lineage;
    bench.pass(Duration::from_secs(2 * 365 * 24 * 60 * 60));
    assert!(bench.run().is_some());
    let ring = bench.state.stored.as_ref().unwrap();
    assert_ne!(ring.facts().lineage, first);
    assert!(ring.facts().active().unwrap().not_after > bench.now);
}

#[test]
fn a_clock_set_back_holds_nothing_up() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let dated = |bench: &Bench, date| Answer { date: Some(date), ..bench.answer(bench.secret.clone()) };
    // The API server's clock goes back by half an hour.
    let back = Moment(bench.now.0 - 30 * 60);
    let answer = dated(&bench, back);
    bench.state.ring_answered(answer, bench.now, bench.at);
    assert_eq!(bench.state.seen.offset, -30 * 60);
    assert!(bench.run().is_some(), "a leaf of the new time");
    let status = bench.status();
    assert_eq!((status.waiting_for, status.clock_skew), (None, -30 * 60));
}

#[test]
fn a_spoilt_ca_crt_is_written_again_and_nothing_else_changes() {
    let mut bench = Bench::new();
    bench.run().unwrap();
    let good = bench.secret.clone().unwrap()["data"].clone();
    let stranger = vestibule_pki::Authority::new(
        "x",
        rustls_pki_types::UnixTime::since_unix_epoch(Duration::from_secs(START.0)),
        Duration::from_secs(60),
    )
    .unwrap();
    let stranger = json!(ByteString(stranger.certificate_pem().into()));
    for rubbish in [None, Some(json!("Cg==")), Some(stranger)] {
        bench.edit_secret(|data| match rubbish {
            None => drop(data.as_object_mut().unwrap().remove("ca.crt")),
            Some(rubbish) => data["ca.crt"] = rubbish,
        });
        bench.run();
        assert_eq!(bench.secret.as_ref().unwrap()["data"], good);
    }
    let writes = bench.version;
    bench.run();
    let ca_crt: ByteString = serde_json::from_value(good["ca.crt"].clone()).unwrap();
    let commented = json!(ByteString([b"# by hand\n", ca_crt.0.as_slice()].concat()));
    bench.edit_secret(|data| data["ca.crt"] = commented);
    bench.run();
    assert_eq!(bench.version, writes + 1, "others than us wrote once, we did not");
}

#[test]
fn a_first_leaf_does_not_wait_for_a_write_that_fails() {
    let mut bench = Bench::registered();
    bench.restart();
    // It holds the bundle, the mark is gone, and the API server cannot write.
    bench.configuration.as_mut().unwrap()["metadata"].as_object_mut().unwrap().remove("annotations");
    bench.refusal = Some(TroubleKind::Unreachable);
    bench.watch_configuration();
    assert!(bench.run().is_some());
}

#[test]
fn only_what_refuses_one_version_twice_is_denied() {
    let mut bench = Bench::registered();
    bench.refusal = Some(TroubleKind::Refused);
    let is_denied = |bench: &Bench| bench.state.seen.configurations[0].denied;
    for _ in 0..2 {
        bench.spoil_configuration();
        bench.run_to_write();
        assert!(!is_denied(&bench), "somebody moved the entries in between");
    }
    assert!(bench.state.tales.iter().all(|tale| tale.reason != Some("RegistrationDenied")));
    bench.run_to_write();
    assert!(is_denied(&bench));
    assert!(bench.state.tales.iter().any(|tale| tale.reason == Some("RegistrationDenied")));
}

#[test]
fn what_may_not_be_read_any_more_is_read_as_soon_as_it_may() {
    let mut bench = Bench::registered();
    let answer =
        Answer { date: None, outcome: Err(Trouble { kind: TroubleKind::Forbidden, text: String::new() }) };
    bench.state.configuration_answered(0, answer, bench.now, bench.at);
    bench.run();
    assert!(!bench.status().registrations[0].in_sync);
    assert_eq!(bench.status().waiting_for, None, "rule E1");
    bench.pass(Duration::from_secs(2));
    bench.run();
    assert!(bench.status().registrations[0].in_sync);
}
