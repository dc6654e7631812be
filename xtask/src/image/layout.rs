//! Writes an OCI image layout, and the same as a tar that `docker load` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Architecture;
use super::root::{Layer, USER, entrypoint};
use crate::files;
use crate::tarball::{append, header, pack, sha256};

/// The media type of an index.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The name, version and origin that the image is labelled with.
pub(super) struct Labels {
    /// The name without a tag.
    pub(super) name: String,
    pub(super) tag: String,
    /// The name of the binary.
    pub(super) title: String,
    pub(super) version: String,
    pub(super) revision: String,
    /// RFC 3339.
    pub(super) created: String,
}

/// A finished image in memory.
pub(super) struct Image {
    labels: Labels,
    /// By path in the layout: `blobs/sha256/...` and the index.
    files: BTreeMap<String, Vec<u8>>,
    /// The digest of the manifest: what a Deployment pins.
    pub(super) digest: String,
    /// The size of the layers in bytes, as a registry has them.
    pub(super) compressed: usize,
    /// The size of all files in bytes.
    pub(super) unpacked: usize,
    /// The tars of the layers.
    pub(super) layers: Vec<Vec<u8>>,
}

impl Image {
    /// An image of these layers, the lowest first.
    pub(super) fn new(labels: Labels, arch: Architecture, layers: &[Layer]) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        let (mut descriptors, mut diffs, mut tars, mut compressed) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for layer in layers {
            let tar = archive(layer)?;
            diffs.push(digest(&tar));
            let packed = pack(&tar)?;
            compressed += packed.len();
            descriptors.push(blob(&mut files, packed, "application/vnd.oci.image.layer.v1.tar+gzip"));
            tars.push(tar);
        }
        let about = labels.annotations();
        let config = json!({
            "created": labels.created,
            "architecture": arch.name(),
            "os": "linux",
            "config": {
                "User": format!("{USER}:{USER}"),
                "Entrypoint": [entrypoint(&labels.title)],
                "Env": ["PATH=/usr/bin", format!("SSL_CERT_FILE={}", super::debian::BUNDLE)],
                "WorkingDir": "/",
                "StopSignal": "SIGTERM",
                "Labels": about,
            },
            "rootfs": {"type": "layers", "diff_ids": diffs},
            "history": layers.iter().map(|_| json!({"created": labels.created, "created_by": "cargo xtask image"})).collect::<Vec<_>>(),
        });
        let config = blob(&mut files, text(&config), "application/vnd.oci.image.config.v1+json");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": descriptors,
            "annotations": about,
        });
        let mut entry = blob(&mut files, text(&manifest), "application/vnd.oci.image.manifest.v1+json");
        let digest = entry["digest"].as_str().unwrap_or_default().to_owned();
        entry["platform"] = json!({"architecture": arch.name(), "os": "linux"});
        entry["annotations"] = json!({
            "org.opencontainers.image.ref.name": labels.tag,
            "io.containerd.image.name": labels.reference(),
        });
        finish(&mut files, &entry);
        let unpacked = layers.iter().flat_map(Layer::values).map(|file| file.contents.len()).sum();
        let image = Self { labels, files, digest, compressed, unpacked, layers: tars };
        Ok(image.for_docker(&config, &descriptors))
    }

    /// Adds the index by which `docker load` before version 25 finds config and layers.
    fn for_docker(mut self, config: &Value, layers: &[Value]) -> Self {
        let path = |entry: &Value| entry["digest"].as_str().unwrap_or_default().replace(':', "/");
        let path = |entry: &Value| format!("blobs/{}", path(entry));
        let manifest = json!([{
            "Config": path(config),
            "RepoTags": [self.reference()],
            "Layers": layers.iter().map(path).collect::<Vec<_>>(),
        }]);
        self.files.insert("manifest.json".to_owned(), text(&manifest));
        self
    }

    /// Writes `image` and `image.tar` into `folder`. An earlier image there is replaced.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        write(&self.files, folder)
    }

    /// Writes the root file system into `folder`.
    pub(super) fn unpack(&self, folder: &Path) -> anyhow::Result<()> {
        for layer in &self.layers {
            tar::Archive::new(layer.as_slice()).unpack(folder)?;
        }
        Ok(())
    }

    /// Name and tag.
    pub(super) fn reference(&self) -> String {
        self.labels.reference()
    }

    /// The path of the binary.
    pub(super) fn entrypoint(&self) -> String {
        entrypoint(&self.labels.title)
    }
}

impl Labels {
    fn reference(&self) -> String {
        format!("{}:{}", self.name, self.tag)
    }

    fn annotations(&self) -> Value {
        json!({
            "org.opencontainers.image.title": self.title,
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.created": self.created,
            "org.opencontainers.image.licenses": "Apache-2.0",
        })
    }
}

/// Makes `entry` the image of the layout.
pub(super) fn finish(files: &mut BTreeMap<String, Vec<u8>>, entry: &Value) {
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});
    files.insert("index.json".to_owned(), text(&index));
    files.insert("oci-layout".to_owned(), text(&json!({"imageLayoutVersion": "1.0.0"})));
}

/// Writes the files of a layout into the folder `image` of `folder`, and into `image.tar` beside it.
pub(super) fn write(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> anyhow::Result<()> {
    let layout = folder.join("image");
    if layout.exists() {
        fs::remove_dir_all(&layout)?;
    }
    let mut tar = tar::Builder::new(Vec::new());
    for (path, contents) in files {
        let file = layout.join(path);
        fs::create_dir_all(file.parent().unwrap_or(&layout))?;
        files::write(&file, contents)?;
        append(&mut tar, path, 0o644, contents)?;
    }
    files::write(&folder.join("image.tar"), tar.into_inner()?)
}

/// A tar of the files and their folders: sorted, owned by root, without times.
fn archive(layer: &Layer) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for (path, file) in layer {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            if folders.insert(&path[..=end]) {
                let mut header = header(0o755, 0);
                header.set_entry_type(tar::EntryType::Directory);
                tar.append_data(&mut header, &path[..=end], std::io::empty())?;
            }
        }
        append(&mut tar, path, file.mode, &file.contents)?;
    }
    Ok(tar.into_inner()?)
}

/// Adds a blob. Returns its descriptor.
pub(super) fn blob(files: &mut BTreeMap<String, Vec<u8>>, contents: Vec<u8>, kind: &str) -> Value {
    let digest = digest(&contents);
    let descriptor = json!({"mediaType": kind, "digest": digest, "size": contents.len()});
    files.insert(format!("blobs/{}", digest.replace(':', "/")), contents);
    descriptor
}

pub(super) fn digest(contents: &[u8]) -> String {
    format!("sha256:{}", sha256(contents))
}

/// JSON with sorted keys.
pub(super) fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}
