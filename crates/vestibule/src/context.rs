//! The request beside the object.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vestibule_admission::{AuditAnnotations, Operation, Outcome, Request, Verdict, Warnings};

/// What a handler knows about the request, and a place to leave words for the user. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    uid: String,
    operation: Operation,
    kind: [String; 3],
    resource: [String; 3],
    subresource: Option<String>,
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    user: User,
    dry_run: bool,
    deadline: Instant,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    warnings: Warnings,
    audit: AuditAnnotations,
}

/// Who asks, as authenticated by the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// `alice`, `system:serviceaccount:NAMESPACE:NAME`
    pub username: String,
    /// Tells users of one name apart over time.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
}

impl Context {
    pub(crate) fn new(request: &Request<'_>, budget: Duration) -> Self {
        let Request { kind, resource, user, .. } = request;
        Self(Arc::new(Inner {
            uid: request.uid.to_string(),
            operation: request.operation,
            kind: [&kind.group, &kind.version, &kind.kind].map(ToString::to_string),
            resource: [&resource.group, &resource.version, &resource.resource].map(ToString::to_string),
            subresource: request.subresource.as_deref().map(str::to_owned),
            name: request.name.as_deref().map(str::to_owned),
            generate_name: request.generate_name().map(std::borrow::Cow::into_owned),
            namespace: request.namespace.as_deref().map(str::to_owned),
            user: User {
                username: user.username.to_string(),
                uid: user.uid.to_string(),
                groups: user.groups.clone(),
            },
            dry_run: request.dry_run,
            deadline: Instant::now() + budget,
            notes: Mutex::default(),
        }))
    }

    /// Names this call. A second call about the same object has another.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// What is asked. An UPDATE may have been a PUT, a PATCH or a server-side apply.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// Group, version and kind of the object; the core group is the empty string.
    pub fn kind(&self) -> (&str, &str, &str) {
        let [group, version, kind] = &self.0.kind;
        (group, version, kind)
    }

    /// Group, version and resource; the core group is the empty string.
    pub fn resource(&self) -> (&str, &str, &str) {
        let [group, version, resource] = &self.0.resource;
        (group, version, resource)
    }

    /// `status`, `scale` and so on.
    pub fn subresource(&self) -> Option<&str> {
        self.0.subresource.as_deref()
    }

    /// The object's name; absent while the API server has yet to make one from [`Context::generate_name`].
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The prefix of a name yet to be made.
    pub fn generate_name(&self) -> Option<&str> {
        self.0.generate_name.as_deref()
    }

    /// The request's namespace; absent for cluster-scoped objects. The object itself may not carry it yet.
    pub fn namespace(&self) -> Option<&str> {
        self.0.namespace.as_deref()
    }

    /// Who asks.
    pub fn user(&self) -> &User {
        &self.0.user
    }

    /// Whether nothing will be stored: leave no trace elsewhere either.
    pub fn dry_run(&self) -> bool {
        self.0.dry_run
    }

    /// When the answer must be there.
    pub fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// The time left for an answer.
    pub fn remaining(&self) -> Duration {
        self.0.deadline.saturating_duration_since(Instant::now())
    }

    /// Tells the user something without refusing; kubectl prints it after `Warning:`. Each line is a warning of its own.
    pub fn warn(&self, warning: impl AsRef<str>) {
        self.notes(|notes| notes.warnings.push(warning.as_ref()));
    }

    /// Leaves a note in the API server's audit log. Never a secret: audit logs are widely read.
    pub fn audit(&self, key: &str, value: impl Into<String>) {
        self.notes(|notes| notes.audit.insert(key, value));
    }

    /// The verdict, with what was said beside it.
    pub(crate) fn verdict(&self, outcome: Outcome) -> Verdict {
        let mut verdict = Verdict::from(outcome);
        self.notes(|notes| {
            verdict.warnings = std::mem::take(&mut notes.warnings);
            verdict.audit = std::mem::take(&mut notes.audit);
        });
        verdict
    }

    fn notes(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.0.notes.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
