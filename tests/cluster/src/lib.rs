//! Tests on a real kube-apiserver, which reaches each webhook by a Service. They are in `tests/it`, one module for each topic; start at
//! `tests/it/main.rs`.
