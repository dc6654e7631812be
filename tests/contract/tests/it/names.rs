//! Reviews with names that no API server sends.

use serde_json::{Value, json};

/// `review` with `name` at `place`, a JSON pointer.
pub(crate) fn with_name(review: &[u8], place: &str, name: &str) -> Value {
    let mut review: Value = serde_json::from_slice(review).unwrap();
    let (parent, member) = place.rsplit_once('/').unwrap();
    review.pointer_mut(parent).unwrap()[member] = json!(name);
    review
}
