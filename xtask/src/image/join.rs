//! Joins the images of two architectures to one: a registry then gives each node the image of its architecture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::layout::{INDEX, blob, finish, text, write};
use crate::files;

/// Reads the OCI layouts `FOLDER/image`, and writes one layout with all of them into `output`. Returns the digest of the joint
/// image.
pub(super) fn run(folders: &[PathBuf], output: &Path) -> anyhow::Result<String> {
    let (mut files, mut manifests) = (BTreeMap::new(), Vec::<Value>::new());
    for folder in folders {
        let layout = folder.join("image");
        let index: Value = serde_json::from_slice(&files::read_bytes(&layout.join("index.json"))?)
            .with_context(|| format!("{} is no OCI layout", layout.display()))?;
        for manifest in index["manifests"].as_array().into_iter().flatten() {
            let same = |other: &Value| other["platform"] == manifest["platform"];
            if manifests.iter().any(same) {
                bail!("two of the images are for {}", manifest["platform"]);
            }
            manifests.push(manifest.clone());
        }
        for path in files::list(&layout.join("blobs/sha256"))? {
            files.insert(format!("blobs/sha256/{}", files::name(&path)), files::read_bytes(&path)?);
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
