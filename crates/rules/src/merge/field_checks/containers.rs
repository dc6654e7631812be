//! Checks of a container, and of the fields of the pod that they depend on.

use std::collections::HashSet;

use vestibule_patch::View;

use super::pod::{Container, Pod, flag, is_text, items, names_of};
use super::{FILE_VARIABLES, FieldCheck, OVERRIDING_MOUNTS, OVERRIDING_PORTS, PLAIN_MOUNTS};
use crate::diagnostic::printable_short;
use crate::merge::contains::present;
use crate::merge::removals::file_volume;
use crate::subject::string_member;

/// Fields that only containers may have that do not end.
pub(crate) const ONLY_LASTING: &[&str] = &["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

const PROBES: &[&str] = &["livenessProbe", "readinessProbe", "startupProbe"];

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck::of_container(&[], ONLY_LASTING, lifetime),
    FieldCheck::of_container(&[], PROBES, probe_handlers),
    FieldCheck::of_container(&["terminationGracePeriodSeconds"], &["lifecycle"], sleep),
    FieldCheck::of_container(&["restartPolicy"], &["resizePolicy"], resize_policy),
    FieldCheck::of_container(&[], &["securityContext"], privileges),
    FieldCheck::of_container(&["hostUsers"], &["securityContext"], proc_mount),
    FieldCheck::of_container(&[], &["securityContext", "volumeMounts"], propagation),
    FieldCheck::of_container(&[], &[OVERRIDING_MOUNTS, "volumeMounts"], recursive_read_only),
    FieldCheck::of_container(&["hostUsers"], &["volumeDevices"], user_namespace),
    FieldCheck::of_container(
        &["volumes"],
        &[OVERRIDING_MOUNTS, PLAIN_MOUNTS, "volumeDevices", "volumeMounts"],
        devices,
    ),
    FieldCheck::of_container(&["volumes"], &[FILE_VARIABLES], files),
    FieldCheck::of_container(&["hostNetwork"], &[OVERRIDING_PORTS, "ports"], host_ports),
    FieldCheck::of_container(&[], &[OVERRIDING_PORTS], port_names),
];

fn lifetime(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let field = ONLY_LASTING.iter().find(|field| present(container.view, field).is_some());
    let field = field.filter(|_| container.ends())?;
    Some(format!("an init container that ends cannot have `{field}`"))
}

/// The members of a probe of which it has one.
const PROBE_HANDLERS: &[&str] = &["exec", "grpc", "httpGet", "tcpSocket"];

fn probe_handlers(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let has_none = |field: &&&str| {
        let probe = present(container.view, field);
        probe.is_some_and(|probe| PROBE_HANDLERS.iter().all(|handler| present(probe, handler).is_none()))
    };
    let field = PROBES.iter().find(has_none)?;
    Some(format!("`{field}` needs one of {}", PROBE_HANDLERS.join(", ")))
}

/// The seconds that the API server gives a pod to end, unless it names others.
const DEFAULT_GRACE: i64 = 30;

fn sleep(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let lifecycle = present(container.view, "lifecycle")?;
    let grace = present(pod.spec, "terminationGracePeriodSeconds").and_then(View::as_i64);
    let grace = grace.unwrap_or(DEFAULT_GRACE);
    ["postStart", "preStop"].into_iter().find_map(|hook| {
        let sleep = present(present(present(lifecycle, hook)?, "sleep")?, "seconds")?.as_i64()?;
        (sleep > grace).then(|| format!("`{hook}` would sleep {sleep} s, and the pod has {grace} s to end"))
    })
}

fn resize_policy(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let mut policies = container.items("resizePolicy");
    let never = is_text(pod.spec, "restartPolicy", "Never");
    ((never || container.ends()) && policies.any(|one| is_text(one, "restartPolicy", "RestartContainer")))
        .then(|| {
            "a container that is not restarted cannot have a `resizePolicy` of `RestartContainer`".to_owned()
        })
}

fn privileges(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let security = present(container.view, "securityContext")?;
    let added = present(security, "capabilities").into_iter().flat_map(|all| items(all, "add"));
    // The API server checks this spelling only. It accepts `SYS_ADMIN`, which runtimes read the same way.
    let has_admin = || added.filter_map(View::as_str).any(|one| one == "CAP_SYS_ADMIN");
    (flag(security, "allowPrivilegeEscalation") == Some(false)
        && (flag(security, "privileged") == Some(true) || has_admin()))
    .then(|| {
        "`allowPrivilegeEscalation: false` and the privileges of the container exclude each other".to_owned()
    })
}

