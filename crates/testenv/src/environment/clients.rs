//! Clients and namespaces.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::Namespace as NamespaceObject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use super::Environment;
use crate::Error;
use crate::api_server::make_service_account;

impl Environment {
    /// [`ApiServer::admin`](crate::ApiServer::admin) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when there is no runtime to live in.
    pub fn admin(&self) -> Result<Client, Error> {
        self.first.admin()
    }

    /// [`ApiServer::user`](crate::ApiServer::user) of the first API server.
    ///
    /// # Errors
    /// As [`Environment::admin`].
    pub fn user(&self, name: &str) -> Result<Client, Error> {
        self.first.user(name)
    }

    /// [`ApiServer::service_account`](crate::ApiServer::service_account) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        self.first.service_account(namespace, name).await
    }

    /// A token of a ServiceAccount, which is made when there is none, for one hour and one audience.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn token(&self, namespace: &str, name: &str, audience: &str) -> Result<String, Error> {
        self.first.token(namespace, name, Some(audience)).await
    }

    /// A file that any other program can use as its kubeconfig; admin's, of the first API server.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// [`ApiServer::user_kubeconfig`](crate::ApiServer::user_kubeconfig) of the first API server.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn user_kubeconfig(&self, name: &str) -> Result<PathBuf, Error> {
        self.first.user_kubeconfig(name)
    }

    /// [`ApiServer::service_account_kubeconfig`](crate::ApiServer::service_account_kubeconfig) of the first API server.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token, [`Error::File`] when the file cannot be written.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        self.first.service_account_kubeconfig(namespace, name).await
    }

    /// What runs `program` on the first API server as admin, in [`folder`](Self::folder), with no configuration of the
    /// user who runs the test; kubectl's cache and helm's folders are in the environment's too.
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

    /// A new namespace with `labels` and, as ServiceAccount admission asks for it, the ServiceAccount `default`.
    ///
    /// # Errors
    /// [`Error::Api`] when it cannot be made.
    pub async fn namespace(&self, labels: &[(&str, &str)]) -> Result<Namespace, Error> {
        let client = self.admin()?;
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let object = NamespaceObject {
            metadata: ObjectMeta {
                name: Some(format!("test-{}", self.number())),
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

/// A namespace of a test's own, where no other test looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
