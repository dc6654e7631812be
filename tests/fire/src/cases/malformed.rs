//! A11: bodies that are malformed reviews or no reviews.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hostile::corpus;
use hostile::malformed::{Connection, Malformed, allowed};
use tokio::task::spawn_blocking;

use super::fixture::{millis, webhook};
use super::{Lateness, Row};
use crate::rig::NAME;

const MANY: usize = 10_000;
/// Fixed, so that a failure can be reproduced.
const SEED: u64 = 4711;
/// The limit of each answer.
const SLOWEST: Duration = Duration::from_millis(50);

/// Statuses, durations and errors of the answers.
#[derive(Default)]
struct Answers {
    statuses: BTreeMap<u16, usize>,
    slowest: Duration,
    /// The send time and duration of each answer beyond [`SLOWEST`].
    slow: Vec<(Instant, Duration)>,
    /// The first answer that is not allowed, and why.
    wrong: Option<String>,
}

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let (address, bundle) = (server.address(), server.ca()?);
    let answers = spawn_blocking(move || send(Connection::to(address, NAME, &bundle))).await?;
    let panics = server.metric("vestibule_panics_total").await?;
    let wrong = answers.wrong.as_deref().unwrap_or("none that may not be");
    let by_status = answers.statuses.iter().map(|(status, count)| format!("{count} x {status}"));
    let by_status = by_status.collect::<Vec<_>>().join(", ");
    let (slowest, is_right) = (answers.slowest, answers.wrong.is_none() && panics == 0.0);
    Ok(vec![
        Row::of("A11", format!("{MANY} malformed reviews of seed {SEED}, each another one"))
            .seen(format!("{by_status}; {wrong}"))
            .judged(
                format!("slowest {}, {panics} panics", millis(slowest)),
                format!("{}, 0 panics; a 4xx, a fault of one line or a review", millis(SLOWEST)),
                is_right && slowest <= SLOWEST,
            )
            .late(is_right, [Lateness::each(SLOWEST, answers.slow)]),
    ])
}

/// Sends the bodies one after the other, because the duration of each is measured.
fn send(mut connection: Connection) -> Answers {
    let mut answers = Answers::default();
    let reviews = corpus("review").into_iter().map(|(_, body)| body);
    for body in Malformed::new(reviews, SEED).take(MANY) {
        let began = Instant::now();
        let (status, answer) = connection.post("/mutate/label", &body);
        let took = began.elapsed();
        answers.slowest = answers.slowest.max(took);
        if took > SLOWEST {
            answers.slow.push((began, took));
        }
        *answers.statuses.entry(status).or_default() += 1;
        if let Err(why) = allowed(&body, status, &answer) {
            answers.wrong.get_or_insert(why);
        }
    }
    answers
}
