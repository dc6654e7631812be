//! The state that the status writer keeps for each object.

use serde_json::Value;
use tokio::time::Instant;

use super::counts::Counts;
use super::{COUNTS_INTERVAL, Update, Written};
use crate::configuration::rule_object::ObservedObject;

/// The state that the writer keeps for an object between rounds.
#[derive(Default)]
pub(super) struct Memory {
    /// When its conditions were first seen to be out of date.
    pub(super) differs_since: Option<Instant>,
    /// The resource version that the last write was based on. The watch has not seen that write while it still shows this one.
    pub(super) written_from: Option<String>,
    /// A status that the API server left as it was, because the definition there lacks a member of it, and when. It is tried again
    /// after [`COUNTS_INTERVAL`], as the definition may be newer then.
    pub(super) not_taken: Option<(Value, Instant)>,
    /// The counts that are in the stored status, and when they were written.
    pub(super) reported: Counts,
    pub(super) counts_written: Option<Instant>,
    /// A write of counts without an answer.
    pub(super) unanswered: Option<Unanswered>,
}

/// A write of counts that the API server may have carried out. It is repeated as it was until the watch shows another version of the
/// object, which has these counts if it was carried out. Only if another replica has added its counts before the watch shows that
/// version, the write is taken for lost, and its outcomes are counted twice.
pub(super) struct Unanswered {
    /// The resource version that it was based on.
    pub(super) from: String,
    /// The member `counts` of the status.
    pub(super) counts: Value,
    /// The outcomes of this process that are in it.
    pub(super) total: Counts,
}

impl Memory {
    /// Finds out whether a write without an answer was carried out, as soon as the watch shows another version of the object.
    pub(super) fn seen(&mut self, object: &ObservedObject, now: Instant) {
        let is_decided = |write: &mut Unanswered| write.from != object.resource_version;
        if let Some(write) = self.unanswered.take_if(is_decided)
            && write.counts == object.status["counts"]
        {
            (self.reported, self.counts_written) = (write.total, Some(now));
        }
    }

    /// Whether the API server left this status as it was, a short time ago.
    pub(super) fn was_not_taken(&self, status: &Value) -> bool {
        let is_again =
            |(not_taken, at): &(Value, Instant)| not_taken == status && at.elapsed() < COUNTS_INTERVAL;
        self.not_taken.as_ref().is_some_and(is_again)
    }

    /// Records the outcome of a write.
    pub(super) fn attempted(
        &mut self,
        object: &ObservedObject,
        update: Update,
        written: Written,
        now: Instant,
    ) {
        let Update { status, total } = update;
        match written {
            Written::Version(version) => {
                let is_taken = version != object.resource_version;
                self.written_from = is_taken.then(|| object.resource_version.clone());
                self.not_taken = (!is_taken).then(|| (status, Instant::now()));
                self.unanswered = None;
                if let Some(total) = total {
                    (self.reported, self.counts_written) = (total, Some(now));
                }
            }
            Written::Unknown => {
                if let Some(total) = total {
                    let (from, counts) = (object.resource_version.clone(), status["counts"].clone());
                    self.unanswered = Some(Unanswered { from, counts, total });
                }
            }
            Written::Refused => {}
        }
    }
}
