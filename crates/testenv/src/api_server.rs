//! The address of one API server, with clients and kubeconfigs for it. `environment/start.rs` has the flags.

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::access::Access;
use crate::clock::Clock;
use crate::error::Error;
use crate::files::write;
use crate::proxy::Proxy;

/// The address of an API server of an environment: the [first](crate::Environment::api_server), the
/// [second](crate::Environment::second), or one of them through a [`Proxy`] or a [`Clock`].
///
/// All of them know the same users, and accept each other's tokens.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) access: Access,
    /// Leads past any proxy: tokens can be requested while the proxy is cut.
    direct: Access,
    folder: PathBuf,
    name: String,
}

impl ApiServer {
    pub(crate) fn new(name: &str, folder: &Path, access: Access) -> Self {
        Self { access: access.clone(), direct: access, folder: folder.to_owned(), name: name.to_owned() }
    }

    /// The same server through `access`.
    pub(crate) fn through(&self, name: &str, access: Access) -> Self {
        Self { access, name: format!("{}-{name}", self.name), ..self.clone() }
    }

    /// Starts a proxy before this server and returns it with the server's address through it: for a replica that is to
    /// lose its connection to the API server.
    ///
    /// # Errors
    /// [`Error::Listen`] when no port is free.
    pub fn proxied(&self) -> Result<(Proxy, Self), Error> {
        let proxy = Proxy::before(self.access.address)?;
        let through =
            self.through(&format!("proxied-{}", proxy.address().port()), self.access.at(proxy.address()));
        Ok((proxy, through))
    }

    /// Starts a clock before this server and returns it with the server's address through it: for a replica that gets
    /// another time from the API server.
    ///
    /// # Errors
    /// [`Error::Listen`] when no port is free.
    pub fn with_clock(&self) -> Result<(Clock, Self), Error> {
        let (clock, access) = Clock::before(&self.access)?;
        Ok((clock, self.through(&format!("clock-{}", access.address.port()), access)))
    }

    /// The URL: `https://ADDRESS:PORT`.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// A client of group `system:masters`, which has every right and is not rate limited.
    ///
    /// It does not retry by itself, so that a test sees each answer.
    ///
    /// # Errors
    /// [`Error::Api`] when the caller runs outside of a tokio runtime.
    pub fn admin(&self) -> Result<Client, Error> {
        self.access.client()
    }

    /// A client of the ordinary user `name`, which has only the rights that RBAC objects grant.
    ///
    /// # Errors
    /// As [`ApiServer::admin`].
    pub fn user(&self, name: &str) -> Result<Client, Error> {
        self.as_user(name).client()
    }

    /// A client of a ServiceAccount, with a token for one hour. The ServiceAccount is created when it is missing.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        self.as_service_account(namespace, name).await?.client()
    }

    /// Writes a kubeconfig of the administrator, for other programs.
    ///
    /// # Errors
    /// [`Error::File`] when the file cannot be written.
    pub fn kubeconfig(&self) -> Result<PathBuf, Error> {
        self.write_kubeconfig("admin", &self.access)
    }

    /// Writes a kubeconfig of the ordinary user `name`.
    ///
    /// # Errors
    /// [`Error::File`] when the file cannot be written.
    pub fn user_kubeconfig(&self, name: &str) -> Result<PathBuf, Error> {
        self.write_kubeconfig(&format!("user-{name}"), &self.as_user(name))
    }

    /// Writes a kubeconfig of a ServiceAccount, as in [`ApiServer::service_account`].
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token, [`Error::File`] when the file cannot be written.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        let access = self.as_service_account(namespace, name).await?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), &access)
    }

    /// A token for `audience`, else for the API server itself.
    pub(crate) async fn token(
        &self,
        namespace: &str,
        name: &str,
        audience: Option<&str>,
    ) -> Result<String, Error> {
        let accounts = make_service_account(&self.direct.client()?, namespace, name).await?;
        let audiences = audience.map(|audience| vec![audience.to_owned()]);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences,
                expiration_seconds: Some(3600),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let answer: TokenRequest = accounts
            .create_subresource("token", name, &PostParams::default(), &request)
            .await
            .map_err(Error::api(format!("get a token for ServiceAccount {namespace}/{name}")))?;
        Ok(answer.status.and_then(|status| status.token).unwrap_or_default())
    }

    fn as_user(&self, name: &str) -> Access {
        Access { impersonate: Some(name.to_owned()), ..self.access.clone() }
    }

    async fn as_service_account(&self, namespace: &str, name: &str) -> Result<Access, Error> {
        Ok(Access { token: self.token(namespace, name, None).await?, ..self.access.clone() })
    }

    fn write_kubeconfig(&self, owner: &str, access: &Access) -> Result<PathBuf, Error> {
        let path = self.folder.join(format!("kubeconfig-{}-{}", self.name, owner.replace('/', "-")));
        write(&path, &access.kubeconfig().to_string())?;
        Ok(path)
    }
}

/// Creates a ServiceAccount unless it exists.
pub(crate) async fn make_service_account(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Api<ServiceAccount>, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let account = ServiceAccount { metadata, ..ServiceAccount::default() };
    match accounts.create(&PostParams::default(), &account).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(accounts),
        Err(source) => Err(Error::api(format!("create ServiceAccount {namespace}/{name}"))(source)),
        Ok(_) => Ok(accounts),
    }
}
