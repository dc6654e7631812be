//! Layers and layout from given bytes: quick, without a build.

use std::collections::BTreeMap;
use std::io::Read;

use super::debian::{Base, Package};
use super::layout::{Image, Labels};
use super::{Architecture, compile, join, root};

fn image(binary: &[u8]) -> Image {
    image_for(Architecture::Amd64, binary)
}

fn image_for(arch: Architecture, binary: &[u8]) -> Image {
    let labels = Labels {
        name: "registry.example.com/hook".to_owned(),
        tag: "1.0".to_owned(),
        title: "hook".to_owned(),
        version: "1.0.0".to_owned(),
        revision: "abc".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
    };
    let libc = ("/lib/x86_64-linux-gnu/libc.so.6".to_owned(), b"libc".to_vec());
    let package = Package {
        name: "libc6".to_owned(),
        version: "2.36".to_owned(),
        architecture: "amd64".to_owned(),
        status: String::new(),
    };
    let base = Base { files: BTreeMap::from([libc]), packages: vec![package] };
    let layers = [
        root::base(base).unwrap(),
        root::program("hook", binary.to_vec(), "{}".to_owned(), b"Apache".to_vec()),
    ];
    Image::new(labels, arch, &layers).unwrap()
}

#[test]
fn equal_files_make_equal_images_at_any_time() {
    let (one, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    image(b"binary").write(one.path()).unwrap();
    image(b"binary").write(again.path()).unwrap();
    let tar = |folder: &tempfile::TempDir| std::fs::read(folder.path().join("image.tar")).unwrap();
    assert_eq!(tar(&one), tar(&again));
    assert_ne!(image(b"binary").digest, image(b"other").digest);
}

#[test]
fn the_entrypoint_is_executable_and_everything_else_belongs_to_root() {
    let mut found = BTreeMap::new();
    for layer in &image(b"binary").layers {
        for entry in tar::Archive::new(layer.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 0));
            // Nothing is writable for the user of the container, and nothing changes its user.
            assert_eq!(header.mode().unwrap() & 0o7022, 0);
            found.insert(entry.path().unwrap().display().to_string(), header.mode().unwrap());
        }
    }
    assert_eq!(found["usr/bin/hook"], 0o755);
    assert_eq!(found["lib/x86_64-linux-gnu/libc.so.6"], 0o755);
    assert_eq!(found["etc/nsswitch.conf"], 0o644);
    assert!(!found.keys().any(|path| path.ends_with("/sh")), "{found:?}");
}

#[test]
fn the_layout_names_each_blob_by_its_digest() {
    use sha2::Digest;
    let folder = tempfile::tempdir().unwrap();
    let image = image(b"binary");
    image.write(folder.path()).unwrap();
    // An image that was there before leaves nothing behind.
    image.write(folder.path()).unwrap();
    let layout = folder.path().join("image");
    let read = |path: &str| std::fs::read(layout.join(path)).unwrap();
    let json = |path: &str| serde_json::from_slice::<serde_json::Value>(&read(path)).unwrap();
    let mut blobs = 0;
    for entry in std::fs::read_dir(layout.join("blobs/sha256")).unwrap() {
        let path = entry.unwrap().path();
        let digest = sha2::Sha256::digest(std::fs::read(&path).unwrap());
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(path.file_name().unwrap().to_str().unwrap(), digits);
        blobs += 1;
    }
    assert_eq!(blobs, 4);
    let index = json("index.json");
    assert_eq!(index["manifests"][0]["digest"], image.digest);
    let manifest = json(&format!("blobs/{}", image.digest.replace(':', "/")));
    let config = manifest["config"]["digest"].as_str().unwrap().replace(':', "/");
    let config = json(&format!("blobs/{config}"));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/hook");
    for (key, value) in
        [("title", "hook"), ("version", "1.0.0"), ("revision", "abc"), ("licenses", "Apache-2.0")]
    {
        let key = format!("org.opencontainers.image.{key}");
        assert_eq!(
            (&manifest["annotations"][&key], &config["config"]["Labels"][&key]),
            (&value.into(), &value.into())
        );
    }
    // The configuration names the digests of the layers before compression.
    for (layer, diff) in
        manifest["layers"].as_array().unwrap().iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap())
    {
        let packed = read(&format!("blobs/{}", layer["digest"].as_str().unwrap().replace(':', "/")));
        let mut tar = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut tar).unwrap();
        let digits: String = sha2::Sha256::digest(&tar).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(diff, &format!("sha256:{digits}"));
    }
    let docker = json("manifest.json");
    assert_eq!(docker[0]["RepoTags"][0], "registry.example.com/hook:1.0");
    assert!(layout.join(docker[0]["Config"].as_str().unwrap()).is_file());
}

