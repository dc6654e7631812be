//! Where a webhook's serving certificate comes from.
