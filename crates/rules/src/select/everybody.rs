//! Whom no rule touches: exclusions that stand here, and exemptions that an administrator wrote.

use vestibule_patch::Document;

use super::{Inquiry, Out};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::Resource;
use crate::settings::Exemption;
use crate::subject::{Subject, text};

pub(crate) const SYSTEM_NAMESPACES: &[&str] = &["kube-node-lease", "kube-public", "kube-system"];
/// The annotation of static pods, which their kubelet owns.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The label by which the injector's own pods are left alone.
pub const OWN_POD_LABEL: &str = concat!(group!(), "/injector");

impl Inquiry<'_> {
    pub(super) fn exclusion(&self) -> Option<Out> {
        let received = self.received;
        let out = |reason, sentence: String| Some(Out::new(reason, None, sentence));
        let Subject { namespace, resource, subresource, .. } = *self.subject;
        if SYSTEM_NAMESPACES.contains(&namespace) {
            return out(
                Reason::ExcludedSystemNamespace,
                format!("{namespace} belongs to the cluster itself"),
            );
        }
        if self.own_namespace == Some(namespace) && !self.settings.injects_own_namespace() {
            let sentence = format!(
                "{namespace} is the injector's own namespace, and its settings do not say `ownNamespace: inject`"
            );
            return out(Reason::ExcludedOwnNamespace, sentence);
        }
        if !subresource.is_empty() {
            let sentence = format!("rules leave the subresource {} alone", shown(subresource));
            return out(Reason::ExcludedSubresource, sentence);
        }
        if !resource.verbs().contains(&self.subject.verb) {
            let sentence = format!("rules do not change {} under this operation", resource.as_str());
            return out(Reason::ExcludedOperation, sentence);
        }
        if received.annotation(MIRROR_ANNOTATION).is_some() {
            return out(Reason::ExcludedMirrorPod, "a static pod belongs to its kubelet".to_owned());
        }
        if received.label(OWN_POD_LABEL) == Some("true") {
            return out(Reason::ExcludedOwnPod, "the injector does not wait for itself".to_owned());
        }
        if received.is_leaving() {
            return out(Reason::ExcludedDeletion, "the object is being deleted".to_owned());
        }
        if resource == Resource::ReplicaSets && received.owner().is_some() {
            // Its Deployment knows it by the template: one that differs is not its own, and it makes another one, for ever.
            let sentence = "its template has to stay that of its controller".to_owned();
            return out(Reason::ExcludedControlled, sentence);
        }
        None
    }

    pub(super) fn exemption(&self) -> Option<Out> {
        let found = self.settings.exemptions().iter().enumerate().find(|(_, one)| self.is_exempt(one));
        found.map(|(index, exemption)| {
            let place = format!("exemptions[{index}], {}:{}", exemption.source(), exemption.position().line);
            let sentence = match exemption.reason() {
                "" => format!("an administrator exempts it ({place})"),
                reason => format!("an administrator exempts it: {} ({place})", shown(reason)),
            };
            Out::new(Reason::Exempted, None, sentence)
        })
    }

    fn is_exempt(&self, exemption: &Exemption) -> bool {
        let namespaces = exemption.namespaces();
        // What nobody knows exempts nobody.
        let label_of_namespace = |key: &str| self.subject.facts?.labels.get(key);
        (namespaces.is_empty() || namespaces.iter().any(|name| name == self.subject.namespace))
            && exemption.object_labels().all(|(key, value)| self.received.label(key) == Some(value))
            && exemption
                .namespace_labels()
                .all(|(key, value)| label_of_namespace(key).is_some_and(|found| found == value))
            && (exemption.users().is_empty() || self.is_one_of(exemption.users()))
    }

    fn is_one_of(&self, users: &[String]) -> bool {
        let Some(info) = self.subject.user.and_then(|info| Document::parse(info).ok()) else { return false };
        let Some(name) = text(Some(info.view()), "username") else { return false };
        users.iter().any(|user| match user.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *user == name,
        })
    }
}
