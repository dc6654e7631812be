//! Tests on a real kube-apiserver live in `tests/`.
