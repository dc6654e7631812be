//! Policies that would break an invariant, and policies below the floors of a real cluster.

use std::time::Duration;

use super::Policy;

/// The most unknown CAs, so that the ring stays below the 1 MiB limit of a Secret.
const MOST_FOREIGN: usize = 16;
const HOUR: Duration = Duration::from_secs(60 * 60);
const SHORTEST_LEAF: Duration = HOUR;
const SHORTEST_AUTHORITY: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const SHORTEST_COLD_HOLD: Duration = Duration::from_secs(10);

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct PolicyProblem {
    /// The fields of [`Policy`] that must change.
    pub fields: &'static [&'static str],
    text: String,
}

impl Policy {
    /// Whether the spans fit each other, so that the invariants hold.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vestibule_pki::ring::Policy;
    ///
    /// let mut policy = Policy::default();
    /// assert_eq!(policy.check(), Ok(()));
    /// policy.leaf_life = Duration::from_secs(200 * 24 * 60 * 60);
    /// assert!(policy.check().unwrap_err()[0].to_string().starts_with("leaves live too long"));
    /// ```
    ///
    /// # Errors
    /// Everything that would break an invariant, each with its reason.
    pub fn check(&self) -> Result<(), Vec<PolicyProblem>> {
        let (leaf, cold, hold, skew) = (self.leaf_life, self.hold_cold, self.hold, self.skew);
        let (period, quarantine, limit) = (self.period(), self.quarantine(), self.unknown_limit);
        let overlap = leaf.saturating_add(skew);
        let (twelfth, needed) = (self.authority_life / 12, overlap.saturating_add(leaf));
        let [leaf_text, cold_text, hold_text, period_text] = [leaf, cold, hold, period].map(words);
        let [skew_text, twelfth_text, needed_text] = [skew, twelfth, needed].map(words);
        let [recheck_text, quarantine_text] = [self.recheck, quarantine].map(words);
        let mut problems = self.fractions();
        let mut refuse = |wrong: bool, fields: &'static [&'static str], text: String| {
            if wrong {
                problems.push(PolicyProblem { fields, text });
            }
        };
        // A chain has one cross-signed certificate, so one rotation must be over before the next: invariant I1.
        let text = format!(
            "leaves live too long: {leaf_text} of leaf life and {skew_text} of clock skew must be shorter than the rotation \
             period {period_text} (a third of the CA's life), or rotations would overlap"
        );
        refuse(overlap >= period, &["leaf_life", "authority_life"], text);
        // The first two CAs end together, so the last call may come twice in a row (rule L1).
        let text = format!(
            "the CA's life is too short for its leaves: a twelfth of it ({twelfth_text}) must be at least two leaf lives and \
             the clock skew ({needed_text}), or a CA that could not be replaced in time ends under living leaves"
        );
        refuse(twelfth < needed, &["leaf_life", "authority_life"], text);
        // No next CA would ever be known in time (rule H1).
        let text = format!(
            "the hold {hold_text} must be shorter than the rotation period {period_text}, or every rotation waits for the \
             last call"
        );
        refuse(hold >= period, &["hold", "authority_life"], text);
        // A planned rotation has more time than a cold start.
        let text =
            format!("the hold of a cold start {cold_text} must not be longer than the hold {hold_text}");
        refuse(cold > hold, &["hold_cold", "hold"], text);
        // A leaf must outlive the wait for a new CA to be known (rule E1).
        let text = format!(
            "the leaf life {leaf_text} must be longer than twice the hold of a cold start {cold_text}, or leaves end while \
             their successors wait"
        );
        refuse(cold.saturating_mul(2) >= leaf, &["leaf_life", "hold_cold"], text);
        // A decision would rest on a look older than the wait that it ends.
        let text = format!(
            "a look may be {recheck_text} old, which must be shorter than the hold of a cold start {cold_text}"
        );
        refuse(self.recheck >= cold, &["hold_cold"], text);
        // A grafted CA's leaves live as long as any: invariant I4.
        let text = format!(
            "the quarantine {quarantine_text} must be at least the leaf life {leaf_text}, or CAs are removed under living \
             leaves"
        );
        refuse(quarantine < leaf, &["quarantine", "leaf_life"], text);
        // A Secret holds a mebibyte.
        let text = format!("{limit} unknown CAs do not fit into a Secret for sure; {MOST_FOREIGN} do");
        refuse(limit > MOST_FOREIGN, &["unknown_limit"], text);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Whether the spans are long enough for a cluster that people use. Tests may go below.
    ///
    /// # Errors
    /// Every span that is too short.
    pub fn floors(&self) -> Result<(), Vec<PolicyProblem>> {
        let [authority_life, leaf_life, _, hold_cold, _] = self.spans();
        let floors = [
            (leaf_life, SHORTEST_LEAF),
            (authority_life, SHORTEST_AUTHORITY),
            (hold_cold, SHORTEST_COLD_HOLD),
        ];
        let short = floors.into_iter().filter(|((_, _, given), least)| given < least);
        let problem = |((fields, name, given), least)| PolicyProblem {
            fields,
            text: format!(
                "the {name} {} is shorter than {}, the least that is supported",
                words(given),
                words(least)
            ),
        };
        let problems: Vec<_> = short.map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Spans that are not whole seconds, since moments are.
    fn fractions(&self) -> Vec<PolicyProblem> {
        let wrong = |span: Duration| span.as_secs() == 0 || span.subsec_nanos() != 0;
        let spans = self.spans().into_iter().filter(|(.., span)| wrong(*span));
        let text = |name| format!("the {name} must be at least a second, and whole seconds");
        spans.map(|(fields, name, _)| PolicyProblem { fields, text: text(name) }).collect()
    }

    /// Each span with its field and its name in messages.
    fn spans(&self) -> [(&'static [&'static str], &'static str, Duration); 5] {
        [
            (&["authority_life"], "CA's life", self.authority_life),
            (&["leaf_life"], "leaf life", self.leaf_life),
            (&["hold"], "hold", self.hold),
            (&["hold_cold"], "hold of a cold start", self.hold_cold),
            (&["switch_wait"], "wait for replicas to leave a revoked CA", self.switch_wait),
        ]
    }
}

/// `7 d`, `90 min`: in the largest unit that divides it.
fn words(span: Duration) -> String {
    let seconds = span.as_secs();
    let units = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "min")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length && seconds.is_multiple_of(*length));
    let (length, unit) = unit.unwrap_or((1, "s"));
    format!("{} {unit}", seconds / length)
}

#[cfg(test)]
mod tests;
