//! Reading a body within its limits.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::refusal::{Refusal, Refused};

/// The most that is set aside because a client declares it.
const TRUSTED_LENGTH: u64 = 1 << 20;

/// Bodies of all requests share one budget of memory.
pub(crate) struct Bodies {
    limit: usize,
    time: Duration,
    room: Arc<Semaphore>,
}

/// A whole body; its share of the budget is given back when it is dropped.
pub(crate) struct Received<'a> {
    pub(crate) bytes: Vec<u8>,
    _share: Option<SemaphorePermit<'a>>,
}

impl Bodies {
    pub(crate) fn new(limit: usize, room: Arc<Semaphore>, time: Duration) -> Self {
        Self { limit, time, room }
    }

    /// The same budget, for bodies with another limit.
    pub(crate) fn with_limit(&self, limit: usize) -> Self {
        Self { limit, time: self.time, room: Arc::clone(&self.room) }
    }

    pub(crate) async fn receive(&self, body: Incoming) -> Result<Received<'_>, Refused> {
        let slow =
            |_| Refusal::SlowBody.because(format!("the body took longer than {} ms", self.time.as_millis()));
        timeout(self.time, self.read(body)).await.map_err(slow)?
    }

    /// Takes from the budget what has arrived, not what is announced: a client that stalls holds no more than it sent.
    async fn read(&self, mut body: Incoming) -> Result<Received<'_>, Refused> {
        let declared = body.size_hint().lower();
        if declared > self.limit as u64 {
            return Err(self.too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(declared.min(TRUSTED_LENGTH)).unwrap_or_default());
        let mut share: Option<SemaphorePermit<'_>> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Refusal::Unreadable.because("the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > self.limit {
                return Err(self.too_large());
            }
            let more =
                u32::try_from(data.len()).ok().and_then(|length| self.room.try_acquire_many(length).ok());
            let more =
                more.ok_or_else(|| Refusal::BytesInFlight.because("too many large requests; try again"))?;
            match &mut share {
                Some(share) => share.merge(more),
                None => share = Some(more),
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Received { bytes, _share: share })
    }

    fn too_large(&self) -> Refused {
        Refusal::TooLarge.because(format!("the body is larger than {} bytes", self.limit))
    }
}
