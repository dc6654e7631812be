//! Every example on a real kube-apiserver, and how long it is. The tests live in `tests/it`, one module an example.
