//! A review for tests.

/// The smallest review. Its version is v1beta1, so that tests see whether the answer echoes it.
pub(crate) fn review(operation: &str, object: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{{"uid":"u-1",
        "kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},
        "operation":"{operation}","userInfo":{{}},"object":{object}}}}}"#
    )
}
