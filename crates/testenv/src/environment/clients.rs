//! Clients, kubeconfigs and namespaces of the first API server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::Namespace as NamespaceObject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use super::Environment;
use crate::api_server::make_service_account;
use crate::error::Error;

impl Environment {
    /// [`ApiServer::admin`](crate::ApiServer::admin) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when the caller runs outside of a tokio runtime.
    pub fn admin(&self) -> Result<Client, Error> {
        self.first.admin()
    }

    /// [`ApiServer::service_account`](crate::ApiServer::service_account) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        self.first.service_account(namespace, name).await
    }

    /// A token of a ServiceAccount for one hour and one audience. The ServiceAccount is created when it is missing.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn token(&self, namespace: &str, name: &str, audience: &str) -> Result<String, Error> {
        self.first.token(namespace, name, Some(audience)).await
    }

    /// The kubeconfig of the administrator of the first API server, for other programs.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// [`ApiServer::service_account_kubeconfig`](crate::ApiServer::service_account_kubeconfig) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token, [`Error::File`] when the file cannot be written.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        self.first.service_account_kubeconfig(namespace, name).await
    }

    /// A command that runs `program` against the first API server as the administrator, in [`folder`](Self::folder). It does
    /// not see the configuration of the user that runs the test: `HOME`, with kubectl's cache and helm's folders, is
    /// below the environment's folder.
    ///
    /// ```no_run
    /// # async fn a_test() -> Result<(), Box<dyn std::error::Error>> {
    /// let Some(tools) = vestibule_testenv::tools_or_skip().await else { return Ok(()) };
    /// let Some(env) = vestibule_testenv::shared_or_skip().await else { return Ok(()) };
    /// let output = env.command(&tools.kubectl).args(["get", "namespaces"]).output()?;
    /// assert!(output.status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn command(&self, program: &Path) -> Command {
        let home = self.folder().join("home");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command.current_dir(self.folder()).env_clear();
        command.env("PATH", path).env("HOME", home).env("KUBECONFIG", self.kubeconfig());
        command
    }

    /// Creates a namespace with `labels`, and in it the ServiceAccount `default`, which ServiceAccount admission requires.
    ///
    /// # Errors
    /// [`Error::Api`] when it cannot be created.
    pub async fn namespace(&self, labels: &[(&str, &str)]) -> Result<Namespace, Error> {
        let client = self.admin()?;
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let object = NamespaceObject {
            metadata: ObjectMeta {
                name: Some(format!("test-{}", self.next_number())),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            ..NamespaceObject::default()
        };
        let namespaces: Api<NamespaceObject> = Api::all(client.clone());
        let made = namespaces.create(&PostParams::default(), &object).await;
        let name = made.map_err(Error::api("create a namespace"))?.metadata.name.unwrap_or_default();
        make_service_account(&client, &name, "default").await?;
        Ok(Namespace { name })
    }
}

/// A namespace that no other test uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// The name of the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
