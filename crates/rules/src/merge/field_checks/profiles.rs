//! Checks of the annotations that named the AppArmor and seccomp profiles of containers before there were fields. The API server
//! compares both.

use std::collections::HashSet;

use vestibule_patch::View;

use super::FieldCheck;
use super::pod::{Container, Pod};
use crate::diagnostic::printable_short;
use crate::merge::contains::present;
use crate::subject::string_member;

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck::of_pod(&["annotations"], containers_of_annotations),
    FieldCheck::of_container(&["annotations", "securityContext"], &["securityContext"], app_armor),
    FieldCheck::of_pod(&["annotations", "securityContext"], seccomp),
    FieldCheck::of_container(&["annotations"], &["securityContext"], seccomp_of_container),
];

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

const SECCOMP_OF_CONTAINERS: &str = "container.seccomp.security.alpha.kubernetes.io/";

const SECCOMP_DEFAULTS: &[&str] = &["runtime/default", "docker/default"];

/// Whether the annotation `key` names a profile.
pub(super) fn is_profile(key: &str) -> bool {
    key == SECCOMP || [APP_ARMOR, SECCOMP_OF_CONTAINERS].iter().any(|prefix| key.starts_with(prefix))
}

fn containers_of_annotations(pod: &Pod<'_>) -> Option<String> {
    let mut named = pod.annotations().keys().filter_map(|key| key.strip_prefix(APP_ARMOR)).peekable();
    named.peek()?;
    let containers: HashSet<_> = pod.containers().filter_map(Container::name).collect();
    let name = printable_short(named.find(|name| !containers.contains(*name))?);
    Some(format!("an annotation gives container `{name}` a profile, and the pod has no such container"))
}

/// In a pod of its own, the annotation takes the place of a profile that all containers share. In a template, the API server refuses
/// an annotation that differs.
fn app_armor(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let shared = || present(present(pod.spec, "securityContext")?, "appArmorProfile");
    let shared = || pod.completes.and_then(|_| shared());
    let field = container.security("appArmorProfile").or_else(shared)?;
    let key = format!("{APP_ARMOR}{}", container.name()?);
    differs(pod, &key, field, &["runtime/default"]).then(|| sentence("appArmorProfile"))
}

fn seccomp(pod: &Pod<'_>) -> Option<String> {
    let field = present(present(pod.spec, "securityContext")?, "seccompProfile")?;
    differs(pod, SECCOMP, field, SECCOMP_DEFAULTS).then(|| sentence("seccompProfile"))
}

fn seccomp_of_container(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let field = container.security("seccompProfile")?;
    let key = format!("{SECCOMP_OF_CONTAINERS}{}", container.name()?);
    differs(pod, &key, field, SECCOMP_DEFAULTS).then(|| sentence("seccompProfile"))
}

/// Whether the annotation `key` names another profile than `field`. `defaults` are the names of the runtime's.
fn differs(pod: &Pod<'_>, key: &str, field: View<'_>, defaults: &[&str]) -> bool {
    let Some(annotation) = pod.annotations().get(key).and_then(|value| value.as_str()) else { return false };
    match string_member(field, "type").as_deref() {
        Some("Unconfined") => annotation != "unconfined",
        Some("RuntimeDefault") => !defaults.contains(&&*annotation),
        Some("Localhost") => {
            let local = string_member(field, "localhostProfile").unwrap_or_default();
            annotation.strip_prefix("localhost/") != Some(&*local)
        }
        _ => false,
    }
}

fn sentence(field: &str) -> String {
    format!("an annotation of the pod and `{field}` name different profiles")
}
