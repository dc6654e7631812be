//! Objects that every rule skips: built-in exclusions, and the exemptions of `InjectorSettings`.

use vestibule_patch::Document;

use super::{MatchContext, Skip};
use crate::decision::Reason;
use crate::diagnostic::{self, printable_short};
use crate::rule::{MetadataOf, Resource};
use crate::settings::Exemption;
use crate::subject::{Subject, string_member};
use crate::well_known::OWN_POD_LABEL;

pub(crate) const SYSTEM_NAMESPACES: &[&str] = &["kube-node-lease", "kube-public", "kube-system"];

/// The annotation of static pods, which belong to their kubelet.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

impl MatchContext<'_> {
    pub(super) fn exclusion(&self) -> Option<Skip> {
        let received = self.received;
        let own = received.metadata(MetadataOf::Workload);
        let skip = |reason, sentence: String| Some(Skip::new(reason, None, sentence));
        let Subject { namespace, resource, subresource, .. } = *self.subject;
        if SYSTEM_NAMESPACES.contains(&namespace) {
            return skip(
                Reason::ExcludedSystemNamespace,
                format!("{namespace} belongs to the cluster itself"),
            );
        }
        if self.own_namespace == Some(namespace) && !self.settings.own_namespace {
            let sentence = format!(
                "{namespace} is the injector's own namespace, and its settings do not say `ownNamespace: inject`"
            );
            return skip(Reason::ExcludedOwnNamespace, sentence);
        }
        if !subresource.is_empty() {
            let sentence = format!("rules do not change the subresource {}", printable_short(subresource));
            return skip(Reason::ExcludedSubresource, sentence);
        }
        if !resource.verbs().contains(&self.subject.verb) {
            let sentence = format!("rules do not change {} under this operation", resource.as_str());
            return skip(Reason::ExcludedOperation, sentence);
        }
        if own.annotation(MIRROR_ANNOTATION).is_some() {
            return skip(Reason::ExcludedMirrorPod, "a static pod belongs to its kubelet".to_owned());
        }
        if own.label(OWN_POD_LABEL) == Some("true") {
            return skip(Reason::ExcludedOwnPod, "the pod belongs to the injector itself".to_owned());
        }
        if received.is_being_deleted() {
            return skip(Reason::ExcludedDeletion, "the object is being deleted".to_owned());
        }
        if resource == Resource::ReplicaSets && received.owner().is_some() {
            // A Deployment finds its ReplicaSet by comparing templates. If the template differed, the Deployment would create
            // another ReplicaSet, and so on without end.
            let sentence = "its controller requires the template to stay unchanged".to_owned();
            return skip(Reason::ExcludedControlled, sentence);
        }
        None
    }

    pub(super) fn exemption(&self) -> Option<Skip> {
        let found = self.settings.exemptions.iter().enumerate().find(|(_, one)| self.is_exempt(one));
        found.map(|(index, exemption)| {
            let place = diagnostic::place(&exemption.source, exemption.at.line);
            let place = format!("exemptions[{index}], {place}");
            let sentence = match &*exemption.reason {
                "" => format!("an administrator exempts it ({place})"),
                reason => format!("an administrator exempts it: {} ({place})", printable_short(reason)),
            };
            Skip::new(Reason::Exempted, None, sentence)
        })
    }

    fn is_exempt(&self, exemption: &Exemption) -> bool {
        let (namespaces, objects) = (&exemption.namespaces, &exemption.objects);
        let labels = self.received.metadata(MetadataOf::PodTemplate);
        // Without the labels of the namespace it is not known whether the exemption is for it.
        (self.subject.facts.is_some() || !namespaces.needs_namespace_facts())
            && namespaces.unmet(|key| self.namespace_label(key)).is_none()
            && objects.unmet(|key| labels.label(key)).is_none()
            && (exemption.users.is_empty() || self.user_is_one_of(&exemption.users))
    }

    fn user_is_one_of(&self, users: &[String]) -> bool {
        let Some(info) = self.subject.user.and_then(|info| Document::parse(info).ok()) else { return false };
        let Some(name) = string_member(info.view(), "username") else { return false };
        users.iter().any(|user| match user.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *user == name,
        })
    }
}
