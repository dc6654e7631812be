//! The AdmissionReview conversation: envelope, verdict, handlers; no I/O.
