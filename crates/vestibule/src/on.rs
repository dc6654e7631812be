//! When a hook is called.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Resource;
use vestibule_admission::{OnFault, Operation};

use crate::selector;

/// When a hook is called: resources and operations, namespaces, labels, and what a failed call means. Made by [`on`].
#[must_use = "hand it to `App::mutate` or `App::validate`"]
pub struct On<T> {
    pub(crate) rules: Vec<Rule>,
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    pub(crate) failure_policy: Option<FailurePolicy>,
    pub(crate) on_fault: OnFault,
    pub(crate) timeout_seconds: u8,
    pub(crate) errors: Vec<String>,
    of: PhantomData<fn(T)>,
}

/// Marks hooks whose handler takes the request as it came, for any resource.
pub enum Raw {}

/// Operations on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The API group; the core group is the empty string.
    pub group: String,
    /// `v1`
    pub version: String,
    /// The resource, in plural: `pods`, or with a subresource: `deployments/scale`.
    pub resource: String,
    /// What is asked.
    pub operations: Vec<Operation>,
}

/// What the API server does when a call fails: nobody answers, a fault, a deadline.
///
/// There is no default. Failing open lets objects pass untouched; failing closed stops writes of the whole cluster
/// while the webhook is down. Only the author knows which is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The request goes on as if there were no hook (`Ignore`).
    Open,
    /// The request is refused (`Fail`).
    Closed,
}

/// Calls a hook for `operations` on objects of type `T`.
///
/// ```
/// # use k8s_openapi::api::apps::v1::Deployment;
/// use vestibule::Operation::{Create, Update};
/// let on = vestibule::on::<Deployment>([Create, Update]).namespaces("team=shop").fail_closed();
/// ```
pub fn on<T: Resource<DynamicType = ()>>(operations: impl IntoIterator<Item = Operation>) -> On<T> {
    On::new(vec![Rule {
        group: T::group(&()).into_owned(),
        version: T::version(&()).into_owned(),
        resource: T::plural(&()).into_owned(),
        operations: operations.into_iter().collect(),
    }])
}

/// Calls a hook whose handler reads the request itself, for any set of resources.
pub fn on_raw(rules: impl IntoIterator<Item = Rule>) -> On<Raw> {
    On::new(rules.into_iter().collect())
}

impl<T> On<T> {
    fn new(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            namespaces: LabelSelector::default(),
            objects: LabelSelector::default(),
            failure_policy: None,
            on_fault: OnFault::default(),
            timeout_seconds: 5,
            errors: Vec::new(),
            of: PhantomData,
        }
    }

    /// Only in namespaces with these labels: `injection=enabled,team!=shop,!frozen`.
    pub fn namespaces(mut self, labels: &str) -> Self {
        let parsed = selector::parse(labels);
        self.namespaces = self.keep(parsed, "namespaces", labels);
        self
    }

    /// Only objects with these labels, old or new: `app=web`.
    pub fn objects(mut self, labels: &str) -> Self {
        let parsed = selector::parse(labels);
        self.objects = self.keep(parsed, "objects", labels);
        self
    }

    /// When a call fails, the request goes on untouched (`failurePolicy: Ignore`).
    pub fn fail_open(mut self) -> Self {
        self.failure_policy = Some(FailurePolicy::Open);
        self
    }

    /// When a call fails, the request is refused (`failurePolicy: Fail`).
    pub fn fail_closed(mut self) -> Self {
        self.failure_policy = Some(FailurePolicy::Closed);
        self
    }

    /// What a fault of the handler turns into; the failure policy decides unless said otherwise.
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = on_fault;
        self
    }

    /// How long the API server waits, 1 to 30 seconds; 5 unless said otherwise.
    pub fn timeout_seconds(mut self, seconds: u8) -> Self {
        self.timeout_seconds = seconds;
        self
    }

    /// What is wrong with it, each with the words to mend it.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.errors.clone();
        if self.failure_policy.is_none() {
            problems.push(
                "say what a failed call means: `.fail_open()` lets objects pass untouched while the webhook is down, \
                 `.fail_closed()` refuses them"
                    .to_owned(),
            );
        }
        if self.rules.is_empty() || self.rules.iter().any(|rule| rule.operations.is_empty()) {
            problems.push("name at least one operation, such as `Create`".to_owned());
        }
        if !(1..=30).contains(&self.timeout_seconds) {
            problems.push(format!("a timeout is 1 to 30 seconds, not {}", self.timeout_seconds));
        }
        problems
    }

    fn keep(&mut self, parsed: Result<LabelSelector, String>, what: &str, text: &str) -> LabelSelector {
        parsed.unwrap_or_else(|why| {
            self.errors.push(format!("`.{what}(\"{text}\")`: {why}"));
            LabelSelector::default()
        })
    }
}
