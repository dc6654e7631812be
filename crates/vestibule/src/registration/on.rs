//! The declaration of a hook: the requests for which the API server calls it.

pub(crate) mod choices;
mod problems;

use std::marker::PhantomData;

use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Resource;
use vestibule_admission::{OnFault, Operation, Version};

use crate::registration::rule::Rule;
use crate::registration::selector;
use choices::{FailurePolicy, MatchPolicy, Reinvocation, Scope, SideEffects};

/// The requests for which a hook is called (resources, operations, namespaces, labels), and the meaning of a failed call. Made
/// by [`on`], [`on_rules`] or [`on_raw`]; [`App::check`](crate::App::check) reports its problems.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::{Create, Update};
/// use vestibule::{FailurePolicy, OnFault, SideEffects, on};
///
/// let on = on::<Pod>([Create, Update])
///     .namespaces("team in (shop,web),!frozen")
///     .objects("app=web")
///     .match_condition("not-nodes", "!('system:nodes' in request.userInfo.groups)")
///     .side_effects(SideEffects::NoneOnDryRun)
///     .timeout_seconds(3)
///     .on_fault(OnFault::AllowWithWarning)
///     .failure_policy(FailurePolicy::Ignore);
/// ```
#[must_use = "hand it to `App::mutate` or `App::validate`"]
pub struct On<T> {
    pub(crate) declaration: Declaration,
    of: PhantomData<fn(T)>,
}

/// The declaration of a hook, without the type of its objects.
#[derive(Clone, Default)]
pub struct Declaration {
    /// The operations and resources that the hook is called for.
    pub rules: Vec<Rule>,
    pub(crate) namespaces: LabelSelector,
    /// `objectSelector`.
    pub objects: LabelSelector,
    pub(crate) failure_policy: Option<FailurePolicy>,
    pub(crate) on_fault: OnFault,
    /// `timeoutSeconds`.
    pub timeout_seconds: u8,
    pub(crate) match_conditions: Vec<MatchCondition>,
    pub(crate) match_policy: MatchPolicy,
    pub(crate) reinvocation: Option<Reinvocation>,
    pub(crate) side_effects: SideEffects,
    pub(crate) review_versions: Vec<Version>,
    pub(crate) path: Option<String>,
    pub(crate) qualified_name: Option<String>,
    pub(crate) system_namespaces: bool,
    pub(crate) own_namespace: bool,
    /// [`None`]: the default of the kind of hook.
    pub(crate) skip_finalizer_updates: Option<bool>,
    pub(crate) errors: Vec<String>,
}

/// Marks hooks whose handler reads the request itself, for any resource.
pub enum Raw {}

/// Calls a hook for `operations` on objects of type `T`.
///
/// ```
/// # use k8s_openapi::api::apps::v1::Deployment;
/// use vestibule::Operation::{Create, Update};
/// use vestibule::{FailurePolicy, on};
///
/// let on = on::<Deployment>([Create, Update]).namespaces("team=shop").failure_policy(FailurePolicy::Fail);
/// ```
pub fn on<T: Resource<DynamicType = ()>>(operations: impl IntoIterator<Item = Operation>) -> On<T> {
    On::new(vec![Rule::new(&T::api_version(&()), T::plural(&()), operations)])
}

/// Calls a hook for any set of resources. `T` is a type that all their objects fit: `DynamicObject`, `serde_json::Value`,
/// [`RawObject`](crate::RawObject), `PartialObjectMeta`, a struct of the author's own.
///
/// ```
/// use serde_json::Value;
/// use vestibule::Operation::{Create, Update};
/// use vestibule::{FailurePolicy, Rule, on_rules};
///
/// let on = on_rules::<Value>([
///     Rule::new("apps/v1", "deployments", [Create, Update]),
///     Rule::new("example.com/*", "*", [Create]),
/// ]);
/// let on = on.failure_policy(FailurePolicy::Ignore);
/// ```
pub fn on_rules<T>(rules: impl IntoIterator<Item = Rule>) -> On<T> {
    On::new(rules.into_iter().collect())
}

/// Calls a hook whose handler reads the request itself, for any set of resources.
///
/// ```
/// use vestibule::Operation::Connect;
/// use vestibule::{FailurePolicy, Rule, on_raw};
///
/// let on = on_raw([Rule::new("v1", "pods/exec", [Connect])]).failure_policy(FailurePolicy::Fail);
/// ```
pub fn on_raw(rules: impl IntoIterator<Item = Rule>) -> On<Raw> {
    On::new(rules.into_iter().collect())
}

impl<T> On<T> {
    fn new(rules: Vec<Rule>) -> Self {
        let review_versions = vec![Version::V1];
        let declaration =
            Declaration { rules, timeout_seconds: 5, review_versions, ..Declaration::default() };
        Self { declaration, of: PhantomData }
    }

    /// Only in namespaces with these labels: `injection=enabled,team!=shop,!frozen`. The system namespaces and the webhook's own stay
    /// excluded, even if the labels name them: see [`On::system_namespaces`] and [`On::own_namespace`]. A second call replaces the
    /// labels of the first.
    pub fn namespaces(mut self, labels: &str) -> Self {
        let parsed = selector::parse(labels);
        self.declaration.namespaces = self.keep(parsed, "namespaces", labels);
        self
    }

    /// Only objects with these labels, old or new: `app=web`. A second call replaces the labels of the first.
    pub fn objects(mut self, labels: &str) -> Self {
        let parsed = selector::parse(labels);
        self.declaration.objects = self.keep(parsed, "objects", labels);
        self
    }

