//! The HTTPS front door of an admission webhook: accept, TLS, limits, deadlines, drain, probes.
//!
//! A [`Server`] brings requests on a path to a [`Hook`](vestibule_admission::Hook) and its answers back, as
//! kube-apiserver needs it: HTTP/1.1 on connections that stay open longer than the API server keeps them, an answer
//! before its deadline, `Retry-After` when there is too much to do, and an end that loses no call ([`Shutdown`]). What
//! certificate is presented is asked at every handshake ([`PresentCertificate`]); how it comes to be is not known here.
//! Who calls can be observed, or required ([`Clients`]).
//! Nothing is logged: an [`Observer`] is told.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//! use vestibule_admission::{Handler, HandlerFuture, Hook, Request, Verdict};
//! use vestibule_server::{CertificateCell, Server, ServingCertificate, Settings};
//!
//! struct Allow;
//!
//! impl Handler for Allow {
//!     fn handle<'a>(&'a self, _request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
//!         Box::pin(async { Verdict::allowed() })
//!     }
//! }
//!
//! # async fn example(chain: Vec<rustls_pki_types::CertificateDer<'static>>, key: rustls_pki_types::PrivateKeyDer<'static>)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let certificate = CertificateCell::new(ServingCertificate::new(chain, &key)?);
//! let server = Server::new(Settings::default(), Arc::new(certificate))
//!     .route("/validate/all", Hook::validating("all", Allow), Duration::from_secs(5))
//!     .bind()
//!     .await?;
//! let shutdown = server.shutdown(); // for whoever handles signals
//! server.serve().await;
//! # Ok(()) }
//! ```

mod apart;
mod body;
mod certificate;
mod chance;
mod client;
mod close_reason;
mod connection;
mod deadline;
mod error;
mod front;
mod gate;
mod hooks;
mod load;
mod newcomers;
mod observer;
mod probes;
mod readiness;
mod refusal;
mod room;
mod server;
mod settings;
mod shutdown;
mod tls;
mod trace;
mod turns;
mod unasked;

pub use certificate::{CertificateCell, CertificateError, PresentCertificate, ServingCertificate};
pub use client::{
    ClientAuthentication, ClientAuthorities, ClientAuthoritiesError, ClientIdentity, Clients, Doubt,
    VerifyToken,
};
pub use close_reason::CloseReason;
pub use deadline::{budget, timeout};
pub use error::BindError;
pub use load::{Held, Load};
pub use observer::{Converted, Decided, Observer};
pub use refusal::Refusal;
pub use server::{Bound, Server};
pub use settings::{Settings, TlsVersion};
pub use shutdown::Shutdown;
pub use trace::Stage;
