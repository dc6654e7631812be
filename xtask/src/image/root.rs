//! The root file system: what the layers hold.

use std::collections::BTreeMap;
use std::io::Write;

use super::debian::Base;

/// The user of pods: `vestibule-manifests` writes the same number.
pub(super) const USER: u32 = 65532;

/// The files of a layer, by absolute path.
pub(super) type Layer = BTreeMap<String, File>;

/// A file of a layer.
pub(super) struct File {
    pub(super) mode: u32,
    pub(super) contents: Vec<u8>,
}

/// Shared libraries, certificates and the files by which libc finds users and hosts.
pub(super) fn base(base: Base) -> anyhow::Result<Layer> {
    let mut layer: Layer =
        base.files.into_iter().map(|(path, contents)| (path, File::read_only(contents))).collect();
    for (path, file) in &mut layer {
        // The loader and libc are programs too.
        if path.starts_with("/lib") {
            file.mode = 0o755;
        }
    }
    let mut passwd = Vec::new();
    writeln!(passwd, "root:x:0:0:root:/root:/sbin/nologin")?;
    writeln!(passwd, "nonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin")?;
    let group = format!("root:x:0:\nnonroot:x:{USER}:\n");
    // libc has `files` and `dns` built in: no further library is loaded to resolve a name.
    let hosts = "passwd: files\ngroup: files\nhosts: files dns\n";
    layer.insert("/etc/passwd".to_owned(), File::read_only(passwd));
    layer.insert("/etc/group".to_owned(), File::read_only(group));
    layer.insert("/etc/nsswitch.conf".to_owned(), File::read_only(hosts));
    Ok(layer)
}

/// The binary, its list of crates, and the licence.
pub(super) fn program(name: &str, binary: Vec<u8>, bill: String, licence: Vec<u8>) -> Layer {
    Layer::from([
        (entrypoint(name), File { mode: 0o755, contents: binary }),
        (format!("/usr/share/sbom/{name}.cdx.json"), File::read_only(bill)),
        (format!("/usr/share/doc/{name}/LICENSE"), File::read_only(licence)),
    ])
}

/// The path of the binary.
pub(super) fn entrypoint(name: &str) -> String {
    format!("/usr/bin/{name}")
}

impl File {
    fn read_only(contents: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o644, contents: contents.into() }
    }
}
