//! The answer to a conversion (docs/apiserver.md, Conversion).

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ConversionFailure, ConversionReview, Converted};
use crate::answer::REST_OF_A_RESPONSE;
use crate::{Answer, Decision, ReviewKind};

pub(super) fn answer(review: &ConversionReview<'_>, converted: &Converted<'_>) -> Answer {
    match converted {
        Ok(objects) => write(review, Decision::Converted(objects.len()), objects, Status::success()),
        Err(failure) => {
            let decision = failure.fault.map_or(Decision::Unconvertible, Decision::Fault);
            write(review, decision, &[], Status::failure(failure))
        }
    }
}

fn write(
    review: &ConversionReview<'_>,
    decision: Decision,
    converted_objects: &[Cow<'_, RawValue>],
    result: Status<'_>,
) -> Answer {
    let response = Response { uid: &review.request.uid, converted_objects, result };
    let length =
        converted_objects.iter().map(|object| object.get().len() + 1).sum::<usize>() + REST_OF_A_RESPONSE;
    Answer::json(ReviewKind::Conversion, review.version, response, length, decision)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    converted_objects: &'a [Cow<'a, RawValue>],
    result: Status<'a>,
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
}

impl<'a> Status<'a> {
    fn success() -> Self {
        Self { status: "Success", message: "", reason: "" }
    }

    fn failure(failure: &'a ConversionFailure) -> Self {
        let reason = if failure.fault.is_some() { "InternalError" } else { "Invalid" };
        Self { status: "Failure", message: &failure.message, reason }
    }
}
