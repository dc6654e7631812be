//! The HTTPS front door of an admission webhook: TLS, limits, deadlines, drain, probes.
