//! Injection rules on a cluster.
