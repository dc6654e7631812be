//! Why a cluster cannot be read.

use vestibule::identity::refusal_message;
use vestibule::tooling::RequestError;

use crate::configuration::CONFIG_LABEL;

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// No API server answers.
    #[error("the API server does not answer: {0}")]
    Unreachable(String),
    /// The API server has no answer for now: a page came too late, there were too many requests, or it failed.
    #[error("{what}: {message}; another attempt may succeed")]
    TryAgain {
        /// The object or objects of the request.
        what: String,
        /// The API server's message.
        message: String,
    },
    /// The API server refuses the request.
    #[error("{what}: {message}")]
    Refused {
        /// The object or objects of the request.
        what: String,
        /// The API server's message.
        message: String,
    },
    /// There are neither labelled ConfigMaps nor objects.
    #[error(
        "no ConfigMap labelled {CONFIG_LABEL}=true in {0}, and no Injection; name the rules with --rules PATH"
    )]
    NoRules(String),
    /// ConfigMaps with rules are in more than one namespace, so it is not known which injector is meant.
    #[error("ConfigMaps with rules lie in {}; say with --injector-namespace which are meant", .0.join(", "))]
    SeveralInjectors(Vec<String>),
}

/// The failure of the request for `what`.
pub(super) fn failed(what: String, error: kube::Error) -> ClusterError {
    match RequestError::from(error) {
        RequestError::Refused(status) if matches!(status.code, 410 | 429 | 500..) => {
            ClusterError::TryAgain { what, message: refusal_message(&status) }
        }
        RequestError::Unreachable(why) => ClusterError::Unreachable(why),
        error => ClusterError::Refused { what, message: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_answer_that_another_attempt_may_change_is_told_from_a_refusal() {
        for (code, is_temporary) in
            [(400, false), (403, false), (404, false), (410, true), (429, true), (500, true), (504, true)]
        {
            let status = Box::new(Status { code, ..Status::failure("try again", "Reason") });
            let error = failed("pods".to_owned(), kube::Error::Api(status));
            assert_eq!(matches!(error, ClusterError::TryAgain { .. }), is_temporary, "{code}");
            assert!(error.to_string().starts_with("pods: try again"), "{error}");
        }
    }
}
