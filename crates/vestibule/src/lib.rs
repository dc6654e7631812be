//! Kubernetes admission webhooks: typed handlers in, everything else done.
