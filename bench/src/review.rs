//! The AdmissionReviews of the bench, made by a generator: every server gets the same bytes.
//!
//! Members are in the order in which kube-apiserver writes them, the order of Go's structs.

mod deployment;
mod pod;

use std::fmt;

use anyhow::Context;
use serde_json::Value;

/// The uid of every request.
pub const UID: &str = "3b5c0b0e-7f0e-4d5c-9d0c-5a1f6f0f2a11";

/// The object of a review, and the operation on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// The creation of a Pod by a ReplicaSet, as a review of about this many bytes.
    Pod(usize),
    /// The same Pod with labels of another app, which no rule matches.
    OtherPod(usize),
    /// The update of a Pod of about this many bytes: the object and the old object.
    Update(usize),
    /// The creation of a Deployment.
    Deployment,
    /// The creation of a Pod of this many containers.
    Containers(usize),
    /// The creation of a Pod whose texts are not ASCII, with escapes of every kind.
    Unicode,
    /// The creation of a Pod with this many annotations.
    Annotations(usize),
}

/// A Pod as most are: 8 KB.
pub const SMALL: Shape = Shape::Pod(8_000);
/// A Pod with hundreds of variables: 92 KB.
pub const MIDDLE: Shape = Shape::Pod(92_000);
/// Nearly the largest object that etcd takes: 1.4 MB.
pub const LARGE: Shape = Shape::Pod(1_400_000);

/// A review as it is sent, and its parts for the comparison of answers.
pub struct Review {
    /// The kind and size of its object.
    pub shape: Shape,
    /// The bytes.
    pub body: String,
    /// The object.
    pub object: Value,
}

impl Review {
    /// Makes the review.
    ///
    /// # Errors
    /// The generator has a bug: its text is no JSON.
    pub fn new(shape: Shape) -> anyhow::Result<Self> {
        let body = match shape {
            Shape::Pod(size) => sized(size, |more| create("pods", "Pod", &pod::of(2 + more / 300, more))),
            Shape::OtherPod(size) => sized(size, |more| {
                let pod = pod::of(2 + more / 300, more);
                create("pods", "Pod", &pod.replace("\"app\":\"web\"", "\"app\":\"other\""))
            }),
            Shape::Update(size) => sized(size, |more| update(&pod::of(2 + more / 300, more))),
            Shape::Deployment => create("deployments", "Deployment", &deployment::text()),
            Shape::Containers(count) => create("pods", "Pod", &pod::of(count, 2 * count)),
            Shape::Unicode => create("pods", "Pod", &pod::unicode()),
            Shape::Annotations(count) => create("pods", "Pod", &pod::annotated(count)),
        };
        let mut review: Value = serde_json::from_str(&body).with_context(|| format!("the review {shape}"))?;
        Ok(Self { shape, object: review["request"]["object"].take(), body })
    }
}

/// The smallest review that `make` makes of at least `size` bytes.
fn sized(size: usize, make: impl Fn(usize) -> String) -> String {
    let (mut few, mut many) = (0, 1);
    while make(many).len() < size {
        (few, many) = (many, many * 2);
    }
    while many - few > 1 {
        let middle = few.midpoint(many);
        if make(middle).len() < size { few = middle } else { many = middle }
    }
    make(many)
}

fn create(resource: &str, kind: &str, object: &str) -> String {
    review(resource, kind, "CREATE", object, "null", "CreateOptions")
}

fn update(pod: &str) -> String {
    let new = pod.replacen("\"labels\":{", "\"labels\":{\"changed\":\"yes\",", 1);
    review("pods", "Pod", "UPDATE", &new, pod, "UpdateOptions")
}

fn review(
    resource: &str,
    kind: &str,
    operation: &str,
    object: &str,
    old_object: &str,
    options: &str,
) -> String {
    let group = if resource == "pods" { "" } else { "apps" };
    let kinds = format!(r#"{{"group":"{group}","version":"v1","kind":"{kind}"}}"#);
    let resources = format!(r#"{{"group":"{group}","version":"v1","resource":"{resource}"}}"#);
    let name = if operation == "UPDATE" { r#""name":"web-6d4b75cb6d-x7k2p","# } else { "" };
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{UID}","kind":{kinds},"resource":{resources},"requestKind":{kinds},"requestResource":{resources},{name}"namespace":"shop","operation":"{operation}","userInfo":{{"username":"system:serviceaccount:kube-system:replicaset-controller","uid":"0f1f7f1b-6d0e-4b37-8c50-c5b3d3f5a0a1","groups":["system:serviceaccounts","system:serviceaccounts:kube-system","system:authenticated"],"extra":{{"authentication.kubernetes.io/credential-id":["JTI=5b0c9c0a-54a4-4e5a-b2a4-0c9f6d2a7e11"]}}}},"object":{object},"oldObject":{old_object},"dryRun":false,"options":{{"kind":"{options}","apiVersion":"meta.k8s.io/v1"}}}}}}"#
    )
}

impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(size) => write!(out, "Pod {}", Size(*size)),
            Self::OtherPod(size) => write!(out, "other Pod {}", Size(*size)),
            Self::Update(size) => write!(out, "UPDATE {}", Size(*size)),
            Self::Deployment => out.write_str("Deployment"),
            Self::Containers(count) => write!(out, "{count} containers"),
            Self::Unicode => out.write_str("Unicode"),
            Self::Annotations(count) => write!(out, "{count} annotations"),
        }
    }
}

/// A number of bytes in words.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..1_000_000 => write!(out, "{} KB", bytes / 1_000),
            bytes => write!(out, "{:.1} MB", bytes as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_have_their_size_and_a_pod_of_containers_and_variables() {
        for (shape, size, containers) in [(SMALL, 8_000, 2), (MIDDLE, 92_000, 3), (LARGE, 1_400_000, 9)] {
            let review = Review::new(shape).unwrap();
            let over = review.body.len() - size;
            assert!(over < 700, "{shape}: {} bytes", review.body.len());
            let found = review.object["spec"]["containers"].as_array().unwrap();
            assert!(found.len() >= containers, "{shape}: {} containers", found.len());
            assert!(review.object["metadata"]["managedFields"].to_string().len() > size / 5, "{shape}");
        }
    }

    #[test]
    fn other_shapes_are_what_their_names_say() {
        let object = |shape| Review::new(shape).unwrap().object;
        let containers = object(Shape::Containers(200));
        assert_eq!(containers["spec"]["containers"].as_array().map(Vec::len), Some(200));
        assert_eq!(object(Shape::Deployment)["kind"], "Deployment");
        assert_eq!(object(Shape::OtherPod(8_000))["metadata"]["labels"]["app"], "other");
        let annotations = object(Shape::Annotations(40));
        assert_eq!(annotations["metadata"]["annotations"].as_object().map(serde_json::Map::len), Some(40));
        assert!(!Review::new(Shape::Unicode).unwrap().body.is_ascii());
        let update: Value = serde_json::from_str(&Review::new(Shape::Update(8_000)).unwrap().body).unwrap();
        assert_ne!(update["request"]["oldObject"], update["request"]["object"]);
        assert_eq!(update["request"]["oldObject"]["kind"], "Pod");
    }
}