fn proc_mount(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let is_unmasked = container.security("procMount")?.as_str().as_deref() == Some("Unmasked");
    (is_unmasked && flag(pod.spec, "hostUsers") != Some(false))
        .then(|| "`procMount: Unmasked` needs `hostUsers: false`".to_owned())
}

fn propagation(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let mut mounts = container.items("volumeMounts");
    (mounts.any(|mount| is_text(mount, "mountPropagation", "Bidirectional"))
        && container.security("privileged").and_then(View::as_bool) != Some(true))
    .then(|| "`mountPropagation: Bidirectional` needs a privileged container".to_owned())
}

fn recursive_read_only(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let is_wrong = |mount: View<'_>| {
        let is_set = ["Enabled", "IfPossible"].iter().any(|word| is_text(mount, "recursiveReadOnly", word));
        let propagation = || string_member(mount, "mountPropagation").unwrap_or("None".into());
        is_set && (flag(mount, "readOnly") != Some(true) || propagation() != "None")
    };
    container.items("volumeMounts").any(is_wrong).then(|| {
        "`recursiveReadOnly` of a mount needs `readOnly: true` and no `mountPropagation` other than `None`".to_owned()
    })
}

fn user_namespace(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    (flag(pod.spec, "hostUsers") == Some(false) && container.items("volumeDevices").next().is_some())
        .then(|| "`hostUsers: false` and `volumeDevices` exclude each other".to_owned())
}

fn devices(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let mut devices = container.items("volumeDevices").peekable();
    devices.peek()?;
    let of_mounts = |member: &'static str| {
        container.items("volumeMounts").filter_map(move |mount| string_member(mount, member))
    };
    let mut names: HashSet<_> = of_mounts("name").collect();
    let mut paths: HashSet<_> = of_mounts("mountPath").collect();
    let is_claim = |volume: &View<'_>| {
        ["ephemeral", "persistentVolumeClaim"].iter().any(|source| present(*volume, source).is_some())
    };
    let others = || names_of(items(pod.spec, "volumes").filter(|volume| !is_claim(volume)));
    let others = pod.lookups.file_systems.get_or_init(others);
    devices.find_map(|device| {
        let (name, path) = (string_member(device, "name")?, string_member(device, "devicePath")?);
        let shown = printable_short(&name);
        if others.contains(&name) {
            let sources = "a `persistentVolumeClaim` or `ephemeral` volume";
            return Some(format!("volume `{shown}` is not {sources}, so it cannot be a device"));
        }
        (!names.insert(name) || !paths.insert(path))
            .then(|| format!("the volume or the path of device `{shown}` is used twice in one container"))
    })
}

fn files(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let mut used = container.items("env").filter_map(file_volume);
    // A volume without a source is an `emptyDir`.
    let is_directory =
        |volume: &View<'_>| present(*volume, "emptyDir").is_some() || volume.entries().len() == 1;
    let directories = || names_of(items(pod.spec, "volumes").filter(is_directory));
    let volume = used.find(|name| !pod.lookups.directories.get_or_init(directories).contains(name))?;
    let volume = printable_short(&volume);
    Some(format!("a `fileKeyRef` names volume `{volume}`, which is no `emptyDir` volume of the pod"))
}

fn host_ports(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let differs = |port: View<'_>| {
        let own = present(port, "hostPort").and_then(View::as_i64).filter(|own| *own != 0);
        own.is_some() && own != present(port, "containerPort").and_then(View::as_i64)
    };
    (!container.is_init && pod.is("hostNetwork") && container.items("ports").any(differs))
        .then(|| "with `hostNetwork: true`, a `hostPort` has to be the `containerPort`".to_owned())
}

fn port_names(_: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let mut seen = HashSet::new();
    let mut names = container.items("ports").filter_map(|port| string_member(port, "name"));
    let name = names.find(|name| !name.is_empty() && !seen.insert(name.clone()))?;
    Some(format!("two ports would be named `{}`", printable_short(&name)))
}
