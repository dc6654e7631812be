//! The webhook that is called: the fields of its registration that matter to a call.

use std::time::Duration;

/// kube-apiserver's default of `timeoutSeconds`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether a hook may change the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// An entry of a `MutatingWebhookConfiguration`: it may answer with a patch.
    Mutating,
    /// An entry of a `ValidatingWebhookConfiguration`: it allows or denies.
    Validating,
}

/// One entry of a webhook configuration.
///
/// ```
/// use std::time::Duration;
/// use vestibule_caller::Hook;
///
/// let hook = Hook::mutating("labels.example.com", "/labels/").timeout(Duration::from_millis(1500));
/// assert_eq!(hook.request_target(), "/labels?timeout=2s");
/// ```
#[derive(Clone, Debug)]
pub struct Hook {
    name: String,
    kind: HookKind,
    path: String,
    timeout: Duration,
}

impl Hook {
    /// A mutating webhook of this name at this path.
    pub fn mutating(name: &str, path: &str) -> Self {
        Self::new(name, HookKind::Mutating, path)
    }

    /// A validating webhook of this name at this path.
    pub fn validating(name: &str, path: &str) -> Self {
        Self::new(name, HookKind::Validating, path)
    }

    /// The longest time of one call, retries included; 10 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The webhook's name, as in the messages that users see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may change the object.
    pub fn kind(&self) -> HookKind {
        self.kind
    }

    /// Path and query of the request; the timeout is rounded up to a whole second.
    pub fn request_target(&self) -> String {
        let seconds = self.timeout.as_secs() + u64::from(self.timeout.subsec_nanos() > 0);
        format!("{}?timeout={seconds}s", self.path)
    }

    /// The longest time of one call, retries included.
    pub fn budget(&self) -> Duration {
        self.timeout
    }

    fn new(name: &str, kind: HookKind, path: &str) -> Self {
        // kube-apiserver normalises the path the same way: `/mutate/` is requested as `/mutate`.
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        Self {
            name: name.to_owned(),
            kind,
            path: format!("/{}", segments.join("/")),
            timeout: DEFAULT_TIMEOUT,
        }
    }
}
