//! Clients and namespaces.

use std::fmt;
use std::path::PathBuf;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use super::Environment;
use crate::Error;
use crate::access::Access;

impl Environment {
    /// A client of group `system:masters`, which may do everything and is never held back.
    ///
    /// It does not try again by itself, so that a test sees each answer.
    ///
    /// # Errors
    /// [`Error::Api`] when there is no runtime to live in.
    pub fn admin(&self) -> Result<Client, Error> {
        self.admin.client()
    }

    /// A client of the ordinary user `name`, who may do what RBAC objects grant, and nothing else.
    ///
    /// # Errors
    /// As [`Environment::admin`].
    pub fn user(&self, name: &str) -> Result<Client, Error> {
        self.admin.as_user(name).client()
    }

    /// A client of a ServiceAccount, which is made when there is none, by a token of one hour.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        self.service_account_access(namespace, name).await?.client()
    }

    /// A file that any other program can use as its kubeconfig; admin's.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The same for the ordinary user `name`.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn user_kubeconfig(&self, name: &str) -> Result<PathBuf, Error> {
        self.write_kubeconfig(&format!("user-{name}"), &self.admin.as_user(name))
    }

    /// The same for a ServiceAccount, as in [`Environment::service_account`].
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token, [`Error::File`] when the file cannot be written.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        let access = self.service_account_access(namespace, name).await?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), &access)
    }

    /// A new namespace with `labels` and, as ServiceAccount admission asks for it, the ServiceAccount `default`.
    ///
    /// # Errors
    /// [`Error::Api`] when it cannot be made.
    pub async fn namespace(&self, labels: &[(&str, &str)]) -> Result<Namespace, Error> {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let object = NamespaceObject {
            metadata: ObjectMeta {
                name: Some(format!("test-{}", self.number())),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            ..NamespaceObject::default()
        };
        let namespaces: Api<NamespaceObject> = Api::all(self.admin()?);
        let made = namespaces.create(&PostParams::default(), &object).await;
        let name = made.map_err(Error::api("create a namespace"))?.metadata.name.unwrap_or_default();
        self.make_service_account(&name, "default").await?;
        Ok(Namespace { name })
    }

    async fn service_account_access(&self, namespace: &str, name: &str) -> Result<Access, Error> {
        let accounts = self.make_service_account(namespace, name).await?;
        let request = TokenRequest {
            spec: Some(TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() }),
            ..TokenRequest::default()
        };
        let answer: TokenRequest = accounts
            .create_subresource("token", name, &PostParams::default(), &request)
            .await
            .map_err(Error::api(format!("get a token for ServiceAccount {namespace}/{name}")))?;
        let token = answer.status.and_then(|status| status.token);
        Ok(self.admin.with_token(token.unwrap_or_default()))
    }

    async fn make_service_account(&self, namespace: &str, name: &str) -> Result<Api<ServiceAccount>, Error> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin()?, namespace);
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let account = ServiceAccount { metadata, ..ServiceAccount::default() };
        match accounts.create(&PostParams::default(), &account).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(accounts),
            Err(source) => Err(Error::api(format!("create ServiceAccount {namespace}/{name}"))(source)),
            Ok(_) => Ok(accounts),
        }
    }

    fn write_kubeconfig(&self, name: &str, access: &Access) -> Result<PathBuf, Error> {
        let path = self.folder.join(format!("kubeconfig-{}", name.replace('/', "-")));
        std::fs::write(&path, access.kubeconfig().to_string())
            .map_err(|source| Error::file("write", &path, source))?;
        Ok(path)
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
