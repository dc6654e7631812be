//! The API server's side of an admission call: builds the review, calls, judges the answer, applies the patch.
