//! The HTTPS server of an admission webhook: accept, TLS, limits, deadlines, drain, probes.
//!
//! A [`Server`] passes requests on a path to a [`Hook`](vestibule_admission::Hook) and sends its answers, as kube-apiserver needs it:
//! HTTP/1.1 on connections that stay open longer than the API server keeps them, an answer before its deadline, `Retry-After`
//! under overload, and an end that loses no call ([`Shutdown`]). It asks a [`PresentCertificate`] for the certificate at every
//! handshake, and can authenticate its clients ([`Clients`]). It logs nothing; an [`Observer`] is told of each event.
//!
//! The crate `vestibule` builds the server for authors of webhooks, and logs and counts its events.
//!
//! Start reading at `pipeline.rs`: `Pipeline::answer` names the stages of a request. In front of it are `listener.rs` (the accept
//! loop and the handshake) and `connection.rs` (HTTP/1.1 and its timeouts); behind it `admission_queue.rs` (how many handlers
//! run). `settings.rs` has the values of the limits and times; `limits.rs` has the limits that requests share. `server.rs` and
//! `bound.rs` put everything together.
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
//! let shutdown = server.shutdown(); // for the task that handles signals
//! server.serve().await;
//! # Ok(()) }
//! ```

mod admission_queue;
mod bind_error;
mod body;
mod body_memory;
mod bound;
mod certificate;
mod client;
mod close_reason;
mod connection;
mod cpu_permits;
mod deadline;
mod idle_eviction;
mod limits;
mod listener;
mod observer;
mod offload;
mod pending_connections;
mod permits;
mod pipeline;
mod probes;
mod random;
mod readiness;
mod refusal;
mod server;
mod settings;
mod shutdown;
mod tls;
mod trace;

pub use bind_error::BindError;
pub use bound::Bound;
pub use certificate::{CertificateCell, CertificateError, PresentCertificate, ServingCertificate};
pub use client::{
    ClientAuthentication, ClientAuthorities, ClientAuthoritiesError, ClientIdentity, Clients,
    CredentialError, VerifyToken,
};
pub use close_reason::CloseReason;
pub use deadline::{budget, timeout};
pub use limits::{LimitUsage, Usage};
pub use observer::{Converted, Decided, Observer};
pub use refusal::Refusal;
pub use server::Server;
pub use settings::{Settings, TlsVersion};
pub use shutdown::Shutdown;
pub use trace::Stage;
