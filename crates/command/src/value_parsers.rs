//! Values of flags that several commands take.

use vestibule::tooling::is_dns_label;
use vestibule_identity::CLUSTER_ORDER;

/// The help of every `--kubeconfig`.
pub(super) fn kubeconfig_help() -> String {
    format!("The kubeconfig of the cluster to connect to [default: {CLUSTER_ORDER}]")
}

/// The name of a namespace: an RFC 1123 label.
///
/// # Errors
/// No namespace can be called that.
///
/// ```
/// use vestibule_command::namespace;
///
/// assert_eq!(namespace("shop").as_deref(), Ok("shop"));
/// assert!(namespace("Invalid NS").is_err());
/// ```
pub fn namespace(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err("no namespace can have this name: 1 to 63 lower-case letters, digits and `-`, which neither starts \
                      nor ends it"
            .to_owned()),
    }
}

/// A reference to an image. A text that no registry and no runtime accepts is refused here, and not by the kubelet
/// after the Deployment is applied.
pub(super) fn image(text: &str) -> Result<String, String> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@+".contains(&byte);
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_reference = bytes.iter().copied().all(inner) && ends(bytes.first()) && ends(bytes.last());
    match is_reference && !text.contains("//") {
        true => Ok(text.to_owned()),
        false => {
            Err("this is no image: write REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST, without spaces"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_labels() {
        for text in ["a", "kube-system", "0", &"a".repeat(63)] {
            assert!(namespace(text).is_ok(), "{text}");
        }
        for text in ["", "Invalid NS", "a_b", "a.b", "-a", "a-", &"a".repeat(64)] {
            assert!(namespace(text).is_err(), "{text}");
        }
    }

    #[test]
    fn images_are_references() {
        for text in
            ["IMAGE", "nginx", "localhost:5000/a/b_c:1.0-rc.1", "r.example.com/a@sha256:00ff", "[::1]"]
        {
            assert_eq!(image(text).is_ok(), text != "[::1]", "{text}");
        }
        for text in
            ["", "IMAGE NAME", " nginx", "nginx ", "nginx:", "/nginx", "a//b", "a\nb", "$IMAGE", "<image>"]
        {
            assert!(image(text).is_err(), "{text}");
        }
    }
}
