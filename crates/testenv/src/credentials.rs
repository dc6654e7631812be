//! What an API server shows to webhooks, so that they know who calls.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::certificate::ClientCertificate;
use crate::{Environment, Error};

/// The common name of the certificate.
const NAME: &str = "testenv-api-server";
const AUTHORITY: &str = "webhook-client-ca.crt";
const TOKEN: &str = "webhook-token";
const KUBECONFIG: &str = "webhook-kubeconfig";
const ADMISSION: &str = "admission.json";

impl Environment {
    /// The certificate, in PEM, of the CA behind the client certificate that API servers show to every webhook, with
    /// [`Options::shows_credentials`](crate::Options::shows_credentials).
    pub fn client_authority(&self) -> PathBuf {
        self.folder().join(AUTHORITY)
    }

    /// The common name of that certificate.
    pub fn client_name(&self) -> &'static str {
        NAME
    }

    /// Has API servers show `token` to every webhook that they have not called yet, as a bearer token. It can only be had
    /// of a cluster that runs, so there is none at first.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn show_token(&self, token: &str) -> Result<(), Error> {
        write(&self.folder().join(TOKEN), token)
    }
}

/// The flags of an API server that shows its credentials to every webhook. Its files come into `folder`.
pub(crate) fn flags(folder: &Path) -> Result<Vec<String>, Error> {
    let certificate = ClientCertificate::generate(NAME)?;
    write(&folder.join(AUTHORITY), &certificate.authority)?;
    // Without any, no webhook would be called.
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

/// Its users are named after the webhooks that they are shown to.
fn kubeconfig(certificate: &ClientCertificate, token: &Path) -> Value {
    let data = |pem: &str| ByteString(pem.as_bytes().to_vec());
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "*", "user": {
            "client-certificate-data": data(&certificate.leaf),
            "client-key-data": data(&certificate.key),
            "tokenFile": token,
        }}],
    })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::file("write", path, source))
}