#[test]
fn images_of_two_architectures_become_one_with_an_entry_for_each() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Vec<_> = folders.iter().map(|folder| folder.path().to_owned()).collect();
    let (amd64, arm64) = (image(b"amd64"), image_for(Architecture::Arm64, b"arm64"));
    amd64.write(&paths[0]).unwrap();
    arm64.write(&paths[1]).unwrap();
    let digest = join::run(&paths[..2], &paths[2]).unwrap();
    let backwards = join::run(&[paths[1].clone(), paths[0].clone()], &paths[2]).unwrap();
    assert_eq!(digest, backwards);

    let layout = paths[2].join("image");
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(layout.join(path)).unwrap()).unwrap()
    };
    let top = &json("index.json")["manifests"];
    assert_eq!((top.as_array().unwrap().len(), &top[0]["digest"]), (1, &serde_json::json!(digest)));
    assert_eq!(top[0]["annotations"]["org.opencontainers.image.ref.name"], "1.0");
    let index = json(&format!("blobs/{}", digest.replace(':', "/")));
    for (entry, image, arch) in
        [(&index["manifests"][0], &amd64, "amd64"), (&index["manifests"][1], &arm64, "arm64")]
    {
        assert_eq!(
            (&entry["digest"], &entry["platform"]["architecture"]),
            (&image.digest.as_str().into(), &arch.into())
        );
        let manifest = json(&format!("blobs/{}", image.digest.replace(':', "/")));
        for layer in manifest["layers"].as_array().unwrap() {
            let blob = layer["digest"].as_str().unwrap().replace(':', "/");
            assert!(layout.join("blobs").join(blob).is_file());
        }
    }
    let twice = join::run(&[paths[0].clone(), paths[0].clone()], &paths[2]).unwrap_err();
    assert!(twice.to_string().contains("amd64"), "{twice}");
}

#[test]
fn a_binary_for_another_machine_is_refused() {
    let mut elf = vec![0; 64];
    elf[..4].copy_from_slice(b"\x7fELF");
    elf[18] = 183;
    assert!(compile::check_architecture(&elf, Architecture::Arm64).is_ok());
    assert!(compile::check_architecture(&elf, Architecture::Amd64).is_err());
    assert!(compile::check_architecture(b"#!/bin/sh\n", Architecture::Amd64).is_err());
}

/// Docker builds the image from the unpacked layers and the lines of the Dockerfile.
#[test]
fn the_dockerfile_has_the_files_and_the_configuration_of_the_image() {
    let image = image(b"binary");
    let (layout, unpacked) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    image.write(layout.path()).unwrap();
    image.unpack(unpacked.path()).unwrap();
    assert_eq!(std::fs::read(unpacked.path().join("usr/bin/hook")).unwrap(), b"binary");
    assert!(unpacked.path().join("usr/share/sbom/hook.cdx.json").is_file());

    let json = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(layout.path().join("image").join(path)).unwrap()).unwrap()
    };
    let manifest = json(&format!("blobs/{}", image.digest.replace(':', "/")));
    let digest = manifest["config"]["digest"].as_str().unwrap().replace(':', "/");
    let config = &json(&format!("blobs/{digest}"))["config"];
    let words = config["Env"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let lines = [
        format!("ENV {}", words.collect::<Vec<_>>().join(" ")),
        format!("USER {}", config["User"].as_str().unwrap()),
        format!("ENTRYPOINT {}", config["Entrypoint"]).replace("hook", "vestibule"),
    ];
    let dockerfile = crate::files::read_here("deploy/Dockerfile").unwrap();
    for line in lines {
        assert!(dockerfile.lines().any(|found| found == line), "{line}");
    }
}
