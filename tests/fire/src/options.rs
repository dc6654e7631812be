//! The command line of the soak.

use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use vestibule_pki::ring::Policy;

/// Rotates certificates under load on a real kube-apiserver, and counts the calls that fail
#[derive(Clone, Debug, Parser)]
#[command(name = "soak")]
pub struct Options {
    /// A row of the fault table; overrides the numbers given here
    #[arg(long, value_enum)]
    pub case: Option<Case>,
    /// Number of CA rotations
    #[arg(long, default_value_t = 20)]
    pub rotations: usize,
    /// Number of serving certificates to renew under the same CA
    #[arg(long, default_value_t = 0)]
    pub leaf_renewals: usize,
    /// Number of replicas
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub replicas: u16,
    /// Delay of configurations at one of the API servers, in seconds
    #[arg(long, default_value_t = 0)]
    pub lag: u64,
    /// Order of changes in a rotation
    #[arg(long, value_enum, default_value_t = Order::Ring)]
    pub order: Order,
    /// Time limit
    #[arg(long, value_name = "LIMIT", default_value_t = 30)]
    pub minutes: u64,
    /// Calls per second, to all API servers together
    #[arg(long, default_value_t = 60)]
    pub rate: u32,
    /// API servers: 1 or 2
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub api_servers: u8,
    /// Seconds between rotations; longer than the lag, because a cross-signed certificate covers one generation
    #[arg(long)]
    pub period: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub timing: Timing,
}

/// Lifetimes and waits in seconds, far below the range of the shipped flags.
#[derive(Clone, Debug, Args)]
pub struct Timing {
    /// Validity of a leaf
    #[arg(long, value_name = "SECONDS", default_value_t = 6)]
    pub leaf: u64,
    /// Validity of a CA
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 60 * 60)]
    pub authority: u64,
    /// Time for which the next CA must be in all configurations before it signs
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub hold: u64,
    /// The same for the first CA
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub hold_cold: u64,
    /// Tolerated clock skew
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub skew: u64,
    /// With `leaf-first`: time from the change of the leaf to the change of the configurations
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1500)]
    pub bundle_delay: u64,
}

/// A row of the fault table in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Ten rotations with one replica, with two and with five
    Rows2,
    /// Ten rotations, one API server 30 s behind
    Rows3,
    /// Three rotations in a cluster with 20,000 Secrets, 500 configurations and 300 CustomResourceDefinitions
    Row36,
}

/// The order of changes in a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The ring: a CA is trusted everywhere before it signs
    Ring,
    /// The wrong order: the new leaf first, then the configurations
    LeafFirst,
}

impl Order {
    /// As on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::LeafFirst => "leaf-first",
        }
    }
}

impl Options {
    /// Parses `arguments`, without the program's name.
    ///
    /// # Errors
    /// The arguments are invalid.
    pub fn of(arguments: &[&str]) -> Result<Self, clap::Error> {
        Self::try_parse_from(std::iter::once("soak").chain(arguments.iter().copied())).map(Self::with_case)
    }

    /// Applies the numbers of the chosen row.
    #[must_use]
    pub fn with_case(mut self) -> Self {
        match self.case {
            None => {}
            Some(Case::Rows2) => self.rotations = 10,
            Some(Case::Rows3) => (self.rotations, self.lag, self.api_servers) = (10, 30, 2),
            Some(Case::Row36) => self.rotations = 3,
        }
        self
    }

    /// The soaks to run one after the other.
    #[must_use]
    pub fn runs(&self) -> Vec<Self> {
        let replicas = if self.case == Some(Case::Rows2) { vec![1, 2, 5] } else { vec![self.replicas] };
        replicas.into_iter().map(|replicas| Self { replicas, ..self.clone() }).collect()
    }

    /// The time from one rotation to the next.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_secs(self.period.unwrap_or(self.lag + self.timing.leaf))
    }
}

impl Timing {
    /// The policy of the ring.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        (policy.authority_life, policy.leaf_life) = (self.authority_life(), self.leaf_life());
        (policy.hold, policy.hold_cold) = (seconds(self.hold), seconds(self.hold_cold));
        (policy.skew, policy.recheck, policy.switch_wait) = (seconds(self.skew), seconds(1), seconds(2));
        policy
    }

    /// Validity of a CA.
    #[must_use]
    pub fn authority_life(&self) -> Duration {
        seconds(self.authority)
    }

    /// Validity of a leaf.
    #[must_use]
    pub fn leaf_life(&self) -> Duration {
        seconds(self.leaf)
    }

    /// The time from the change of the leaf to the change of the configurations, in the wrong order.
    #[must_use]
    pub fn bundle_delay(&self) -> Duration {
        Duration::from_millis(self.bundle_delay)
    }

    /// The values as arguments of a replica.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let Self { leaf, authority, hold, hold_cold, skew, bundle_delay } = self;
        vec![
            format!("--leaf={leaf}"),
            format!("--authority={authority}"),
            format!("--hold={hold}"),
            format!("--hold-cold={hold_cold}"),
            format!("--skew={skew}"),
            format!("--bundle-delay={bundle_delay}"),
        ]
    }
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
