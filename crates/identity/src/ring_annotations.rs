//! The annotations on a ring's Secret by which replicas are asked for a rotation or a revocation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use vestibule_pki::ring::Request;

pub(crate) const ROTATE: &str = "vestibule.dev/rotate";
pub(crate) const REVOKE: &str = "vestibule.dev/revoke";

/// The requested rotation and revocation, as [`Ring::read`](vestibule_pki::ring::Ring::read) takes them.
pub(crate) fn requests(secret: &ObjectMeta) -> (u64, u64) {
    let digest = |annotation| {
        let value = secret.annotations.as_ref().and_then(|annotations| annotations.get(annotation));
        Request::digest(value.map(String::as_str))
    };
    (digest(ROTATE), digest(REVOKE))
}
