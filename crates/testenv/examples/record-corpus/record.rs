//! Makes calls to the API server and writes the reviews that they cause.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::{Value, json};
use vestibule_testenv::{Environment, Installed, Recorded, Recorder};

use crate::calls::Call;
use crate::normalize;

/// The folder of reviews, and the recorder that receives them.
pub(crate) struct Corpus<'e> {
    environment: &'e Environment,
    recorder: Recorder,
    folder: PathBuf,
    files: Vec<(String, String)>,
    _installed: Installed,
}

impl<'e> Corpus<'e> {
    /// Installs hooks for every operation in namespace `corpus` and on cluster-scoped objects.
    pub(crate) async fn start(environment: &'e Environment, folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                std::fs::remove_file(path)?;
            }
        }
        let recorder = Recorder::allowing(&[])?;
        let everything = hook(&recorder, "everything", &json!(["v1"]), ["*", "*", "*/*"]);
        let older = hook(&recorder, "older", &json!(["v1beta1"]), ["", "v1", "secrets"]);
        let converted =
            hook(&recorder, "converted", &json!(["v1"]), ["autoscaling", "v2", "horizontalpodautoscalers"]);
        let installed = environment
            .install([
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "corpus" } }),
                json!({
                    "apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": { "name": "default", "namespace": "corpus" },
                }),
                json!({
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": "MutatingWebhookConfiguration",
                    "metadata": { "name": "corpus" },
                    "webhooks": [everything, older, converted],
                }),
            ])
            .await?;
        let folder = folder.to_owned();
        Ok(Self { environment, recorder, folder, files: Vec::new(), _installed: installed })
    }

    /// Makes a call, and writes the review that it causes if the call has a file.
    pub(crate) async fn make(&mut self, call: &Call) -> anyhow::Result<()> {
        let client = match &call.service_account {
            Some(name) => self.environment.service_account("corpus", name).await?,
            None => self.environment.admin()?,
        };
        self.recorder.take();
        let answer = client.request::<Value>(call.request()?).await;
        let is_ours = |one: &Recorded| one.path == call.hook && !of_the_server(one);
        // The API server calls again if its first call was based on an older state of the object.
        let last = self.recorder.take().into_iter().rfind(is_ours);
        match (&call.file, last, answer) {
            // Pods do not run here, so some calls fail after admission.
            (Some(file), Some(review), _) => self.keep(file, &call.about, &review)?,
            (Some(file), None, Err(error)) => bail!("{file}: no review, and {error}"),
            (Some(file), None, Ok(_)) => bail!("{file}: no review"),
            (None, _, answer) => drop(answer?),
        }
        if call.body["kind"] == "CustomResourceDefinition" {
            // Its objects can be made when every API server serves them.
            drop(self.environment.install([call.body.clone()]).await?);
        }
        Ok(())
    }

    fn keep(&mut self, name: &str, about: &str, review: &Recorded) -> anyhow::Result<()> {
        let file = format!("{name}.json");
        std::fs::write(self.folder.join(&file), normalize::normalize(std::str::from_utf8(&review.body)?))?;
        self.files.push((file, about.to_owned()));
        Ok(())
    }

    /// Writes the `README.md` of the folder.
    pub(crate) async fn finish(self) -> anyhow::Result<usize> {
        let version = self.environment.admin()?.apiserver_version().await?.git_version;
        let mut page = format!(
            "# AdmissionReviews of a real kube-apiserver\n\n\
             The reviews that kube-apiserver {version} sent to a mutating webhook, byte for byte but for: white space, UUIDs,\n\
             times, resource versions and the random names of token volumes, which are the same in each recording.\n\
             The order of members and the way numbers are written are the API server's.\n\n\
             Recorded by `cargo run -p vestibule-testenv --example record-corpus`; not to be edited by hand.\n\n\
             | File | What it shows |\n|---|---|\n"
        );
        for (file, about) in &self.files {
            writeln!(page, "| `{file}` | {about} |")?;
        }
        std::fs::write(self.folder.join("README.md"), page)?;
        Ok(self.files.len())
    }
}

/// The API server's own requests cause reviews too, at any time.
fn of_the_server(recorded: &Recorded) -> bool {
    recorded.review()["request"]["userInfo"]["username"] == "system:apiserver"
}

fn hook(recorder: &Recorder, name: &str, versions: &Value, [group, version, resource]: [&str; 3]) -> Value {
    json!({
        "name": format!("{name}.corpus.example.dev"),
        "clientConfig": { "url": recorder.url(&format!("/{name}")), "caBundle": recorder.ca_bundle() },
        "rules": [{ "apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": ["*"] }],
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "corpus" } },
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "admissionReviewVersions": versions,
    })
}
