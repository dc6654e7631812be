//! Checks of the annotations that named the AppArmor and seccomp profiles of containers before there were fields. The API server
//! compares both.

use vestibule_patch::View;

use super::{CheckError, Container, FieldCheck, Pod, is_text};
use crate::diagnostic::printable_short;
use crate::merge::contains::present;
use crate::subject::string_member;

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck { pod: &["annotations"], container: &[], error: CheckError::OfPod(containers_of_annotations) },
    FieldCheck {
        pod: &["annotations", "securityContext"],
        container: &["securityContext"],
        error: CheckError::OfContainer(app_armor),
    },
    FieldCheck {
        pod: &["annotations", "securityContext"],
        container: &[],
        error: CheckError::OfPod(seccomp),
    },
];

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

/// Whether the annotation `key` names a profile.
pub(super) fn is_profile(key: &str) -> bool {
    key.starts_with(APP_ARMOR) || key == SECCOMP
}

fn containers_of_annotations(pod: Pod<'_>) -> Option<String> {
    pod.annotations().map(View::entries).unwrap_or_default().into_iter().find_map(|(key, _)| {
        let name = key.strip_prefix(APP_ARMOR)?;
        let is_there = pod.containers().any(|container| is_text(container.view, "name", name));
        let name = printable_short(name);
        (!is_there).then(|| {
            format!("an annotation gives container `{name}` a profile, and the pod has no such container")
        })
    })
}

/// In a pod of its own, the annotation takes the place of a profile that all containers share. In a template, it may not differ.
fn app_armor(pod: Pod<'_>, container: Container<'_>) -> Option<String> {
    let shared = || present(present(pod.spec, "securityContext")?, "appArmorProfile");
    let shared = || pod.completes.and_then(|_| shared());
    let field = container.security("appArmorProfile").or_else(shared)?;
    let name = string_member(container.view, "name")?;
    differs(pod, &format!("{APP_ARMOR}{name}"), field).then(|| sentence("appArmorProfile"))
}

fn seccomp(pod: Pod<'_>) -> Option<String> {
    let field = present(present(pod.spec, "securityContext")?, "seccompProfile")?;
    differs(pod, SECCOMP, field).then(|| sentence("seccompProfile"))
}

/// Whether the annotation `key` names another profile than `field`.
fn differs(pod: Pod<'_>, key: &str, field: View<'_>) -> bool {
    let annotation = pod.annotations().and_then(|all| string_member(all, key));
    let Some(annotation) = annotation else { return false };
    let local = string_member(field, "localhostProfile");
    match string_member(field, "type").as_deref() {
        Some("Unconfined") => annotation != "unconfined",
        Some("RuntimeDefault") => !["runtime/default", "docker/default"].contains(&&*annotation),
        Some("Localhost") => annotation.strip_prefix("localhost/") != local.as_deref(),
        _ => false,
    }
}

fn sentence(field: &str) -> String {
    format!("an annotation of the pod and `{field}` name different profiles")
}
