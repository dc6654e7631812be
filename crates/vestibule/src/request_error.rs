//! Why a request of a command to the API server failed.

use kube::core::Status;
use vestibule_identity::{refusal_message, with_causes};

/// Why a request of a command to the API server failed. The text does not quote the answer of another server, which may contain parts
/// of an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The API server refused the request.
    #[error("{}", refusal_message(.0))]
    Refused(Box<Status>),
    /// The API server does not know the client: 401.
    #[error(
        "the API server does not accept the credentials (401 Unauthorized): they have expired, or are those of another \
         cluster; `kubectl auth whoami` tries them"
    )]
    Unauthorized,
    /// The answer is not Kubernetes' JSON, or an object of another shape.
    #[error(
        "the answer is not that of an API server; is another server or a proxy at the cluster's address?"
    )]
    NotAnApiServer,
    /// There was no answer.
    #[error("the API server does not answer: {0}")]
    Unreachable(String),
}

impl From<kube::Error> for RequestError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 401 => Self::Unauthorized,
            kube::Error::Api(status) if status.code != 0 => Self::Refused(status),
            // Some proxies send JSON without a status code.
            kube::Error::Api(_) | kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::NotAnApiServer
            }
            other => Self::Unreachable(with_causes(&other)),
        }
    }
}
