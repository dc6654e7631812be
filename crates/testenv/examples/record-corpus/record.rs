//! Makes calls to the API server and writes the reviews that they cause.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hyper::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{Environment, Installed, Recorded, Recorder};

use crate::normalize;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// The folder of reviews, and the recorder that receives them.
pub(crate) struct Corpus<'e> {
    environment: &'e Environment,
    client: Client,
    recorder: Recorder,
    folder: PathBuf,
    files: Vec<(String, String)>,
    _installed: Installed,
}

/// A request to the API server.
pub(crate) struct Call {
    method: Method,
    path: &'static str,
    media_type: &'static str,
    body: Value,
}

impl<'e> Corpus<'e> {
    /// Installs hooks for every operation in namespace `corpus` and on cluster-scoped objects.
    pub(crate) async fn start(environment: &'e Environment, folder: &Path) -> Result<Self, Failure> {
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
        Ok(Self {
            environment,
            client: environment.admin()?,
            recorder,
            folder: folder.to_owned(),
            files: Vec::new(),
            _installed: installed,
        })
    }

    /// From now on, calls are made by this ServiceAccount of namespace `corpus`.
    pub(crate) async fn become_service_account(&mut self, name: &str) -> Result<(), Failure> {
        self.client = self.environment.service_account("corpus", name).await?;
        Ok(())
    }

    /// From now on, calls are made by the administrator again.
    pub(crate) fn become_admin(&mut self) -> Result<(), Failure> {
        self.client = self.environment.admin()?;
        Ok(())
    }

    /// Makes a call and discards its reviews.
    pub(crate) async fn prepare(&self, call: Call) -> Result<(), Failure> {
        self.client.request::<Value>(call.into_request()?).await?;
        Ok(())
    }

    /// Installs a CustomResourceDefinition and waits until it is served.
    pub(crate) async fn wait_until_served(&self, definition: Value) -> Result<(), Failure> {
        drop(self.environment.install([definition]).await?);
        Ok(())
    }

    /// Writes the review that `call` causes as `NAME.json`.
    pub(crate) async fn record(&mut self, name: &str, about: &str, call: Call) -> Result<(), Failure> {
        self.record_from("/everything", name, about, call).await
    }

    /// As [`Corpus::record`], for the review that the hook at `path` receives.
    pub(crate) async fn record_from(
        &mut self,
        path: &str,
        name: &str,
        about: &str,
        call: Call,
    ) -> Result<(), Failure> {
        self.recorder.take();
        // Pods do not run here, so some calls fail after admission.
        let answer = self.client.request::<Value>(call.into_request()?).await;
        let ours = self.recorder.take().into_iter().filter(|one| one.path == path && !of_the_server(one));
        // The API server calls again if its first call was based on an older state of the object.
        match (ours.last(), answer) {
            (Some(review), _) => self.keep(name, about, &review),
            (None, Err(error)) => Err(format!("{name}: no review, and {error}").into()),
            (None, Ok(_)) => Err(format!("{name}: no review").into()),
        }
    }

    fn keep(&mut self, name: &str, about: &str, review: &Recorded) -> Result<(), Failure> {
        let file = format!("{name}.json");
        std::fs::write(self.folder.join(&file), normalize::normalize(std::str::from_utf8(&review.body)?))?;
        self.files.push((file, about.to_owned()));
        Ok(())
    }

    /// Writes the `README.md` of the folder.
    pub(crate) async fn finish(self) -> Result<usize, Failure> {
        let version =
            self.client.request::<Value>(call(Method::GET, "/version", Value::Null).into_request()?).await?;
        let mut page = format!(
            "# AdmissionReviews of a real kube-apiserver\n\n\
             The reviews that kube-apiserver {} sent to a mutating webhook, byte for byte but for: white space, UUIDs,\n\
             times, resource versions and the random names of token volumes, which are the same in each recording.\n\
             The order of members and the way numbers are written are the API server's.\n\n\
             Recorded by `cargo run -p vestibule-testenv --example record-corpus`; not to be edited by hand.\n\n\
             | File | What it shows |\n|---|---|\n",
            version["gitVersion"].as_str().unwrap_or_default(),
        );
        for (file, about) in &self.files {
            writeln!(page, "| `{file}` | {about} |")?;
        }
        std::fs::write(self.folder.join("README.md"), page)?;
        Ok(self.files.len())
    }
}

/// A call with a JSON body.
pub(crate) fn call(method: Method, path: &'static str, body: Value) -> Call {
    Call { method, path, media_type: "application/json", body }
}

/// A PATCH of the media type `application/TYPE`.
pub(crate) fn patch(media_type: &'static str, path: &'static str, body: Value) -> Call {
    Call { method: Method::PATCH, path, media_type, body }
}

impl Call {
    fn into_request(self) -> Result<Request<Vec<u8>>, Failure> {
        let body = if self.body.is_null() { Vec::new() } else { serde_json::to_vec(&self.body)? };
        let request =
            Request::builder().method(self.method).uri(self.path).header("Content-Type", self.media_type);
        Ok(request.body(body)?)
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
