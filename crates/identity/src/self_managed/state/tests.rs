use std::time::SystemTime;

use serde_json::json;

use super::*;
use crate::self_managed::conversation::{Answer, Trouble, TroubleKind};

const START: Moment = Moment(1_800_000_000);

/// A replica without configurations, and a Secret of one version after the other.
struct Bench {
    state: State,
    secret: Option<Value>,
    version: u64,
    now: Moment,
    at: Instant,
    reachable: bool,
}

impl Bench {
    fn new() -> Self {
        let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
        let settings = Settings::for_service(service);
        let secret = settings.secret.clone().unwrap();
        let state = State::new(settings, secret);
        Self { state, secret: None, version: 0, now: START, at: Instant::now(), reachable: true }
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
                Some(Deed::ReadRing) => {
                    let answer = self.answer(self.secret.clone());
                    self.state.ring_answered(answer, self.now, self.at);
                }
                Some(Deed::WriteRing(mut write)) => {
                    let mut object: Value =
                        serde_json::from_slice(&std::mem::take(&mut write.object)).unwrap();
                    self.version += 1;
                    object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                    self.secret = Some(object.clone());
                    let answer = self.answer(Some(object));
                    self.state.ring_write_answered(*write, answer, self.now, self.at);
                }
                Some(Deed::Present(leaf)) => presented = Some(leaf),
                Some(_) => panic!("there are no configurations"),
            }
        }
        panic!("it does not come to rest");
    }

    fn answer(&self, object: Option<Value>) -> Answer {
        let trouble = |kind| Trouble { kind, text: String::new() };
        let outcome = match object {
            _ if !self.reachable => Err(trouble(TroubleKind::Unreachable)),
            None => Err(trouble(TroubleKind::NotFound)),
            Some(object) => Ok(object.to_string().into_bytes()),
        };
        Answer { date: None, outcome }
    }

    fn status(&self) -> crate::Status {
        self.state.status(self.now, self.at)
    }
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
    bench.reachable = false;
    bench.pass(Duration::from_secs(5 * 24 * 60 * 60));
    assert!(bench.run().is_none(), "a new one would end no later");
    assert_eq!(bench.status().waiting_for, None);
    bench.pass(Duration::from_secs(3 * 24 * 60 * 60));
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
