//! Pods with access to their node. A container that a rule of a namespace adds would share it, and a variable or mount in a
//! container with access could use it.

use serde_json::Value;

use super::allowed::{Allowed, NotAllowed};
use super::items;
use crate::pod::CONTAINER_LISTS;

/// Whether containers of a pod with this `spec` share a namespace of the node, a domain of SELinux, or the processes of a container
/// with access.
pub(super) fn shared(spec: &Value) -> Allowed {
    let mut fields = ["hostIPC", "hostNetwork", "hostPID"].into_iter();
    if let Some(field) = fields.find(|field| spec[*field] == true) {
        return Err(NotAllowed::has_access(field));
    }
    if !spec["securityContext"]["seLinuxOptions"]["type"].is_null() {
        return Err(NotAllowed::has_access("securityContext.seLinuxOptions.type"));
    }
    match spec["shareProcessNamespace"] == true && containers(spec).any(|one| is_reached_by(one, spec)) {
        true => Err(NotAllowed::has_access("shareProcessNamespace")),
        false => Ok(()),
    }
}

/// Whether `container` of a pod with this `spec` has access to the node.
pub(super) fn is_reached_by(container: &Value, spec: &Value) -> bool {
    let context = &container["securityContext"];
    let is_of_node = |mount: &Value| {
        let mut volumes = items(&spec["volumes"]).iter();
        volumes.any(|volume| volume["name"] == mount["name"] && !volume["hostPath"].is_null())
    };
    context["privileged"] == true
        || context["procMount"] == "Unmasked"
        || !context["seLinuxOptions"]["type"].is_null()
        || context["windowsOptions"]["hostProcess"] == true
        // The restricted policy of the Pod Security Standards allows this one.
        || items(&context["capabilities"]["add"]).iter().any(|added| added != "NET_BIND_SERVICE")
        || !items(&container["volumeDevices"]).is_empty()
        || items(&container["volumeMounts"]).iter().any(is_of_node)
}

/// Whether the volume `name` is free of containers with access: they may run what another container writes there.
pub(super) fn unused(spec: &Value, name: &str) -> Allowed {
    let names = |list: &Value| items(list).iter().any(|one| one["name"] == name);
    let is_used = |container: &Value| {
        let mut variables = items(&container["env"]).iter();
        names(&container["volumeMounts"])
            || names(&container["volumeDevices"])
            || variables.any(|one| one["valueFrom"]["fileKeyRef"]["volumeName"] == name)
    };
    match containers(spec).any(|one| is_used(one) && is_reached_by(one, spec)) {
        true => Err(NotAllowed::has_access(format!("volumes[{name}]"))),
        false => Ok(()),
    }
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINER_LISTS.iter().flat_map(|list| items(&spec[*list]))
}
