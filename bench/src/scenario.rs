//! The names of the scenarios, and what they mean for a user.

use clap::ValueEnum;

/// The measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Steady creation of Pods that are changed
    S1,
    /// Objects that are allowed as they are
    S2,
    /// Objects that are denied
    S3,
    /// Half of the capacity
    S4,
    /// A new connection for each call
    S5,
    /// Bursts of calls
    S6,
    /// Certificates that change under load
    S7,
    /// More calls than can be answered
    S8,
    /// Memory and the size of programs
    S9,
    /// From the start of a process to its first answer
    S10,
    /// A CPU limit of 100m
    S11,
    /// Growth with rules, annotations and containers
    S12,
}

/// The scenarios of `--quick`.
pub(crate) const QUICK: [Scenario; 4] = [Scenario::S1, Scenario::S2, Scenario::S5, Scenario::S10];

impl Scenario {
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::S1 => "Steady load: every object gets a sidecar, a volume and an annotation",
            Self::S2 => "Objects that are allowed as they are",
            Self::S3 => "Objects that are denied with a message",
            Self::S4 => "Half of the capacity: latency where nothing has to wait long",
            Self::S5 => "A new connection for each call",
            Self::S6 => "Bursts of calls, with 25 idle connections as an API server keeps them",
            Self::S7 => "A new certificate every 100 ms",
            Self::S8 => "More calls than a handler of 1 ms can answer",
            Self::S9 => "Memory, and the size of the program",
            Self::S10 => "From the start of the process to its first answer",
            Self::S11 => "200 Pods a second at a CPU limit of 100m",
            Self::S12 => "Growth of the injector's cost",
        }
    }

    /// The use of the scenario for a user.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::S1 => {
                "The cost of an ordinary day: a rollout, a node that comes back. The tables of Pods are for three sizes, the others for shapes \
                 that no code was tuned for."
            }
            Self::S2 => "Most calls of most webhooks: an object that the webhook looks at and leaves alone.",
            Self::S3 => {
                "A user reads the message of a denial; a loop that tries again and again should cost little."
            }
            Self::S4 => {
                "What a single `kubectl apply` waits for a webhook that is not overloaded. Latency counts from the moment a call was due."
            }
            Self::S5 => {
                "After a start of an API server or of the webhook, and in bursts, calls wait for TLS handshakes. The note is the key exchange. \
                 The client is the bench's own."
            }
            Self::S6 => {
                "A Job or a Deployment that makes many Pods at once: an API server keeps 25 idle connections and opens the rest. CPU counts \
                 for each call, handshakes included."
            }
            Self::S7 => {
                "Certificates change while calls are made. No call may fail, and open connections stay."
            }
            Self::S8 => {
                "More calls than the webhook can answer. Refused calls are answered at once with `Retry-After`, and an API server repeats \
                 them within its timeout; calls that time out block a user for the whole timeout."
            }
            Self::S9 => {
                "What the memory limit of the Pod has to cover. Peaks are of 64 calls at a time; a process above its limit is killed."
            }
            Self::S10 => {
                "How long a new replica takes to be of use, without the time of the kubelet and of the API server."
            }
            Self::S11 => {
                "A container with a CPU limit of 100m, as many charts set it. A throttled webhook delays each write."
            }
            Self::S12 => "What one more rule, annotation or container costs each call: *µs each*.",
        }
    }
}
