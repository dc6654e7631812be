//! Tests on a real kube-apiserver, which finds each webhook by a Service. They live in `tests/it`, one module a theme.
