//! kubectl, helm, Argo CD, Flux and enforcing controllers edit webhook configurations, and the caBundle must stay or be
//! repaired. The API server calls the webhook under `failurePolicy: Fail` meanwhile.

mod conversions;
mod edits;
mod fixture;
mod gitops;
mod history;
mod owner;
mod releases;
