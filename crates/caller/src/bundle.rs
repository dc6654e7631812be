//! The CA bundle of a caller, which may be replaced while it calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::setup_error::SetupError;
use crate::tls::connector;

/// The `caBundle` of a registration, as one API server knows it: a handle that a test swaps while calls are made.
///
/// kube-apiserver keeps a pool of connections for each bundle. So a swap closes no connection: later calls are made on new
/// connections, which trust the new bundle only, and the old ones end at their idle timeout. Writing the same bundle again
/// changes nothing, and a return to an earlier bundle reuses the connections that are left of it.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use vestibule_caller::{Bundle, Caller};
///
/// let bundle = Bundle::new(&std::fs::read("certs/ca.crt")?)?;
/// let caller = Caller::trusting("127.0.0.1:10250".parse()?, "labels.shop.svc", &bundle)?;
/// // Written now, and seen by this API server five seconds later.
/// bundle.swap_after(&std::fs::read("certs/next.crt")?, Duration::from_secs(5))?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Bundle(Arc<Mutex<State>>);

struct State {
    /// All bundles that were ever written, each once.
    written: Vec<Vec<u8>>,
    current: EffectiveBundle,
    pending: VecDeque<(Instant, EffectiveBundle)>,
}

/// The bundle in effect, and its number among all that were written.
#[derive(Clone)]
pub(crate) struct EffectiveBundle {
    pub(crate) generation: usize,
    pub(crate) connector: TlsConnector,
}

impl Bundle {
    /// A bundle of PEM certificates; text between them is skipped.
    ///
    /// # Errors
    /// [`SetupError::Bundle`] where it holds no certificate, or a broken one.
    pub fn new(pem: &[u8]) -> Result<Self, SetupError> {
        let current = EffectiveBundle { generation: 0, connector: connector(pem)? };
        Ok(Self(Arc::new(Mutex::new(State {
            written: vec![pem.to_vec()],
            current,
            pending: VecDeque::new(),
        }))))
    }

    /// Replaces the bundle for all later calls.
    ///
    /// # Errors
    /// As [`Bundle::new`]; the bundle stays as it was.
    pub fn swap(&self, pem: &[u8]) -> Result<(), SetupError> {
        self.swap_after(pem, Duration::ZERO)
    }

    /// Replaces the bundle, but the API server sees it only after `lag`. Bundles come into effect in the order in which they were
    /// written.
    ///
    /// # Errors
    /// As [`Bundle::new`]; the bundle stays as it was.
    pub fn swap_after(&self, pem: &[u8], lag: Duration) -> Result<(), SetupError> {
        let connector = connector(pem)?;
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.pending.back().map(|(due, _)| *due);
        let due = Instant::now() + lag;
        let due = before.map_or(due, |before| due.max(before));
        let generation = state.generation(pem);
        state.pending.push_back((due, EffectiveBundle { generation, connector }));
        Ok(())
    }

    pub(crate) fn current(&self) -> EffectiveBundle {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while state.pending.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let next = state.pending.pop_front().map(|(_, bundle)| bundle);
            state.current = next.unwrap_or_else(|| state.current.clone());
        }
        state.current.clone()
    }
}

impl State {
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
    async fn a_swap_takes_effect_after_its_lag_and_in_order() {
        let [first, second, third] = [(); 3].map(|()| authority());
        let bundle = Bundle::new(first.as_bytes()).unwrap();
        let generation = || bundle.current().generation;
        bundle.swap_after(second.as_bytes(), Duration::from_secs(5)).unwrap();
        bundle.swap(third.as_bytes()).unwrap();
        assert_eq!(generation(), 0);
        tokio::time::advance(Duration::from_millis(4999)).await;
        assert_eq!(generation(), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(generation(), 2);
    }

    #[test]
    fn a_bundle_that_is_written_again_is_the_same_one() {
        let [first, second] = [(); 2].map(|()| authority());
        let bundle = Bundle::new(first.as_bytes()).unwrap();
        let mut generations = Vec::new();
        for pem in [&first, &second, &second, &first] {
            bundle.swap(pem.as_bytes()).unwrap();
            generations.push(bundle.current().generation);
        }
        assert_eq!(generations, [0, 1, 1, 0]);
    }
}
