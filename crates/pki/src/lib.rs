//! A certificate authority and its leaves, checked as a Go client would; no I/O, no clock.
