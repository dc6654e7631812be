//! Checks of pods that name their operating system in `os`, and of Windows' host process containers.

use vestibule_patch::View;

use super::FieldCheck;
use super::pod::{Container, Pod};
use crate::merge::contains::present;
use crate::subject::string_member;

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck::of_pod(
        &["hostIPC", "hostPID", "hostUsers", "os", "resources", "securityContext", "shareProcessNamespace"],
        fields_of_pod,
    ),
    FieldCheck::of_container(&["os"], &["securityContext"], fields_of_container),
    // Every injected container has an image.
    FieldCheck::of_pod(&["hostNetwork", "securityContext"], host_process)
        .with_container(&["image", "securityContext"]),
];

/// A pod for Windows cannot have these fields. `hostIPC: false` and `hostPID: false` mean that they are absent.
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

/// A pod for Linux cannot have these fields.
const WINDOWS_SECURITY: &[&str] = &["windowsOptions"];

fn fields_of_pod(pod: &Pod<'_>) -> Option<String> {
    let security = present(pod.spec, "securityContext");
    let (own, flags): (&[&str], &[&str]) = if is_for(pod, "windows") { (POD, POD_FLAGS) } else { (&[], &[]) };
    let own = own.iter().find(|name| present(pod.spec, name).is_some());
    let found = own.or_else(|| flags.iter().find(|name| pod.is(name)));
    let found = found.copied().or_else(|| first(security?, excluded(pod, POD_SECURITY)));
    found.map(|name| sentence(pod, name))
}

fn fields_of_container(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let security = present(container.view, "securityContext")?;
    first(security, excluded(pod, CONTAINER_SECURITY)).map(|name| sentence(pod, name))
}

/// The fields of a `securityContext` that the pod cannot have.
fn excluded(pod: &Pod<'_>, of_linux: &'static [&'static str]) -> &'static [&'static str] {
    if is_for(pod, "windows") {
        of_linux
    } else if is_for(pod, "linux") {
        WINDOWS_SECURITY
    } else {
        &[]
    }
}

fn first(security: View<'_>, names: &'static [&'static str]) -> Option<&'static str> {
    // The API server looks at the length of this list only.
    let is_set = |name: &str, value: View<'_>| name != "sysctls" || value.item(0).is_some();
    names.iter().copied().find(|name| present(security, name).is_some_and(|value| is_set(name, value)))
}

fn is_for(pod: &Pod<'_>, system: &str) -> bool {
    string_member(present(pod.spec, "os"), "name").as_deref() == Some(system)
}

fn sentence(pod: &Pod<'_>, field: &str) -> String {
    let system = if is_for(pod, "windows") { "Windows" } else { "Linux" };
    format!("a pod for {system} cannot have `{field}`")
}

/// Either all containers are host process containers, or none.
fn host_process(pod: &Pod<'_>) -> Option<String> {
    let option = |object| {
        let options = present(present(object, "securityContext")?, "windowsOptions")?;
        present(options, "hostProcess")?.as_bool()
    };
    let of_pod = option(pod.spec);
    let (mut processes, mut others, mut differs) = (false, false, false);
    for container in pod.containers() {
        let own = option(container.view);
        let is_process = own.or(of_pod).unwrap_or_default();
        processes |= is_process;
        others |= !is_process;
        differs |= of_pod.zip(own).is_some_and(|(pod, own)| pod != own);
    }
    if differs || processes && others {
        return Some("all containers of a pod have to be alike in `hostProcess`".to_owned());
    }
    (processes && !pod.is("hostNetwork"))
        .then(|| "a container with `hostProcess` needs `hostNetwork: true`".to_owned())
}
