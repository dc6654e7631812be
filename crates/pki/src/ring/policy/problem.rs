//! Policies that would break an invariant, and policies below the floors of a real cluster.

use std::time::Duration;

use super::Policy;

/// At most this many unknown CAs, so that the ring stays below the 1 MiB limit of a Secret.
const MOST_FOREIGN: usize = 16;
const HOUR: Duration = Duration::from_secs(60 * 60);
const SHORTEST_LEAF: Duration = HOUR;
const SHORTEST_AUTHORITY: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const SHORTEST_COLD_HOLD: Duration = Duration::from_secs(10);

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyProblem {
    /// Moments are seconds.
    #[error("the {span} must be at least a second, and whole seconds")]
    NotSeconds {
        /// The name of the span.
        span: &'static str,
    },
    /// A chain has one cross-signed certificate, so one rotation must be over before the next: invariant I1.
    #[error(
        "leaves live too long: {} of leaf life and {} of clock skew must be shorter than the rotation period {} (a third of the CA's life), or rotations would overlap",
        words(*leaf), words(*skew), words(*period)
    )]
    Overlap {
        /// The leaf's life.
        leaf: Duration,
        /// The skew.
        skew: Duration,
        /// The rotation period.
        period: Duration,
    },
    /// The first two CAs end together, so the last call may come twice in a row (rule L1).
    #[error(
        "the CA's life is too short for its leaves: a twelfth of it ({}) must be at least two leaf lives and the clock skew ({}), or a CA that could not be replaced in time ends under living leaves",
        words(*twelfth), words(*needed)
    )]
    LastCall {
        /// A twelfth of the CA's life.
        twelfth: Duration,
        /// The required value.
        needed: Duration,
    },
    /// No next CA would ever be known in time (rule H1).
    #[error(
        "the hold {} must be shorter than the rotation period {}, or every rotation waits for the last call",
        words(*hold), words(*period)
    )]
    Hold {
        /// The hold.
        hold: Duration,
        /// The rotation period.
        period: Duration,
    },
    /// A planned rotation has more time than a cold start.
    #[error("the hold of a cold start {} must not be longer than the hold {}", words(*cold), words(*hold))]
    ColdHold {
        /// The hold of a cold start.
        cold: Duration,
        /// The hold.
        hold: Duration,
    },
    /// A leaf must outlive the wait for a new CA to be known (rule E1).
    #[error(
        "the leaf life {} must be longer than twice the hold of a cold start {}, or leaves end while their successors wait",
        words(*leaf), words(*cold)
    )]
    Patience {
        /// The leaf's life.
        leaf: Duration,
        /// The hold of a cold start.
        cold: Duration,
    },
    /// A decision would rest on a look older than the wait that it ends.
    #[error("a look may be {} old, which must be shorter than the hold of a cold start {}", words(*recheck), words(*cold))]
    Recheck {
        /// How old a look may be.
        recheck: Duration,
        /// The hold of a cold start.
        cold: Duration,
    },
    /// A grafted CA's leaves live as long as any: invariant I4.
    #[error(
        "the quarantine {} must be at least the leaf life {}, or CAs are removed under living leaves",
        words(*quarantine), words(*leaf)
    )]
    Quarantine {
        /// The quarantine.
        quarantine: Duration,
        /// The leaf's life.
        leaf: Duration,
    },
    /// A Secret holds a mebibyte.
    #[error("{limit} foreign CAs do not fit into a Secret for sure; {MOST_FOREIGN} do")]
    TooManyForeign {
        /// The limit asked for.
        limit: usize,
    },
    /// Sound, but not for a cluster that people use.
    #[error("the {span} {} is shorter than {}, the least that is supported", words(*given), words(*least))]
    Floor {
        /// The name of the span.
        span: &'static str,
        /// As given.
        given: Duration,
        /// The least.
        least: Duration,
    },
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
        let period = self.period();
        let mut problems = self.fractions();
        let mut refuse = |wrong: bool, problem: PolicyProblem| {
            if wrong {
                problems.push(problem);
            }
        };
        let overlap = leaf.saturating_add(skew);
        refuse(overlap >= period, PolicyProblem::Overlap { leaf, skew, period });
        let (twelfth, needed) = (self.authority_life / 12, overlap.saturating_add(leaf));
        refuse(twelfth < needed, PolicyProblem::LastCall { twelfth, needed });
        refuse(hold >= period, PolicyProblem::Hold { hold, period });
        refuse(cold > hold, PolicyProblem::ColdHold { cold, hold });
        refuse(cold.saturating_mul(2) >= leaf, PolicyProblem::Patience { leaf, cold });
        let recheck = self.recheck;
        refuse(recheck >= cold, PolicyProblem::Recheck { recheck, cold });
        let quarantine = self.quarantine();
        refuse(quarantine < leaf, PolicyProblem::Quarantine { quarantine, leaf });
        let limit = self.unknown_limit;
        refuse(limit > MOST_FOREIGN, PolicyProblem::TooManyForeign { limit });
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Whether the spans are long enough for a cluster that people use. Tests may go below.
    ///
    /// # Errors
    /// Every span that is too short.
    pub fn floors(&self) -> Result<(), Vec<PolicyProblem>> {
        let spans = [
            ("leaf life", self.leaf_life, SHORTEST_LEAF),
            ("CA's life", self.authority_life, SHORTEST_AUTHORITY),
            ("hold of a cold start", self.hold_cold, SHORTEST_COLD_HOLD),
        ];
        let short = spans.into_iter().filter(|(_, given, least)| given < least);
        let problems: Vec<_> =
            short.map(|(span, given, least)| PolicyProblem::Floor { span, given, least }).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn fractions(&self) -> Vec<PolicyProblem> {
        let spans = [
            ("CA's life", self.authority_life),
            ("leaf life", self.leaf_life),
            ("hold", self.hold),
            ("hold of a cold start", self.hold_cold),
            ("wait for replicas to leave a revoked CA", self.switch_wait),
        ];
        let wrong = spans.into_iter().filter(|(_, span)| span.as_secs() == 0 || span.subsec_nanos() != 0);
        wrong.map(|(span, _)| PolicyProblem::NotSeconds { span }).collect()
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
