//! Checks of pods that name their operating system in `os`, and of Windows' host process containers.

use vestibule_patch::View;

use super::{CheckError, Container, FieldCheck, Pod, items};
use crate::merge::contains::present;
use crate::subject::string_member;

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck {
        pod: &[
            "hostIPC",
            "hostPID",
            "hostUsers",
            "os",
            "resources",
            "securityContext",
            "shareProcessNamespace",
        ],
        container: &[],
        error: CheckError::OfPod(fields_of_pod),
    },
    FieldCheck {
        pod: &["os"],
        container: &["securityContext"],
        error: CheckError::OfContainer(fields_of_container),
    },
    // Every injected container has an image.
    FieldCheck {
        pod: &["hostNetwork", "securityContext"],
        container: &["image", "securityContext"],
        error: CheckError::OfContainer(host_process),
    },
];

/// What a pod for Windows cannot have. `hostIPC: false` and `hostPID: false` mean that they are absent.
const POD: &[&str] = &["hostUsers", "resources", "shareProcessNamespace"];
const POD_FLAGS: &[&str] = &["hostIPC", "hostPID"];
const POD_SECURITY: &[&str] = &[
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxChangePolicy",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
];
const CONTAINER_SECURITY: &[&str] = &[
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
];

/// What a pod for Linux cannot have.
const WINDOWS_SECURITY: &[&str] = &["windowsOptions"];

fn fields_of_pod(pod: Pod<'_>) -> Option<String> {
    let security = present(pod.spec, "securityContext");
    let (own, flags): (&[&str], &[&str]) = if is_for(pod, "windows") { (POD, POD_FLAGS) } else { (&[], &[]) };
    let own = own.iter().find(|name| present(pod.spec, name).is_some());
    let found = own.or_else(|| flags.iter().find(|name| pod.is(name)));
    let found = found.copied().or_else(|| first(security?, excluded(pod, POD_SECURITY)));
    found.map(|name| sentence(pod, name))
}

fn fields_of_container(pod: Pod<'_>, container: Container<'_>) -> Option<String> {
    let security = present(container.view, "securityContext")?;
    first(security, excluded(pod, CONTAINER_SECURITY)).map(|name| sentence(pod, name))
}

/// The fields of a `securityContext` that the pod cannot have.
fn excluded(pod: Pod<'_>, of_linux: &'static [&'static str]) -> &'static [&'static str] {
    if is_for(pod, "windows") {
        of_linux
    } else if is_for(pod, "linux") {
        WINDOWS_SECURITY
    } else {
        &[]
    }
}

fn first(security: View<'_>, names: &'static [&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| present(security, name).is_some_and(|value| !is_empty_list(value)))
}

fn is_empty_list(value: View<'_>) -> bool {
    value.kind() == vestibule_patch::Kind::Array && value.item(0).is_none()
}

fn is_for(pod: Pod<'_>, system: &str) -> bool {
    string_member(present(pod.spec, "os"), "name").as_deref() == Some(system)
}

fn sentence(pod: Pod<'_>, field: &str) -> String {
    let system = if is_for(pod, "windows") { "Windows" } else { "Linux" };
    format!("a pod for {system} cannot have `{field}`")
}

/// Either all containers are processes of the node, or none. The pod was valid before, so that one other container tells.
fn host_process(pod: Pod<'_>, container: Container<'_>) -> Option<String> {
    let option = |object| {
        let options = present(present(object, "securityContext")?, "windowsOptions")?;
        present(options, "hostProcess")?.as_bool()
    };
    let of_pod = option(pod.spec);
    let is_process = |container| option(container).or(of_pod).unwrap_or_default();
    let own = is_process(container.view);
    if items(pod.spec, "containers").take(2).any(|other| is_process(other) != own)
        || of_pod.zip(option(container.view)).is_some_and(|(pod, own)| pod != own)
    {
        return Some("all containers of a pod have to be alike in `hostProcess`".to_owned());
    }
    (own && !pod.is("hostNetwork"))
        .then(|| "a container with `hostProcess` needs `hostNetwork: true`".to_owned())
}
