//! One API server, and the clients and files that lead to it.

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::Error;
use crate::access::Access;
use crate::clock::Clock;
use crate::proxy::Proxy;

/// A way to an API server of an environment: to the [first](crate::Environment::api_server), to the
/// [second](crate::Environment::second), or to one of them with something in between.
///
/// All of them know the same users, and a token for one is good for each.
#[derive(Clone)]
pub struct ApiServer {
    way: Access,
    /// Tokens are asked for by the plain way, so that they can be had whatever is in between.
    plain: Access,
    folder: PathBuf,
    name: String,
}

impl ApiServer {
    pub(crate) fn new(name: &str, folder: &Path, access: Access) -> Self {
        Self { way: access.clone(), plain: access, folder: folder.to_owned(), name: name.to_owned() }
    }

    /// The same server by another way.
    pub(crate) fn by(&self, name: &str, way: Access) -> Self {
        Self { way, name: format!("{}-{name}", self.name), ..self.clone() }
    }

    /// A proxy before this server, and the way through it: for a replica that is to lose the API.
    ///
    /// # Errors
    /// [`Error::Listen`] when there is no port left.
    pub fn proxied(&self) -> Result<(Proxy, Self), Error> {
        let proxy = Proxy::before(self.way.address())?;
        let way = self.by(&format!("proxied-{}", proxy.address().port()), self.way.at(proxy.address()));
        Ok((proxy, way))
    }

    /// A clock before this server, and the way past it: for a replica that is told another time.
    ///
    /// # Errors
    /// [`Error::Listen`] when there is no port left.
    pub fn with_clock(&self) -> Result<(Clock, Self), Error> {
        let (clock, way) = Clock::before(&self.way)?;
        Ok((clock, self.by(&format!("clock-{}", way.address().port()), way)))
    }

    pub(crate) fn access(&self) -> &Access {
        &self.way
    }

    /// Where it is: `https://ADDRESS:PORT`.
    pub fn url(&self) -> &str {
        self.way.url()
    }

    /// A client of group `system:masters`, which may do everything and is never held back.
    ///
    /// It does not try again by itself, so that a test sees each answer.
    ///
    /// # Errors
    /// [`Error::Api`] when there is no runtime to live in.
    pub fn admin(&self) -> Result<Client, Error> {
        self.way.client()
    }

    /// A client of the ordinary user `name`, who may do what RBAC objects grant, and nothing else.
    ///
    /// # Errors
    /// As [`ApiServer::admin`].
    pub fn user(&self, name: &str) -> Result<Client, Error> {
        self.way.as_user(name).client()
    }

    /// A client of a ServiceAccount, which is made when there is none, by a token of one hour.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        self.way.with_token(self.token(namespace, name, None).await?).client()
    }

    /// A file that any other program can use as its kubeconfig; admin's.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn kubeconfig(&self) -> Result<PathBuf, Error> {
        self.write_kubeconfig("admin", &self.way)
    }

    /// The same for the ordinary user `name`.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn user_kubeconfig(&self, name: &str) -> Result<PathBuf, Error> {
        self.write_kubeconfig(&format!("user-{name}"), &self.way.as_user(name))
    }

    /// The same for a ServiceAccount, as in [`ApiServer::service_account`].
    ///
    /// # Errors
    /// [`Error::Api`] when the API server gives no token, [`Error::File`] when the file cannot be written.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        let token = self.token(namespace, name, None).await?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), &self.way.with_token(token))
    }

    /// For the API server itself, unless it is for another audience.
    pub(crate) async fn token(
        &self,
        namespace: &str,
        name: &str,
        audience: Option<&str>,
    ) -> Result<String, Error> {
        let accounts = make_service_account(&self.plain.client()?, namespace, name).await?;
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

    fn write_kubeconfig(&self, whose: &str, access: &Access) -> Result<PathBuf, Error> {
        let path = self.folder.join(format!("kubeconfig-{}-{}", self.name, whose.replace('/', "-")));
        std::fs::write(&path, access.kubeconfig().to_string())
            .map_err(|source| Error::file("write", &path, source))?;
        Ok(path)
    }
}

/// Makes a ServiceAccount when there is none yet.
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
