//! Runs the image as a node would: under runc or crun, called by a real API server, without Docker.
//!
//! The assertions are in `crates/cli/tests/it/image.rs`; this module unpacks the layers and starts that test in a network
//! namespace of its own.

use std::fs;
use std::process::Command;

use anyhow::Context;

use super::layout::Image;
use crate::binary::{self, PACKAGE};
use crate::{cargo, controlplane};

/// Folders that a runtime mounts file systems on. The container's user cannot make them: the root is read-only.
const MOUNTED: [&str; 4] = ["dev", "proc", "sys", "kubeconfig"];

pub(super) fn run(image: &Image) -> anyhow::Result<()> {
    let runtime = ["runc", "crun"].into_iter().find(|name| cargo::is_installed(name));
    let runtime = runtime.context("neither runc nor crun is installed; `apt-get install runc` brings one")?;
    let bundle = tempfile::tempdir()?;
    let root = bundle.path().join("rootfs");
    image.unpack(&root)?;
    for folder in MOUNTED {
        fs::create_dir_all(root.join(folder))?;
    }
    // Root of the container's user namespace has no rights outside.
    #[cfg(unix)]
    fs::set_permissions(bundle.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // Built outside, where the network is.
    cargo::run(&["test", "--package", PACKAGE, "--test", "it", "--no-run"])?;
    controlplane::find_or_build(None)?;
    let test = binary::test(TEST);
    let mut command = Command::new("unshare");
    command.args(["--net", "--", "sh", "-c", NETWORK]);
    command.arg(test.get_program()).args(test.get_args());
    command.env("VESTIBULE_REQUIRE_APISERVER", "1");
    command.env("VESTIBULE_IMAGE_BUNDLE", bundle.path()).env("VESTIBULE_IMAGE_RUNTIME", runtime);
    command.env("VESTIBULE_IMAGE_ENTRYPOINT", image.entrypoint());
    cargo::finish(&mut command).with_context(|| {
        format!("the image does not run as it should under {runtime}; the test {TEST} says why")
    })
}

/// A network namespace with loopback only. kube-apiserver starts only if it finds an address by a default route.
const NETWORK: &str = "ip link set lo up && ip address add 198.51.100.1/32 dev lo && ip route add default dev lo && exec \"$0\" \"$@\"";

/// The test that runs the bundle.
const TEST: &str = "image::the_image_serves_rotates_and_drains_without_rights";
