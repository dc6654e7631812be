//! A webhook that is installed by its printed manifests, as by a user.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use vestibule_testenv::{Environment, Service};

use super::Replica;

/// An installed webhook, to which replicas can be added.
pub struct Installed<'e> {
    /// Its Service.
    pub service: Service,
    /// The applied manifests.
    pub manifests: Vec<Value>,
    environment: &'e Environment,
    program: PathBuf,
    kubeconfig: PathBuf,
    /// The flag `--service` of its commands.
    target: String,
}

impl<'e> Installed<'e> {
    /// Applies the manifests that `program manifests` prints with these arguments for the Service `home/name`, and returns when its
    /// ServiceAccount has its rights.
    ///
    /// # Errors
    /// The program or the API server refuses something.
    pub async fn new(
        environment: &'e Environment,
        program: &Path,
        (home, name): (&str, &str),
        arguments: &[&str],
    ) -> anyhow::Result<Self> {
        let service = environment.service(home, name).await?;
        let target = format!("--service={home}/{name}:{}", service.port());
        let mut command = Command::new(program);
        command.args(["manifests", "--identity=self", "--output=json", &format!("--image={name}"), &target]);
        let output = command.args(arguments).output().with_context(|| program.display().to_string())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut list: Value = serde_json::from_slice(&output.stdout)?;
        let mut manifests = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        // The environment has its own Service, which points to this machine.
        manifests.retain(|manifest| manifest["kind"] != "Service");
        // Replicas are processes of this machine, so a controller is to make none.
        for manifest in manifests.iter_mut().filter(|manifest| manifest["kind"] == "Deployment") {
            manifest["spec"]["replicas"] = json!(0);
        }
        environment.apply(manifests.clone()).await?;
        environment.wait_until_granted(home, name, &manifests).await?;
        let kubeconfig = environment.service_account_kubeconfig(home, name).await?;
        Ok(Self { service, manifests, environment, program: program.to_owned(), kubeconfig, target })
    }

    /// Starts a replica with these arguments, and makes it an endpoint of the Service as soon as it is ready.
    ///
    /// # Errors
    /// The replica does not listen.
    pub async fn start_replica(&self, arguments: &[&str]) -> anyhow::Result<Replica> {
        let arguments = [&["--identity=self", "--hold-cold=10s", &self.target], arguments].concat();
        let replica = Replica::start(self.environment, &self.program, &self.kubeconfig, &arguments).await?;
        self.service.add_replica(replica.address, Some(replica.probes))?;
        Ok(replica)
    }
}
