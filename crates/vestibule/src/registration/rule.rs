//! The rules of a registration, and matching requests against them.

use vestibule_admission::{Operation, Request};

use crate::registration::on::choices::Scope;

/// Operations on one resource, or on many: `*` stands for every group, version or resource.
///
/// ```
/// use vestibule::Operation::{Create, Update};
/// use vestibule::Rule;
///
/// let deployments = Rule::new("apps/v1", "deployments", [Create, Update]);
/// let everything = Rule::new("*/*", "*", [Create]);
/// let scale = Rule::new("apps/v1", "deployments/scale", [Update]);
/// assert_eq!((&*deployments.group, &*everything.group, &*scale.resource), ("apps", "*", "deployments/scale"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The API group; the core group is the empty string, every group is `*`.
    pub group: String,
    /// `v1`, or `*`.
    pub version: String,
    /// The resource, in plural, or `*`: `pods`. With a subresource: `deployments/scale`, `pods/*`, `*/scale`.
    pub resource: String,
    /// The operations.
    pub operations: Vec<Operation>,
    /// Whether cluster-scoped or namespaced objects, or both.
    pub scope: Scope,
}

/// How well a request matches the rules of a hook's registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// Another resource: its objects have another type.
    OtherResource,
    /// The resource of a rule, with a subresource or an operation that no rule names: the configuration was widened by hand.
    OtherOperation,
    /// A rule names it.
    Registered,
}

impl Rule {
    /// `operations` on `resource` of `api_version`: `apps/v1`, or `v1` for the core group.
    pub fn new(
        api_version: &str,
        resource: impl Into<String>,
        operations: impl IntoIterator<Item = Operation>,
    ) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.into(),
            operations: operations.into_iter().collect(),
            scope: Scope::Any,
        }
    }

    /// Only cluster-scoped or only namespaced objects.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Whether kube-apiserver would call a hook with this rule for `request`. The scope is not compared.
    pub fn is_for(&self, request: &Request<'_>) -> bool {
        self.matches(request) == Match::Registered
    }

    /// How near `request` comes to any of `rules`.
    pub(crate) fn closest_match(rules: &[Self], request: &Request<'_>) -> Match {
        rules.iter().map(|rule| rule.matches(request)).max().unwrap_or(Match::OtherResource)
    }

    /// As kube-apiserver matches: `pods/*` is `pods` too, `*` is no subresource.
    fn matches(&self, request: &Request<'_>) -> Match {
        let holds = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let requested = &request.resource;
        if !holds(&self.group, &requested.group)
            || !holds(&self.version, &requested.version)
            || !holds(resource, &requested.resource)
        {
            // No rule names a subresource of that resource either.
            return if request.subresource.is_some() { Match::OtherOperation } else { Match::OtherResource };
        }
        let named = holds(subresource, request.subresource.as_deref().unwrap_or_default());
        if named && self.operations.contains(&request.operation) {
            Match::Registered
        } else {
            Match::OtherOperation
        }
    }
}

#[cfg(test)]
mod tests {
    use vestibule_admission::Operation::{Create, Update};
    use vestibule_admission::Review;

    use super::*;
    use crate::tests::review;

    fn nearest(rule: (&str, &str), group: &str, version: &str, resource: &str) -> Match {
        let body = review("CREATE", |request| {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            request["resource"] =
                serde_json::json!({"group": group, "version": version, "resource": resource});
            request["subResource"] = subresource.into();
        });
        let review = Review::parse(&body).unwrap_or_else(|error| panic!("{error}"));
        let other = Rule::new("example.com/v1", "others", [Create]);
        Rule::closest_match(&[other, Rule::new(rule.0, rule.1, [Create])], &review.request)
    }

    #[test]
    fn rules_match_as_kube_apiserver_matches_them() {
        for (rule, asked, expected) in [
            (("v1", "pods"), ("", "v1", "pods"), Match::Registered),
            (("v1", "pods"), ("", "v2", "pods"), Match::OtherResource),
            (("v1", "pods"), ("apps", "v1", "pods"), Match::OtherResource),
            (("v1", "pods"), ("", "v1", "pods/status"), Match::OtherOperation),
            (("v1", "pods/status"), ("", "v1", "pods/status"), Match::Registered),
            (("v1", "pods/status"), ("", "v1", "pods"), Match::OtherOperation),
            (("v1", "pods/*"), ("", "v1", "pods/exec"), Match::Registered),
            (("v1", "pods/*"), ("", "v1", "pods"), Match::Registered),
            (("v1", "*"), ("", "v1", "pods/exec"), Match::OtherOperation),
            (("*/*", "*"), ("apps", "v1", "deployments"), Match::Registered),
            (("apps/*", "*"), ("", "v1", "pods"), Match::OtherResource),
            (("*/*", "*/scale"), ("apps", "v1", "deployments/scale"), Match::Registered),
            (("*/*", "*/*"), ("apps", "v1", "deployments/scale"), Match::Registered),
        ] {
            let (group, version, resource) = asked;
            assert_eq!(nearest(rule, group, version, resource), expected, "{rule:?} {asked:?}");
        }
    }

    #[test]
    fn an_operation_that_no_rule_names_is_another_operation() {
        let body = review("UPDATE", |_| {});
        let review = Review::parse(&body).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            Rule::closest_match(&[Rule::new("v1", "pods", [Create])], &review.request),
            Match::OtherOperation
        );
        let both = [Rule::new("v1", "pods", [Create]), Rule::new("v1", "*", [Update])];
        assert_eq!(Rule::closest_match(&both, &review.request), Match::Registered);
    }
}
