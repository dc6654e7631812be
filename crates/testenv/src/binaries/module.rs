//! The Go modules that programs are built from.

/// A Go module, carried along so that it is there wherever this crate is a dependency.
pub(super) struct Module {
    /// Its name in the cache.
    pub(super) name: &'static str,
    /// What comes out, for people.
    pub(super) what: &'static str,
    /// What else would do, for people.
    pub(super) instead: &'static str,
    /// How long it takes from an empty cache.
    pub(super) minutes: u8,
    /// Its files: paths and texts, `go.mod` first.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// Packages, and the programs that each gives: one binary, which acts as what it is called.
    pub(super) programs: &'static [(&'static str, &'static [&'static str])],
}

pub(super) const CONTROLPLANE: Module = Module {
    name: "controlplane",
    what: "kube-apiserver and etcd",
    instead: "; or let KUBEBUILDER_ASSETS name a folder that has them",
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
    what: "kubectl, helm 3 and helm 4",
    instead: "",
    minutes: 3,
    sources: &[
        ("go.mod", include_str!("../../tools/go.mod")),
        ("go.sum", include_str!("../../tools/go.sum")),
        ("kubectl/main.go", include_str!("../../tools/kubectl/main.go")),
    ],
    programs: &[
        ("./kubectl", &["kubectl"]),
        ("helm.sh/helm/v3/cmd/helm", &["helm3"]),
        ("helm.sh/helm/v4/cmd/helm", &["helm4"]),
    ],
};

impl Module {
    /// How the temporary folders of its builds are called in the cache.
    pub(super) fn workshop(&self) -> String {
        format!("build-{}-", self.name)
    }

    /// How its folders in the cache are called, but for the version of `go`: after everything that decides the outcome.
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

    /// The version of Kubernetes that its programs are to say they are of: `v1.36.2` with modules of `v0.36.2`.
    pub(super) fn version(&self) -> String {
        let lines = self.sources.first().into_iter().flat_map(|(_, text)| text.lines());
        let version = lines.map(str::trim).find_map(|line| line.strip_prefix("k8s.io/component-base v0."));
        format!("v1.{}", version.unwrap_or("0.0"))
    }
}

// FNV-1a: the name must stay the same from one toolchain to the next, which std's hasher does not promise.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_of_one_version_of_kubernetes() {
        assert_eq!(CONTROLPLANE.version(), "v1.36.2");
        assert_eq!(TOOLS.version(), CONTROLPLANE.version());
    }
}
