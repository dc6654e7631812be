//! What a caller trusts, and what it comes to trust later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::SetupError;
use crate::caller::connector;

/// The `caBundle` of a registration, as one API server knows it: a handle that a test swaps while calls are made.
///
/// kube-apiserver keeps a pool of connections for each bundle. So a swap closes nothing: calls after it are made on new
/// connections, which trust the new bundle only; the old ones end when they have been idle for long enough. One that is
/// written again as it was changes nothing, and who goes back to one finds the connections that are left of it.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use vestibule_caller::{Bundle, Caller};
///
/// let bundle = Bundle::new(&std::fs::read("certs/ca.crt")?)?;
/// let caller = Caller::trusting("127.0.0.1:10250".parse()?, "labels.shop.svc", &bundle)?;
/// // Written now, seen by this API server in five seconds.
/// bundle.swap_after(&std::fs::read("certs/next.crt")?, Duration::from_secs(5))?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Bundle(Arc<Mutex<Known>>);

struct Known {
    /// All that there ever were, each once.
    written: Vec<Vec<u8>>,
    current: Trust,
    coming: VecDeque<(Instant, Trust)>,
}

/// A bundle that is in effect, and which one of those it is.
#[derive(Clone)]
pub(crate) struct Trust {
    pub(crate) generation: usize,
    pub(crate) connector: TlsConnector,
}

impl Bundle {
    /// A bundle of PEM certificates; text between them is skipped.
    ///
    /// # Errors
    /// [`SetupError::Bundle`] where it holds no certificate, or a broken one.
    pub fn new(pem: &[u8]) -> Result<Self, SetupError> {
        let current = Trust { generation: 0, connector: connector(pem)? };
        Ok(Self(Arc::new(Mutex::new(Known {
            written: vec![pem.to_vec()],
            current,
            coming: VecDeque::new(),
        }))))
    }

    /// From now on, calls trust this one.
    ///
    /// # Errors
    /// As [`Bundle::new`]; the bundle stays as it was.
    pub fn swap(&self, pem: &[u8]) -> Result<(), SetupError> {
        self.swap_after(pem, Duration::ZERO)
    }

    /// The same, but the API server learns of it only after `lag`. Bundles come into effect in the order they were
    /// written in: none overtakes another.
    ///
    /// # Errors
    /// As [`Bundle::new`]; the bundle stays as it was.
    pub fn swap_after(&self, pem: &[u8], lag: Duration) -> Result<(), SetupError> {
        let connector = connector(pem)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.coming.back().map(|(due, _)| *due);
        let due = Instant::now() + lag;
        let due = before.map_or(due, |before| due.max(before));
        let generation = known.generation(pem);
        known.coming.push_back((due, Trust { generation, connector }));
        Ok(())
    }

    pub(crate) fn trust(&self) -> Trust {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while known.coming.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let next = known.coming.pop_front().map(|(_, trust)| trust);
            known.current = next.unwrap_or_else(|| known.current.clone());
        }
        known.current.clone()
    }
}

impl Known {
    fn generation(&mut self, pem: &[u8]) -> usize {
        self.written.iter().position(|written| written == pem).unwrap_or_else(|| {
            self.written.push(pem.to_vec());
            self.written.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    fn authority() -> String {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[tokio::test(start_paused = true)]
    async fn a_swap_is_known_when_its_lag_is_over_and_none_overtakes_another() {
        let [first, second, third] = [(); 3].map(|()| authority());
        let bundle = Bundle::new(first.as_bytes()).unwrap();
        let generation = || bundle.trust().generation;
        bundle.swap_after(second.as_bytes(), Duration::from_secs(5)).unwrap();
        bundle.swap(third.as_bytes()).unwrap();
        assert_eq!(generation(), 0);
        tokio::time::advance(Duration::from_millis(4999)).await;
        assert_eq!(generation(), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(generation(), 2);
    }

    #[test]
    fn what_is_written_again_is_the_same_bundle() {
        let [first, second] = [(); 2].map(|()| authority());
        let bundle = Bundle::new(first.as_bytes()).unwrap();
        let mut generations = Vec::new();
        for pem in [&first, &second, &second, &first] {
            bundle.swap(pem.as_bytes()).unwrap();
            generations.push(bundle.trust().generation);
        }
        assert_eq!(generations, [0, 1, 1, 0]);
    }
}
