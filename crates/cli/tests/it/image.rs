//! The container image under a real container runtime. `cargo xtask image --try` unpacks it and starts this test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{Options, leave_out, start_or_skip};

use crate::api;
use crate::cluster::{addresses, pod, print_manifests, replica};
use crate::examples;
use crate::fixture::finish;
use crate::wait;

/// A third of the limit of the printed Deployment.
const MEMORY: u64 = 128 << 20;

/// An unpacked image and the program that runs it.
struct Bundle {
    folder: PathBuf,
    runtime: String,
    entrypoint: String,
    name: String,
}

#[tokio::test]
async fn the_image_serves_rotates_and_drains_without_rights() {
    let Some(bundle) = Bundle::given() else {
        leave_out("it is for an image: `cargo xtask image --try` makes one and runs this test");
        return;
    };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    let admin = environment.admin().unwrap();
    let home = environment.namespace(&[]).await.unwrap().name().to_owned();
    let shop = environment.namespace(&[("injection", "enabled")]).await.unwrap().name().to_owned();
    let service = environment.service(&home, "injector").await.unwrap();
    let (manifests, _) = print_manifests(&examples::rules(), &home, &service);
    environment.apply(manifests.clone()).await.unwrap();

    bundle.write(&replica(&environment, &home, &manifests).await);
    let server = environment
        .spawn("image", &bundle.command(&["run", "--bundle", bundle.folder.to_str().unwrap()]))
        .unwrap();
    let (address, probes) = addresses(&server).await;
    service.add_replica(address, Some(probes)).unwrap();
    service.wait_for_replicas(1).await.unwrap();
    until_injected(&admin, &shop).await;
    bundle.check_confinement();

    let before = api::ca_bundle(&admin).await;
    api::ask_for_rotation(&admin, &home).await;
    let end = Instant::now() + Duration::from_secs(90);
    while api::ca_bundle(&admin).await == before {
        assert!(Instant::now() < end, "no rotation: {}", server.log());
        assert!(is_injected(&admin, &shop).await, "a call failed during the rotation: {}", server.log());
    }
    assert!(is_injected(&admin, &shop).await);

    service.remove_replica(address);
    bundle.run(&["kill", &bundle.name, "TERM"]);
    assert_eq!(server.wait().await.unwrap(), 0, "{}", server.log());
    let log = server.log();
    assert!(log.contains("draining: SIGTERM"), "{log}");
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_ne!(line["level"], "ERROR", "{line}");
    }
}

impl Bundle {
    /// The files that `cargo xtask image --try` unpacked.
    fn given() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("VESTIBULE_IMAGE_BUNDLE")?);
        let of = |name: &str| std::env::var(name).unwrap();
        let name = format!("vestibule-trial-{}", std::process::id());
        Some(Self {
            folder,
            runtime: of("VESTIBULE_IMAGE_RUNTIME"),
            entrypoint: of("VESTIBULE_IMAGE_ENTRYPOINT"),
            name,
        })
    }

    /// Writes `config.json`: the arguments and variables of `command`, in a container as the Deployment describes it.
    fn write(&self, command: &Command) {
        let text = |word: &OsStr| word.to_str().unwrap().to_owned();
        let mut arguments: Vec<String> = command.get_args().map(text).collect();
        // The container sees the file at another path.
        let at = arguments.iter().position(|word| word == "--kubeconfig").unwrap() + 1;
        fs::create_dir_all(self.folder.join("kubeconfig")).unwrap();
        fs::copy(&arguments[at], self.folder.join("kubeconfig/config")).unwrap();
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(self.folder.join("kubeconfig/config"), readable).unwrap();
        arguments[at] = "/kubeconfig/config".to_owned();
        arguments.insert(0, self.entrypoint.clone());
        let set = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
        let set = set.filter(|(name, _)| name != "HOME").map(|(name, value)| format!("{name}={value}"));
        let env: Vec<_> = ["PATH=/usr/bin".to_owned()].into_iter().chain(set).collect();
        let ids = json!([{"containerID": 0, "hostID": 100_000, "size": 65_536}]);
        // The test shares its network namespace with the container: both are in one that the xtask made.
        let namespaces = ["pid", "ipc", "uts", "mount", "user", "cgroup"].map(|kind| json!({"type": kind}));
        let config = json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": 65532, "gid": 65532},
                "args": arguments,
                "env": env,
                "cwd": "/",
                "capabilities": {},
                "noNewPrivileges": true,
            },
            "root": {"path": "rootfs", "readonly": true},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
                {"destination": "/kubeconfig", "type": "bind", "source": self.folder.join("kubeconfig"), "options": ["bind", "ro"]},
            ],
            "linux": {
                "namespaces": namespaces,
                "uidMappings": ids,
                "gidMappings": ids,
                "cgroupsPath": format!("/{}", self.name),
                "resources": {"memory": {"limit": MEMORY, "swap": MEMORY}},
            },
        });
        fs::write(self.folder.join("config.json"), config.to_string()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.runtime);
        command.args(arguments);
        if arguments[0] == "run" {
            command.arg(&self.name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        finish(&mut self.command(arguments), "").stdout()
    }

    /// Checks by the kernel's own words that the process has no rights, cannot write, and has a limit of memory.
    fn check_confinement(&self) {
        let state: Value = serde_json::from_str(&self.run(&["state", &self.name])).unwrap();
        let process = PathBuf::from(format!("/proc/{}", state["pid"]));
        let status = fs::read_to_string(process.join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        // 65532 in a user namespace that begins at 100000.
        assert_eq!(field("Uid"), ["165532"; 4]);
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(field(set), ["0000000000000000"], "{set}");
        }
        assert_eq!(field("NoNewPrivs"), ["1"]);
        let mounts = fs::read_to_string(process.join("mountinfo")).unwrap();
        let root = mounts.lines().find(|line| line.split_whitespace().nth(4) == Some("/")).unwrap();
        assert!(root.split_whitespace().nth(5).unwrap().split(',').any(|option| option == "ro"), "{root}");
        assert_eq!(memory_limit(&process), MEMORY);
        assert!(!process.join("root/bin").exists() && !process.join("root/usr/bin/sh").exists());
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // It is gone already after a test that passed.
        let _gone = self.command(&["delete", "--force", &self.name]).output();
    }
}

/// The limit of the process's cgroup, of version 1 or 2.
fn memory_limit(process: &Path) -> u64 {
    let groups = fs::read_to_string(process.join("cgroup")).unwrap();
    let path = |line: &str| line.splitn(3, ':').nth(2).unwrap().to_owned();
    let first = groups.lines().find(|line| line.split(':').nth(1) == Some("memory"));
    let file = match first {
        Some(line) => format!("/sys/fs/cgroup/memory{}/memory.limit_in_bytes", path(line)),
        None => format!("/sys/fs/cgroup{}/memory.max", path(groups.lines().next().unwrap())),
    };
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}")).trim().parse().unwrap()
}

async fn until_injected(admin: &Client, namespace: &str) {
    wait::until(async || is_injected(admin, namespace).await, |is_injected| *is_injected)
        .await
        .expect("nothing is injected");
}

/// Whether the API server changes a pod.
async fn is_injected(admin: &Client, namespace: &str) -> bool {
    let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let reply = api::post(admin, &uri, &pod("probe")).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.body);
    !reply.body["spec"]["initContainers"].is_null()
}
