//! The options of a CA ring that users may set, and their checks.

use std::fmt;
use std::time::Duration;

use rustls_pki_types::DnsName;
use vestibule_pki::ring::{Algorithm, Policy, PolicyProblem, UnknownAuthorities};

use crate::Settings;

/// The options of a CA ring. Every option has a default.
///
/// ```
/// use std::time::Duration;
/// use vestibule_identity::RingOptions;
///
/// let options = RingOptions { leaf_life: Duration::from_secs(60), ..RingOptions::default() };
/// let error = options.policy().unwrap_err();
/// assert!(error.to_string().contains("--leaf-life: the leaf life 1 min is shorter than 1 h"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingOptions {
    /// The kind of key that new CAs get, and the leaves below them: p256 or p384
    pub algorithm: Algorithm,
    /// How long a CA is valid; it is published for a third of that before it signs, and signs for a third
    pub ca_life: Duration,
    /// How long a serving certificate is valid; also how long a replica goes on without the API server
    pub leaf_life: Duration,
    /// How long the next CA must have been in every caBundle, without a gap, before it signs
    pub hold: Duration,
    /// The same for the first CA of a ring: the wait before the first readiness
    pub hold_cold: Duration,
    /// How long a CA of unknown origin stays trusted; the leaf's life unless given
    pub quarantine: Option<Duration>,
    /// What becomes of CAs in a caBundle that this ring never made: drop them, or keep each where it was found, for a migration
    pub unknown_ca: UnknownAuthorities,
    /// The organisation in the name of every CA
    pub organisation: String,
    /// The DNS domain of the cluster
    pub cluster_domain: String,
}

/// Options that would break an invariant of the ring, with all reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingOptionsError {
    /// One sentence for each, naming the flag.
    pub problems: Vec<String>,
}

impl Default for RingOptions {
    fn default() -> Self {
        let (policy, settings) = (Policy::default(), Settings::default());
        Self {
            algorithm: Algorithm::default(),
            ca_life: policy.authority_life,
            leaf_life: policy.leaf_life,
            hold: policy.hold,
            hold_cold: policy.hold_cold,
            quarantine: policy.quarantine,
            unknown_ca: policy.unknown_authorities,
            organisation: settings.organisation,
            cluster_domain: settings.cluster_domain,
        }
    }
}

impl RingOptions {
    /// The policy with these options.
    ///
    /// # Errors
    /// Every span below its floor, and every combination that breaks an invariant.
    pub fn policy(&self) -> Result<Policy, RingOptionsError> {
        let mut policy = Policy::default();
        policy.authority_life = self.ca_life;
        policy.leaf_life = self.leaf_life;
        policy.hold = self.hold;
        policy.hold_cold = self.hold_cold;
        policy.quarantine = self.quarantine;
        policy.unknown_authorities = self.unknown_ca;

        let found = [policy.floors(), policy.check()].into_iter().filter_map(Result::err).flatten();
        let mut problems: Vec<_> = found.map(|problem| format!("{}: {problem}", flags(&problem))).collect();
        self.names(&mut problems);
        if problems.is_empty() { Ok(policy) } else { Err(RingOptionsError { problems }) }
    }

    /// The settings with these options.
    ///
    /// # Errors
    /// As [`policy`](Self::policy).
    pub fn apply(&self, settings: Settings) -> Result<Settings, RingOptionsError> {
        Ok(Settings {
            policy: self.policy()?,
            algorithm: self.algorithm,
            organisation: self.organisation.clone(),
            cluster_domain: self.cluster_domain.clone(),
            ..settings
        })
    }

    fn names(&self, problems: &mut Vec<String>) {
        // ` CA ` and twelve digits follow in a common name of 64 (RFC 5280, A.1: ub-common-name).
        const LONGEST: usize = 48;
        let organisation = &self.organisation;
        if organisation.trim().is_empty() {
            problems.push("--ca-organisation is empty: every CA carries it in its name".to_owned());
        } else if organisation.chars().any(char::is_control) {
            problems.push("--ca-organisation holds control characters".to_owned());
        } else if organisation.chars().count() > LONGEST {
            problems.push(format!(
                "--ca-organisation has more than {LONGEST} characters: the CA's name holds no more"
            ));
        }
        let domain = &self.cluster_domain;
        if DnsName::try_from(domain.as_str()).is_err() || domain.ends_with('.') {
            problems.push(format!("--cluster-domain `{domain}` is no DNS domain such as cluster.local"));
        }
    }
}

/// The flags that a problem is about.
fn flags(problem: &PolicyProblem) -> &'static str {
    match problem {
        PolicyProblem::NotSeconds { span } | PolicyProblem::Floor { span, .. } => match *span {
            "CA's life" => "--ca-life",
            "leaf life" => "--leaf-life",
            "hold" => "--hold",
            _ => "--hold-cold",
        },
        PolicyProblem::Overlap { .. } | PolicyProblem::LastCall { .. } => "--leaf-life, --ca-life",
        PolicyProblem::Hold { .. } => "--hold, --ca-life",
        PolicyProblem::ColdHold { .. } => "--hold-cold, --hold",
        PolicyProblem::Patience { .. } => "--leaf-life, --hold-cold",
        PolicyProblem::Recheck { .. } => "--hold-cold",
        PolicyProblem::Quarantine { .. } => "--quarantine, --leaf-life",
        _ => "the policy",
    }
}

impl fmt::Display for RingOptionsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for RingOptionsError {}

#[cfg(test)]
mod tests;
