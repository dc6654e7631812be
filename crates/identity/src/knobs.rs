//! What users may set of the ring's policy, and what they may not.

use std::fmt;
use std::time::Duration;

use rustls_pki_types::DnsName;
use vestibule_pki::ring::{Algorithm, Policy};

use crate::Settings;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = HOUR.saturating_mul(24);

/// What users may set of a CA ring, each as a flag and a variable of the same name. Nothing here has to be changed.
///
/// ```
/// use std::time::Duration;
/// use vestibule_identity::Knobs;
///
/// let knobs = Knobs { leaf_life: Duration::from_secs(60), ..Knobs::default() };
/// let error = knobs.policy().unwrap_err();
/// assert!(error.to_string().contains("--leaf-life 1m is below 1h"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
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
    /// The organisation in the name of every CA
    pub organisation: String,
    /// The DNS domain of the cluster
    pub cluster_domain: String,
}

/// Knobs that would break what the ring promises; every reason at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnobError {
    /// One sentence for each, naming the flag.
    pub problems: Vec<String>,
}

impl Default for Knobs {
    fn default() -> Self {
        let (policy, settings) = (Policy::default(), Settings::default());
        Self {
            algorithm: Algorithm::default(),
            ca_life: policy.authority_life,
            leaf_life: policy.leaf_life,
            hold: policy.hold,
            hold_cold: policy.hold_cold,
            organisation: settings.organisation,
            cluster_domain: settings.cluster_domain,
        }
    }
}

impl Knobs {
    /// The policy that they ask for.
    ///
    /// # Errors
    /// Every value below its floor, and every two that do not go together.
    pub fn policy(&self) -> Result<Policy, KnobError> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(KnobError { problems });
        }
        let mut policy = Policy::default();
        policy.authority_life = self.ca_life;
        policy.leaf_life = self.leaf_life;
        policy.hold = self.hold;
        policy.hold_cold = self.hold_cold;
        Ok(policy)
    }

    /// The same settings, as these knobs want them.
    ///
    /// # Errors
    /// As [`policy`](Self::policy).
    pub fn apply(&self, settings: Settings) -> Result<Settings, KnobError> {
        Ok(Settings {
            policy: self.policy()?,
            algorithm: self.algorithm,
            organisation: self.organisation.clone(),
            cluster_domain: self.cluster_domain.clone(),
            ..settings
        })
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        self.spans(&mut problems);
        self.relations(&mut problems);
        self.words(&mut problems);
        problems
    }

    fn spans(&self, problems: &mut Vec<String>) {
        let floors = [
            ("--ca-life", self.ca_life, 30 * DAY, "a rotation needs months in which nothing has to run"),
            (
                "--leaf-life",
                self.leaf_life,
                HOUR,
                "an outage of the API of that length would be one of the webhook",
            ),
            ("--hold", self.hold, SECOND, "a CA must be known before it signs"),
            ("--hold-cold", self.hold_cold, 10 * SECOND, "API servers need some seconds to learn of a CA"),
        ];
        for (flag, span, floor, because) in floors {
            if span < floor {
                problems.push(format!("{flag} {} is below {}: {because}", words(span), words(floor)));
            } else if span.subsec_nanos() != 0 {
                problems.push(format!("{flag} {span:?} is not in whole seconds, as certificates are"));
            }
        }
        let ceiling = 36_500 * DAY;
        if self.ca_life > ceiling {
            problems.push(format!("--ca-life {} is above {}", words(self.ca_life), words(ceiling)));
        }
    }

    /// Each keeps two spans of the protocol from running into each other.
    fn relations(&self, problems: &mut Vec<String>) {
        let (ca, leaf, hold, cold) =
            (words(self.ca_life), words(self.leaf_life), words(self.hold), words(self.hold_cold));
        if self.leaf_life.saturating_mul(6) >= self.ca_life {
            problems.push(format!(
                "--leaf-life {leaf} is not below a sixth of --ca-life {ca}: the leaves of one CA must have ended well \
                 before the next CA is replaced, and a CA would be replaced unheld"
            ));
        }
        if self.hold.saturating_mul(3) >= self.ca_life {
            problems.push(format!(
                "--hold {hold} is not below a third of --ca-life {ca}: the next CA could not be held by the time it \
                 must sign"
            ));
        }
        if self.hold < self.hold_cold {
            problems.push(format!(
                "--hold {hold} is below --hold-cold {cold}: what the first CA needs to become known, the next one \
                 needs too"
            ));
        }
        if self.hold_cold.saturating_mul(6) >= self.leaf_life {
            problems.push(format!(
                "--hold-cold {cold} is not below a sixth of --leaf-life {leaf}: a leaf could end while its replacement \
                 waits to be trusted"
            ));
        }
    }

    fn words(&self, problems: &mut Vec<String>) {
        // ` CA ` and twelve digits follow in a common name of 64 (RFC 5280, A.1: ub-common-name).
        const LONGEST: usize = 48;
        let organisation = &self.organisation;
        if organisation.trim().is_empty() {
            problems.push("--organisation is empty: every CA carries it in its name".to_owned());
        } else if organisation.chars().any(char::is_control) {
            problems.push("--organisation holds control characters".to_owned());
        } else if organisation.chars().count() > LONGEST {
            problems.push(format!(
                "--organisation has more than {LONGEST} characters: the CA's name holds no more"
            ));
        }
        let domain = &self.cluster_domain;
        if DnsName::try_from(domain.as_str()).is_err() || domain.ends_with('.') {
            problems.push(format!("--cluster-domain `{domain}` is no DNS domain such as cluster.local"));
        }
    }
}

/// As people write spans: `7d`, `1h`, `90s`.
fn words(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{span:?}"),
        _ if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        _ if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

impl fmt::Display for KnobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for KnobError {}

#[cfg(test)]
mod tests;
