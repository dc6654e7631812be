//! A review as tests need it.

/// The least that is a review: of version v1beta1, so that an echo shows.
pub(crate) fn review(operation: &str, object: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{{"uid":"u-1",
        "kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},
        "operation":"{operation}","userInfo":{{}},"object":{object}}}}}"#
    )
}
