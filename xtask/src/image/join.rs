//! Joins the images of two architectures to one: a registry then gives each node the image of its architecture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::layout::{INDEX, blob, finish, text, write};

/// Reads the OCI layouts `FOLDER/image`, and writes one layout with all of them into `output`. Returns the digest of the joint
/// image.
pub(super) fn run(folders: &[PathBuf], output: &Path) -> anyhow::Result<String> {
    let (mut files, mut manifests) = (BTreeMap::new(), Vec::<Value>::new());
    for folder in folders {
        let layout = folder.join("image");
        let index: Value = serde_json::from_slice(&read(&layout.join("index.json"))?)
            .with_context(|| format!("{} is no OCI layout", layout.display()))?;
        for manifest in index["manifests"].as_array().into_iter().flatten() {
            let same = |other: &Value| other["platform"] == manifest["platform"];
            if manifests.iter().any(same) {
                bail!("two of the images are for {}", manifest["platform"]);
            }
            manifests.push(manifest.clone());
        }
        let blobs = layout.join("blobs/sha256");
        for entry in fs::read_dir(&blobs).with_context(|| format!("cannot read {}", blobs.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(format!("blobs/sha256/{name}"), read(&path)?);
        }
    }
    manifests.sort_by_key(|manifest| manifest["platform"].to_string());
    let annotations = manifests.first().map(|first| first["annotations"].clone());
    let annotations = annotations.context("no image to join")?;
    for manifest in &mut manifests {
        // The name is that of the joint image, not of its parts.
        if let Some(members) = manifest.as_object_mut() {
            members.remove("annotations");
        }
    }
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    let mut entry = blob(&mut files, text(&index), INDEX);
    let digest = entry["digest"].as_str().unwrap_or_default().to_owned();
    entry["annotations"] = annotations;
    // Tools that copy an image by its tag need one entry for the tag: the index of the architectures is a blob.
    finish(&mut files, &entry);
    write(&files, output)?;
    Ok(digest)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
