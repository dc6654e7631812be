//! The words of `allowedParts`.

/// A word of `allowedParts`: something that rules of namespaces may add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowedPart {
    Annotations,
    /// ConfigMaps as volumes and sources of variables.
    ConfigMaps,
    /// Variables of existing containers.
    Env,
    ImagePullSecrets,
    InitContainers,
    Labels,
    PersistentVolumeClaims,
    /// Secrets as volumes and sources of variables.
    Secrets,
    Sidecars,
    /// Mounts in existing containers.
    VolumeMounts,
    /// Volumes of the kinds `emptyDir` and `downwardAPI`, and of other kinds that are allowed besides.
    Volumes,
}