    /// Only a subresource of the resources: `status`, `ephemeralcontainers`, or `*` for the object and all its subresources.
    ///
    /// Some subresources have objects of another type, which [`on_rules`] names: `scale` has a `Scale` of `autoscaling/v1`,
    /// `pods/eviction` an `Eviction`, `pods/exec` its `PodExecOptions`, for which k8s-openapi has no type: write a struct with the
    /// fields that the handler reads. An object that does not fit the type is a fault: with `*`, take a type that all of them fit, such
    /// as [`RawObject`](crate::RawObject).
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::autoscaling::v1::Scale;
    /// use vestibule::Operation::Update;
    /// use vestibule::{FailurePolicy, Rule, on, on_rules};
    ///
    /// let status = on::<Deployment>([Update]).subresource("status").failure_policy(FailurePolicy::Ignore);
    /// let scale = on_rules::<Scale>([Rule::new("apps/v1", "deployments/scale", [Update])]);
    /// let scale = scale.failure_policy(FailurePolicy::Ignore);
    /// ```
    pub fn subresource(mut self, subresource: &str) -> Self {
        for Rule { resource, .. } in &mut self.declaration.rules {
            let whole = resource.split_once('/').map_or(resource.as_str(), |(whole, _)| whole);
            *resource = format!("{whole}/{subresource}");
        }
        self
    }

    /// Only cluster-scoped or only namespaced objects.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.declaration.rules.iter_mut().for_each(|rule| rule.scope = scope);
        self
    }

    /// Only requests for which a CEL expression holds: `.match_condition("no-nodes", "!('system:nodes' in
    /// request.userInfo.groups)")`. The name is for people and must be a hook's only one of its kind.
    pub fn match_condition(mut self, name: &str, expression: &str) -> Self {
        let (name, expression) = (name.to_owned(), expression.to_owned());
        self.declaration.match_conditions.push(MatchCondition { name, expression });
        self
    }

    /// Whether objects in other versions than the rules name are converted and sent; yes, unless set.
    pub fn match_policy(mut self, match_policy: MatchPolicy) -> Self {
        self.declaration.match_policy = match_policy;
        self
    }

    /// Whether a mutating hook is called again when a later webhook changed the object; yes, unless set.
    pub fn reinvocation(mut self, reinvocation: Reinvocation) -> Self {
        self.declaration.reinvocation = Some(reinvocation);
        self
    }

    /// The side effects of the handler; none, unless set.
    pub fn side_effects(mut self, side_effects: SideEffects) -> Self {
        self.declaration.side_effects = side_effects;
        self
    }

    /// The versions of the admission review, in order of preference; `v1`, unless set.
    pub fn review_versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.declaration.review_versions = versions.into_iter().collect();
        self
    }

    /// Another path than `/mutate/NAME` or `/validate/NAME`.
    pub fn path(mut self, path: &str) -> Self {
        self.declaration.path = Some(path.to_owned());
        self
    }

    /// Another name in the configuration than `NAME.APP.vestibule.dev`: at least three segments.
    pub fn qualified_name(mut self, name: &str) -> Self {
        self.declaration.qualified_name = Some(name.to_owned());
        self
    }

    /// Also in `kube-system`, `kube-public`, `kube-node-lease` and the webhook's own namespace. With [`FailurePolicy::Fail`] such
    /// a hook can keep itself and the cluster from starting.
    pub fn system_namespaces(mut self) -> Self {
        self.declaration.system_namespaces = true;
        self
    }

    /// Also in the webhook's own namespace. Exclude its own pods by a label: with [`FailurePolicy::Fail`] such a hook could keep
    /// them from starting.
    pub fn own_namespace(mut self) -> Self {
        self.declaration.own_namespace = true;
        self
    }

    /// Whether the handler is skipped, and the request allowed, for an UPDATE that only changes finalizers, owners or
    /// managed fields of an object that is being deleted.
    ///
    /// Unless set, mutating hooks skip it: a fault there would keep the object from being deleted. Validating hooks do not skip it,
    /// because such a hook may protect a finalizer. Set it for a validator that ignores finalizers: otherwise an object that it
    /// denies cannot be deleted, because the controller cannot remove the finalizer.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use vestibule::Operation::{Create, Update};
    /// use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};
    ///
    /// async fn small(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
    ///     let keys = change.object().and_then(|map| map.data.as_ref()).map_or(0, |data| data.len());
    ///     if keys > 100 { Err(deny("more than 100 keys")) } else { Ok(()) }
    /// }
    ///
    /// let on = on::<ConfigMap>([Create, Update]).failure_policy(FailurePolicy::Fail).skip_finalizer_updates(true);
    /// assert!(App::new("demo").validate("small", on, small).check().is_ok());
    /// ```
    pub fn skip_finalizer_updates(mut self, skip: bool) -> Self {
        self.declaration.skip_finalizer_updates = Some(skip);
        self
    }

    /// The API server's reaction to a failed call: [`FailurePolicy::Ignore`] lets the request pass untouched,
    /// [`FailurePolicy::Fail`] refuses it. Every hook must set it.
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.declaration.failure_policy = Some(policy);
        self
    }

    /// The answer for a fault of the handler. Unless set, the failure policy decides.
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.declaration.on_fault = on_fault;
        self
    }

    /// How long the API server waits for the answer, 1 to 30 seconds; 5, unless set.
    pub fn timeout_seconds(mut self, seconds: u8) -> Self {
        self.declaration.timeout_seconds = seconds;
        self
    }

    fn keep(&mut self, parsed: Result<LabelSelector, String>, what: &str, text: &str) -> LabelSelector {
        parsed.unwrap_or_else(|why| {
            self.declaration.errors.push(format!("`.{what}(\"{text}\")`: {why}"));
            LabelSelector::default()
        })
    }
}
