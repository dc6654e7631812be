//! The Go modules from which programs are built.

/// A Go module. Its sources are compiled into this crate, so that a dependent crate can build it.
pub(super) struct Module {
    /// The name in the cache.
    pub(super) name: &'static str,
    /// The programs, for messages.
    pub(super) description: &'static str,
    /// Another way to get the programs, for messages.
    pub(super) alternative: &'static str,
    /// The duration of a build with an empty cache.
    pub(super) minutes: u8,
    /// The files: paths and texts, `go.mod` first.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// Packages, and the programs of each: one binary under several names, which acts according to its name.
    pub(super) programs: &'static [(&'static str, &'static [&'static str])],
}

pub(super) const CONTROLPLANE: Module = Module {
    name: "controlplane",
    description: "kube-apiserver and etcd",
    alternative: "; or let KUBEBUILDER_ASSETS name a folder that has them",
    minutes: 5,
    sources: &[
        ("go.mod", include_str!("../../controlplane/go.mod")),
        ("go.sum", include_str!("../../controlplane/go.sum")),
        ("main.go", include_str!("../../controlplane/main.go")),
    ],
    programs: &[(".", &["etcd", "kube-apiserver", "kube-controller-manager"])],
};

pub(super) const TOOLS: Module = Module {
    name: "tools",
    description: "kubectl, helm 3, helm 4 and a kubelet's streams",
    alternative: "",
    minutes: 3,
    sources: &[
        ("go.mod", include_str!("../../tools/go.mod")),
        ("go.sum", include_str!("../../tools/go.sum")),
        ("kubectl/main.go", include_str!("../../tools/kubectl/main.go")),
        ("kubelet/main.go", include_str!("../../tools/kubelet/main.go")),
    ],
    programs: &[
        ("./kubectl", &["kubectl"]),
        ("./kubelet", &["kubelet"]),
        ("helm.sh/helm/v3/cmd/helm", &["helm3"]),
        ("helm.sh/helm/v4/cmd/helm", &["helm4"]),
    ],
};

impl Module {
    /// The prefix of the temporary folders of builds in the cache.
    pub(super) fn build_prefix(&self) -> String {
        format!("build-{}-", self.name)
    }

    /// The name of the folder in the cache, without the version of `go`: it contains a hash of the sources.
    pub(super) fn folder_prefix(&self) -> String {
        let hash = self
            .sources
            .iter()
            .flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()])
            .flatten()
            .fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        format!("{}-{hash:016x}-", self.name)
    }

    /// Every program.
    pub(super) fn all_programs(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().flat_map(|(_, programs)| *programs).copied()
    }

    /// The version of Kubernetes that the programs report: `v1.36.2` for modules of `v0.36.2`.
    pub(super) fn version(&self) -> String {
        let lines = self.sources.first().into_iter().flat_map(|(_, text)| text.lines());
        let version = lines.map(str::trim).find_map(|line| line.strip_prefix("k8s.io/component-base v0."));
        format!("v1.{}", version.unwrap_or("0.0"))
    }
}

// FNV-1a: std's hasher may change with the toolchain, and the name of the folder must not.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modules_are_of_one_version_of_kubernetes() {
        assert_eq!(CONTROLPLANE.version(), "v1.36.2");
        assert_eq!(TOOLS.version(), CONTROLPLANE.version());
    }
}
