//! The commands of a page about an article, on a real API server. Tests of other examples include this file.

#[path = "../../../../crates/cli/tests/it/pages/block.rs"]
#[allow(dead_code, reason = "the tests of other pages use the rest")]
mod block;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use vestibule_testenv::{Child, Options, Session, Tools, start_or_skip, tools_or_skip};

use self::block::Block;

/// Runs all blocks of the page in order, and compares their output with the page. The first block creates the namespace and
/// installs `program`; then a replica runs as a pod of the Deployment would.
pub(crate) async fn replay(page: &str, program: &str, namespace: &str) {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    // On a cluster a controller makes the ServiceAccount that pods need; here no controller runs.
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
    environment.apply([account]).await.unwrap();
    let webhook = Webhook { environment, tools, program: Path::new(program), namespace };

    let blocks = Block::all(page);
    for block in &blocks {
        if let Some(name) = block.file() {
            fs::write(webhook.environment.folder().join(name), &block.text).unwrap();
        }
    }
    let mut commands = blocks.iter().filter(|block| block.has_commands());
    let install = commands.next().unwrap().script();
    let (create, install) = install.split_once('\n').unwrap();
    webhook.run(create);
    let service = webhook.environment.service(namespace, webhook.name()).await.unwrap();
    webhook.replace_cargo(service.port());
    webhook.run(install);

    let objects = webhook.installed();
    let server = webhook.start(&objects).await;
    let (address, probes) = addresses(&server).await;
    service.add_replica(address, Some(probes)).unwrap();
    service.wait_for_replicas(1).await.unwrap();
    let called: Vec<_> = objects.into_iter().filter(|object| !is_right(object)).collect();
    let _called = webhook.environment.adopt(&called).await.unwrap();

    for block in commands {
        let (succeeds, printed) = webhook.try_to_run(&block.script());
        let shown = block.output();
        let is_as_shown =
            if shown.is_empty() { succeeds } else { printed.lines().map(str::trim_end).eq(shown.lines()) };
        assert!(is_as_shown, "{}\nprinted:\n{printed}", block.text);
    }
}

struct Webhook<'a> {
    environment: Session,
    tools: Tools,
    program: &'a Path,
    namespace: &'a str,
}

impl Webhook<'_> {
    /// The name of the app is that of its package.
    fn name(&self) -> &str {
        self.program.file_name().unwrap().to_str().unwrap()
    }

    /// The output of a script, which must succeed.
    fn run(&self, script: &str) -> String {
        let (succeeds, printed) = self.try_to_run(&format!("set -e\n{script}"));
        assert!(succeeds, "{script}\n{printed}");
        printed
    }

    fn try_to_run(&self, script: &str) -> (bool, String) {
        let folders = [self.environment.folder(), self.tools.kubectl.parent().unwrap()].map(Path::display);
        let mut shell = self.environment.command(Path::new("sh"));
        let path = format!("{}:{}:{}", folders[0], folders[1], std::env::var("PATH").unwrap());
        shell.args(["-c", &format!("exec 2>&1\n{script}")]).env("PATH", path);
        let done = shell.current_dir(self.environment.folder()).output().unwrap();
        (done.status.success(), String::from_utf8(done.stdout).unwrap())
    }

    /// Makes `cargo run ... -- ARGUMENTS` run the program. The port of the Service here is not 443.
    fn replace_cargo(&self, port: u16) {
        let (file, service) =
            (self.environment.folder().join("cargo"), format!("{}/{}", self.namespace, self.name()));
        let script = format!(
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\n\
             [ \"$1\" != manifests ] || set -- \"$@\" --service {service}:{port}\nexec {} \"$@\"\n",
            self.program.display()
        );
        fs::write(&file, script).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The installed objects that a test has to wait for.
    fn installed(&self) -> Vec<Value> {
        let kinds = "roles,clusterroles,deployments,customresourcedefinitions,\
                     mutatingwebhookconfigurations,validatingwebhookconfigurations";
        let label = format!("app.kubernetes.io/name={}", self.name());
        let printed = self.run(&format!("kubectl get {kinds} -A -l {label} -o json"));
        let mut list: Value = serde_json::from_str(&printed).unwrap();
        serde_json::from_value(list["items"].take()).unwrap()
    }

    /// Starts a replica with the arguments, the rights and the variables of a pod of the Deployment, and shorter waits.
    async fn start(&self, objects: &[Value]) -> Child {
        let (environment, namespace) = (&self.environment, self.namespace);
        environment.wait_until_granted(namespace, self.name(), objects).await.unwrap();
        let kubeconfig = environment.service_account_kubeconfig(namespace, self.name()).await.unwrap();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let printed = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
        let printed = printed.iter().map(|word| word.as_str().unwrap());
        let (host, port) = environment.url().strip_prefix("https://").unwrap().split_once(':').unwrap();
        let mut command = Command::new(self.program);
        command
            .args(printed.filter(|word| !word.starts_with("--port") && !word.starts_with("--metrics-listen")))
            .args(["--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--hold-cold=10s", "--hold=10s"])
            .arg(format!("--namespace={namespace}"))
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .env("VESTIBULE_TEST_WAITS", "true")
            .env("KUBERNETES_SERVICE_HOST", host)
            .env("KUBERNETES_SERVICE_PORT", port);
        environment.spawn(self.name(), &command).unwrap()
    }
}

fn is_right(object: &Value) -> bool {
    object["kind"].as_str().unwrap().ends_with("Role")
}

/// The addresses of the replica and of its probes, once it serves.
async fn addresses(server: &Child) -> (SocketAddr, SocketAddr) {
    let serving = server.wait_for_line(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let address = |which: &str| line[which].as_str()?.parse().ok();
        (line["message"] == "serving").then(|| Some((address("address")?, address("probes")?)))?
    });
    serving.await.unwrap()
}
