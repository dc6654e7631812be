//! Credentials that an API server presents to webhooks, so that they can authenticate it.

use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::Environment;
use crate::certificate::Certificate;
use crate::error::Error;
use crate::files::write;

/// The common name of the certificate.
const NAME: &str = "testenv-api-server";
const AUTHORITY: &str = "webhook-client-ca.crt";
const TOKEN: &str = "webhook-token";
const KUBECONFIG: &str = "webhook-kubeconfig";
const ADMISSION: &str = "admission.json";

impl Environment {
    /// The file with the CA (PEM) of the client certificate that API servers present to every webhook, with
    /// [`Options::shows_credentials`](super::Options::shows_credentials).
    pub fn client_authority(&self) -> PathBuf {
        self.folder().join(AUTHORITY)
    }

    /// The common name of that certificate.
    pub fn client_name(&self) -> &'static str {
        NAME
    }

    /// Makes API servers present `token` as a bearer token to every webhook that they have not called yet. At first they
    /// present a placeholder, because only a running cluster can issue a token.
    ///
    /// # Errors
    /// [`Error::File`] when the file cannot be written.
    pub fn show_token(&self, token: &str) -> Result<(), Error> {
        write(&self.folder().join(TOKEN), token)
    }
}

/// The flags of an API server that presents credentials to every webhook. Writes the files they name into `folder`.
pub(super) fn flags(folder: &Path) -> Result<Vec<String>, Error> {
    let certificate = Certificate::for_client(NAME)?;
    write(&folder.join(AUTHORITY), &certificate.authority)?;
    // With an empty token file the API server calls no webhook.
    write(&folder.join(TOKEN), "none-yet")?;
    write(&folder.join(KUBECONFIG), &kubeconfig(&certificate, &folder.join(TOKEN)).to_string())?;
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": folder.join(KUBECONFIG),
    });
    let plugins = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];
    let admission = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": plugins.map(|name| json!({"name": name, "configuration": configuration})),
    });
    write(&folder.join(ADMISSION), &admission.to_string())?;
    Ok(vec![format!("--admission-control-config-file={}", folder.join(ADMISSION).display())])
}

/// Each user is named after a webhook; `*` stands for every webhook.
fn kubeconfig(certificate: &Certificate, token: &Path) -> Value {
    let data = |pem: &str| ByteString(pem.as_bytes().to_vec());
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "*", "user": {
            "client-certificate-data": data(&certificate.leaf),
            "client-key-data": data(&certificate.key.serialize_pem()),
            "tokenFile": token,
        }}],
    })
}
