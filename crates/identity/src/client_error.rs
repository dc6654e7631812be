//! The texts of a client's errors.

use kube::core::Status;

/// The text of a client's error with the texts of its causes, unless it contains them already: a refused connection is named
/// only by the last one. Of a refusal it is the API server's message, without the fields that `kube` adds.
#[must_use]
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(kube::Error::Api(status)) = error.downcast_ref() {
        return refusal_message(status);
    }
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// The API server's own words for a refusal. The page of a proxy is not quoted, because kube gives the whole page as the message, and it may
/// hold parts of an object.
#[must_use]
pub fn refusal_message(status: &Status) -> String {
    match status.message.as_str() {
        _ if status.reason == NOT_JSON => {
            format!("status {}, and the answer is no JSON of Kubernetes", status.code)
        }
        "" => format!("status {}", status.code),
        message => message.to_owned(),
    }
}

/// The reason that kube gives if the body of an error is no JSON.
const NOT_JSON: &str = "Failed to parse error data";

#[cfg(test)]
mod tests {
    use super::*;

    /// The log had the message twice, and the fields of the client's own type.
    #[test]
    fn the_text_of_a_refusal_is_the_message_of_the_api_server() {
        let refusal = kube::Error::Api(Box::new(Status::failure("namespaces \"x\" not found", "NotFound")));
        assert_eq!(with_causes(&refusal), "namespaces \"x\" not found");
    }
}
