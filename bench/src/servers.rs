//! The servers: which program, with which arguments, on which path.

mod catalogue;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bench::rules::{self, Rules};

use crate::certificates::{Certificates, Key, NAME};
use crate::connection::Target;
use crate::process::{Process, Processors, free_address};

pub(crate) use catalogue::{
    FLOOR, INJECTOR, INJECTOR_WARN, PEERS, TYPED, allowing, denying, floor, injector_of, mutating,
    of_deployments, training, working,
};

/// The longest time of a start.
const START: Duration = Duration::from_secs(30);

/// A process to start. Servers of equal backends share one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Backend {
    /// The name of the program, which is looked up in the folders of programs.
    pub(crate) program: &'static str,
    /// The folder of the program, if it is not one of the folders of programs.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) arguments: Arguments,
    pub(crate) environment: Vec<(&'static str, &'static str)>,
}

/// The arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Arguments {
    /// `ADDRESS FOLDER`, with the certificate in the folder.
    Plain,
    /// Flags of a webhook built with `vestibule_command`: the log level, and further ones.
    Webhook { level: &'static str, more: Vec<&'static str> },
    /// Flags of the injector: the log level and the rules.
    Injector { level: &'static str, rules: Rules },
    /// Flags of the injector with the example rules.
    Examples,
}

/// The source of a server's certificate.
#[derive(Clone, Debug)]
pub(crate) enum Credentials {
    /// Files with a leaf of this key.
    Mounted(Key),
    /// The server makes a CA and a leaf, and keeps them in this folder.
    Local(PathBuf),
}

/// A server as a row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) backend: Backend,
    pub(crate) path: &'static str,
}

/// The running processes, and what they need.
pub(crate) struct Running {
    pub(crate) certificates: Certificates,
    processors: Processors,
    /// Folders of programs, the first one wins.
    programs: Vec<PathBuf>,
    folder: PathBuf,
    processes: BTreeMap<(Backend, &'static str), Rc<Process>>,
}

impl Running {
    pub(crate) fn new(folder: &Path, processors: Processors, programs: Vec<PathBuf>) -> anyhow::Result<Self> {
        let certificates = Certificates::create(&folder.join("certificates"))?;
        let (folder, processes) = (folder.to_owned(), BTreeMap::new());
        Ok(Self { certificates, processors, programs, folder, processes })
    }

    /// The path of the backend's program; `None` if it was not built.
    pub(crate) fn program(&self, backend: &Backend) -> Option<PathBuf> {
        let folders = backend.folder.as_ref().map_or(self.programs.as_slice(), std::slice::from_ref);
        folders.iter().map(|folder| folder.join(backend.program)).find(|file| file.is_file())
    }

    /// The process of the backend, started if it does not run.
    pub(crate) async fn process(&mut self, backend: &Backend, key: Key) -> anyhow::Result<Rc<Process>> {
        let place = (backend.clone(), key.name());
        if let Some(process) = self.processes.get(&place) {
            return Ok(Rc::clone(process));
        }
        let process = Rc::new(self.start(backend, key).await?);
        self.processes.insert(place, Rc::clone(&process));
        Ok(process)
    }

    /// Starts a process of its own, and waits until it accepts connections.
    pub(crate) async fn start(&self, backend: &Backend, key: Key) -> anyhow::Result<Process> {
        let (command, address) = self.command(backend, &Credentials::Mounted(key))?;
        let mut process = self.spawn(command, address)?;
        let target = Target { address, config: self.certificates.client()? };
        let began = Instant::now();
        loop {
            let Err(error) = target.connect().await else { return Ok(process) };
            if let Some(end) = process.ended() {
                bail!("{}: {end}", backend.program);
            }
            if began.elapsed() > START {
                return Err(error.context(format!(
                    "{} does not answer:\n{}",
                    backend.program,
                    process.output()
                )));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts a process without waiting for it.
    pub(crate) fn spawn(&self, command: Command, address: SocketAddr) -> anyhow::Result<Process> {
        Process::start(self.processors, command, address)
    }

    /// The command of the backend, and the address where it will listen.
    pub(crate) fn command(
        &self,
        backend: &Backend,
        credentials: &Credentials,
    ) -> anyhow::Result<(Command, SocketAddr)> {
        let program = self.program(backend).with_context(|| format!("no program {}", backend.program))?;
        let address = free_address()?;
        let mut command = Command::new(program);
        // The bench has no cluster, also where its user has one.
        command.env_remove("KUBECONFIG").env_remove("RUST_LOG").env("HOME", &self.folder);
        command.envs(backend.environment.iter().copied());
        match &backend.arguments {
            Arguments::Plain => {
                let Credentials::Mounted(key) = credentials else {
                    bail!("{} makes no certificates", backend.program)
                };
                command.arg(address.to_string()).arg(self.certificates.folder(*key));
            }
            Arguments::Webhook { level, more } => {
                self.serve(&mut command, address, credentials, level);
                command.args(more);
            }
            Arguments::Injector { level, rules } => {
                let file = self.folder.join(format!("rules-{}-{}.yaml", rules.acting, rules.others));
                fs::write(&file, rules::text(*rules))
                    .with_context(|| format!("cannot write {}", file.display()))?;
                self.serve(&mut command, address, credentials, level);
                command.arg("--rules").arg(file);
            }
            Arguments::Examples => {
                self.serve(&mut command, address, credentials, "info");
                command.arg("--rules").arg(in_repository("examples/rules"));
                // With these labels most of the example rules act on the recorded pods.
                command.arg("--namespace-labels");
                command
                    .arg("injection=enabled,mesh=enabled,sidecar-injector=enabled,vestibule.dev/inject=true");
            }
        }
        Ok((command, address))
    }

    /// The arguments of `serve`.
    fn serve(&self, command: &mut Command, address: SocketAddr, credentials: &Credentials, level: &str) {
        command.args(["serve", "--log-format", "json", "--metrics-listen", "127.0.0.1:0"]);
        command.args(["--log-level", level, "--listen", &address.to_string(), "--identity"]);
        match credentials {
            Credentials::Mounted(key) => {
                command.arg(format!("mounted:{}", self.certificates.folder(*key).display()))
            }
            Credentials::Local(folder) => {
                command.arg(format!("local:{}", folder.display())).args(["--dns", NAME])
            }
        };
    }

    pub(crate) fn target(&self, process: &Process) -> anyhow::Result<Target> {
        Ok(Target { address: process.address, config: self.certificates.client()? })
    }

    /// A target to which the client offers X25519 only.
    pub(crate) fn classic_target(&self, process: &Process) -> anyhow::Result<Target> {
        Ok(Target { address: process.address, config: self.certificates.classic_client()? })
    }

    /// The key exchange that the process chooses.
    pub(crate) async fn key_exchange(&self, process: &Process, is_classic: bool) -> anyhow::Result<String> {
        let target = if is_classic { self.classic_target(process) } else { self.target(process) };
        Ok(target?.connect().await?.key_exchange())
    }
}

/// A file or folder of this repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

impl Backend {
    /// Whether the program can make a CA and a certificate by itself.
    pub(crate) fn makes_certificates(&self) -> bool {
        self.arguments != Arguments::Plain
    }
}
