//! A real etcd and kube-apiserver for anyone's tests.
