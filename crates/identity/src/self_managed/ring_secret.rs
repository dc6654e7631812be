//! The Secret of the ring, with the fields of other programs.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::Resource;
use vestibule_pki::ring::Ring;
use zeroize::{Zeroize, Zeroizing};

use crate::NamespacedName;
use crate::inspect::requests;

/// The Secret without the ring's fields, which a write must keep. No `Debug`: it may hold other secrets.
pub(super) struct RingSecret {
    object: Secret,
}

/// The ring's own fields, erased when dropped.
pub(super) type Fields = BTreeMap<String, Zeroizing<Vec<u8>>>;

impl RingSecret {
    /// A Secret that does not exist yet.
    pub(super) fn absent(name: &NamespacedName, manager: &str) -> Self {
        let mut object = Secret::default();
        object.metadata.name = Some(name.name.clone());
        object.metadata.namespace = Some(name.namespace.clone());
        object.metadata.labels =
            Some([("app.kubernetes.io/managed-by".to_owned(), manager.to_owned())].into());
        Self { object }
    }

    /// Splits a Secret into the ring's fields and the rest.
    pub(super) fn read(answer: &[u8]) -> Option<(Self, Fields)> {
        let mut object: Secret = serde_json::from_slice(answer).ok()?;
        let data = object.data.take().unwrap_or_default();
        let (ours, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            data.into_iter().partition(|(field, _)| Ring::is_field(field));
        object.data = Some(others);
        // A write must not send `managedFields` back.
        object.metadata.managed_fields = None;
        Some((
            Self { object },
            ours.into_iter().map(|(field, bytes)| (field, Zeroizing::new(bytes.0))).collect(),
        ))
    }

    /// The whole object with this ring, over the version that was read.
    pub(super) fn with(&self, ring: &Ring) -> Zeroizing<Vec<u8>> {
        let mut object = self.object.clone();
        let fields = ring.encode().into_iter().map(|(field, bytes)| (field, ByteString(bytes.to_vec())));
        object.data.get_or_insert_default().extend(fields);
        let written = Zeroizing::new(serde_json::to_vec(&object).unwrap_or_default());
        object.data.iter_mut().flatten().for_each(|(_, bytes)| bytes.0.zeroize());
        written
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.object.metadata.resource_version.as_deref()
    }

    pub(super) fn reference(&self) -> ObjectReference {
        self.object.object_ref(&())
    }

    pub(super) fn is_immutable(&self) -> bool {
        self.object.immutable == Some(true)
    }

    /// The requested rotation and revocation.
    pub(super) fn requests(&self) -> (u64, u64) {
        requests(&self.object.metadata)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vestibule_pki::ring::{Algorithm, Change, KeySource, Moment, Policy, carry_out};

    use super::*;

    fn ring() -> Ring {
        let mut keys = KeySource::new("example", &["demo.svc"], Algorithm::default());
        let create = Change::Create { trust: [].into(), imported: [].into() };
        carry_out(&create, None, &mut keys, Moment(1_800_000_000), &Policy::default()).unwrap()
    }

    #[test]
    fn a_write_keeps_what_others_put_there_and_drops_old_fields_of_ours() {
        let read = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "immutable": false,
            "metadata": {
                "name": "ring", "namespace": "demo", "resourceVersion": "7", "uid": "u",
                "labels": { "a": "b" }, "annotations": { "c": "d", "vestibule.dev/rotate": "now" },
                "managedFields": [{ "manager": "m" }], "ownerReferences": [],
            },
            "data": { "tls.crt": "", "tls.key": "", "note": "aGk=", "ca-0123.key": "aGk=", "cross-1.crt": "", "ca.crt": "" },
        });
        let (secret, fields) = RingSecret::read(read.to_string().as_bytes()).unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["ca-0123.key", "ca.crt", "cross-1.crt"]);
        let ring = ring();
        let written: Value = serde_json::from_slice(&secret.with(&ring)).unwrap();
        assert_eq!(written["type"], "kubernetes.io/tls");
        assert_eq!(written["metadata"]["resourceVersion"], "7");
        assert_eq!(written["metadata"]["annotations"]["c"], "d");
        assert_eq!(written["metadata"]["labels"]["a"], "b");
        assert!(written["metadata"].get("managedFields").is_none());
        let data = written["data"].as_object().unwrap();
        assert_eq!(data["note"], "aGk=");
        assert!(data.contains_key("ring.json") && !data.contains_key("ca-0123.key"));
        assert_eq!(data.len(), 3 + ring.encode().len());
    }

    #[test]
    fn requests_differ_when_their_values_do() {
        let asked = |value: &str| {
            let object = json!({ "metadata": { "annotations": { "vestibule.dev/rotate": value } } });
            RingSecret::read(object.to_string().as_bytes()).unwrap().0.requests()
        };
        assert_eq!(asked("a"), asked("a"));
        assert_ne!(asked("a").0, asked("b").0);
        assert_eq!(asked("a").1, 0);
    }
}
