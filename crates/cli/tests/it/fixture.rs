//! A folder with files in which the binary runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use vestibule_testenv::{Environment, Tools};

/// A rule that adds TARGET to every pod of `app: web`.
pub(crate) const TARGET: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata:
  name: target
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  containerPatches:
  - select: {all: true}
    env: [{name: TARGET, value: hall}]
";

/// Settings that allow required rules without a restriction to namespaces.
pub(crate) const EVERYWHERE: &str = "\
{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: injector}, spec: {requiredEverywhere: allow}}
";

/// A required volume; a pod that has another of this name is refused.
pub(crate) const REQUIRED: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata:
  name: data
spec:
  required: true
  match: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [default, demo]}]}, objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
";

pub(crate) const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  futureField: {ratio: 1.0, big: 12345678901234567890}
  containers: [{name: app, image: nginx}]
";

/// [`TARGET`] for the pods of namespaces with this label.
pub(crate) fn target_in_namespaces(label: &str) -> String {
    let (pods, namespaces) =
        ("objectSelector: {matchLabels: {app: web}}", "namespaceSelector: {matchLabels: {LABEL}}");
    TARGET.replace(pods, &namespaces.replace("LABEL", label))
}

/// The pod template of a workload.
pub(crate) const TEMPLATE: &str =
    "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app}]}}";

/// A Job with this `name` or `generateName`.
pub(crate) fn job(named: &str) -> String {
    format!("apiVersion: batch/v1\nkind: Job\nmetadata: {{{named}}}\nspec: {{{TEMPLATE}}}\n")
}

/// A CronJob. Each of its Jobs will have a name of its own.
pub(crate) fn cron_job() -> String {
    let spec = format!("{{jobTemplate: {{spec: {{{TEMPLATE}}}}}}}");
    format!("apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: backup}}\nspec: {spec}\n")
}

pub(crate) struct Folder(TempDir);

#[derive(Debug)]
pub(crate) struct Done {
    typed: String,
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    /// Writes a file, and makes the folders above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// `vestibule ARGUMENTS`, split at spaces, without variables of the environment of the tests.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vestibule"));
        command.args(arguments.split_whitespace()).current_dir(self.path());
        for variable in [
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "CARGO_MANIFEST_DIR",
            "KUBECONFIG",
            "KUBERNETES_SERVICE_HOST",
            "RUST_LOG",
        ] {
            command.env_remove(variable);
        }
        command.env("HOME", self.path());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Done {
        self.run_with_stdin(arguments, "")
    }

    pub(crate) fn run_with_stdin(&self, arguments: &str, stdin: &str) -> Done {
        let mut command = self.command(arguments);
        finish(command.stdin(Stdio::piped()), stdin)
    }
}

impl Done {
    pub(crate) fn code(&self) -> i32 {
        self.status.code().expect("ended by itself")
    }

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "{}:\n{}{}", self.typed, self.out, self.err);
        self
    }

    /// Checks that stdout holds `words`.
    #[track_caller]
    pub(crate) fn shows(&self, words: impl AsRef<str>) -> &Self {
        let words = words.as_ref();
        assert!(self.out.contains(words), "{}: no `{words}` in\n{}", self.typed, self.out);
        self
    }

    /// Checks all of stdout.
    #[track_caller]
    pub(crate) fn prints(&self, out: &str) -> &Self {
        assert_eq!(self.out, out, "{}:\n{}", self.typed, self.err);
        self
    }

    /// Checks that stderr holds `words`.
    #[track_caller]
    pub(crate) fn tells(&self, words: impl AsRef<str>) -> &Self {
        let words = words.as_ref();
        assert!(self.err.contains(words), "{}: no `{words}` in\n{}", self.typed, self.err);
        self
    }

    /// The output of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn stdout(self) -> String {
        self.exits(0);
        self.out
    }

    /// Checks the exit code, and that stderr holds `words`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: impl AsRef<str>) -> &Self {
        self.exits(code).tells(words)
    }

    /// The documents of YAML that a command printed, which must have succeeded.
    #[track_caller]
    pub(crate) fn objects(self) -> Vec<Value> {
        objects(&self.stdout())
    }

    /// The output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// The documents of YAML as kubectl reads them.
#[track_caller]
pub(crate) fn objects(yaml: &str) -> Vec<Value> {
    let documents = vestibule_rules::yaml::read("yaml", yaml).unwrap();
    documents.iter().map(|document| serde_json::from_str(&document.to_kubectl_json()).unwrap()).collect()
}

pub(crate) fn finish(command: &mut Command, stdin: &str) -> Done {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(stdin.as_bytes()).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    Done {
        typed: format!("{command:?}"),
        status: output.status,
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A shell with a script of a page and the real kubectl.
pub(crate) fn with_kubectl(environment: &Environment, tools: &Tools, script: &str) -> Command {
    let path = format!("{}:{}", tools.kubectl.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = environment.command(Path::new("sh"));
    shell.args(["-c", script]).env("PATH", path);
    shell
}

/// The variables that the kubelet sets in every container, for the API server of this kubeconfig.
pub(crate) fn pod_environment(kubeconfig: &Path) -> [(&'static str, String); 2] {
    let cluster =
        kube::config::Kubeconfig::read_from(kubeconfig).unwrap().clusters.remove(0).cluster.unwrap();
    let url: http::Uri = cluster.server.unwrap().parse().unwrap();
    let port = url.port_u16().unwrap().to_string();
    [("KUBERNETES_SERVICE_HOST", url.host().unwrap().to_owned()), ("KUBERNETES_SERVICE_PORT", port)]
}
