//! `vestibule version`, and the krew manifest that installs the binary as a plugin of kubectl.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::fixture::{Folder, objects};
use crate::how_to::ROOT;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn version_names_the_program_the_rules_and_the_definitions() {
    let folder = Folder::with(&[]);
    let found = folder.run("version -o json").json();
    assert_eq!(found["version"], VERSION);
    assert_eq!(
        found["rules"],
        json!({"apiVersion": "vestibule.dev/v1alpha1", "kinds": ["Injection", "InjectorSettings", "NamespacedInjection"]})
    );
    assert_eq!(found["image"], format!("ghcr.io/vestibule-dev/vestibule:{VERSION}"));
    // The definitions are those that the same binary installs.
    let installed = folder.run("manifests --namespace a --image b").objects();
    let definitions = installed.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let definitions: Vec<_> = definitions
        .map(|definition| {
            let versions = definition["spec"]["versions"].as_array().unwrap().iter();
            let versions: Vec<_> = versions.map(|version| version["name"].clone()).collect();
            json!({"name": definition["metadata"]["name"], "versions": versions})
        })
        .collect();
    assert_eq!((definitions.len(), &found["definitions"]), (3, &json!(definitions)));

    let yaml = folder.run("version -o yaml").objects();
    assert_eq!(yaml, [found]);
    let text = folder.run("version");
    text.exits(0)
        .shows(VERSION)
        .shows("rules        vestibule.dev/v1alpha1")
        .shows("injections.vestibule.dev (v1alpha1)");
    folder.run("--version").prints(&format!("vestibule {VERSION}\n"));
}

/// `xtask` fills in version and checksums; here the template is read as krew reads it.
#[test]
fn the_krew_manifest_is_a_plugin_for_every_platform_of_a_release() {
    let text = fs::read_to_string(Path::new(ROOT).join("deploy/krew/vestibule.yaml")).unwrap();
    let [plugin] = &objects(&text)[..] else { panic!("one object") };
    assert_eq!(
        (&plugin["apiVersion"], &plugin["kind"], &plugin["metadata"]["name"]),
        (&json!("krew.googlecontainertools.github.com/v1alpha2"), &json!("Plugin"), &json!("vestibule"))
    );
    let spec = &plugin["spec"];
    // krew refuses longer ones, and a full stop at the end.
    let short = spec["shortDescription"].as_str().unwrap();
    assert!(short.len() <= 50 && !short.ends_with('.'), "{short}");
    let platforms = spec["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 5);
    for platform in platforms {
        let labels = &platform["selector"]["matchLabels"];
        let (system, architecture) = (labels["os"].as_str().unwrap(), labels["arch"].as_str().unwrap());
        let ending = format!("vestibule-VERSION-{system}-{architecture}.tar.gz");
        assert!(platform["uri"].as_str().unwrap().ends_with(&ending), "{platform}");
        assert_eq!(platform["sha256"], format!("SHA256-{system}-{architecture}"));
        let program = if system == "windows" { "vestibule.exe" } else { "vestibule" };
        assert_eq!(platform["bin"], program);
    }
}
