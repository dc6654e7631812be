use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Service};
use vestibule::{Change, Context, Reject};

/// A web site: pages on a claim, behind a Service. Its references never change.
#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.dev", version = "v1", kind = "Site", namespaced)]
#[schemars(extend("x-kubernetes-validations" = [{ "rule": "self == oldSelf" }]))]
pub struct SiteSpec {
    /// The PersistentVolumeClaim with the pages: bound, and not being deleted.
    pub claim: String,
    /// The Service in front of it, with a port 80.
    pub service: String,
}

pub(crate) async fn validate(change: Change<Site>, context: Context) -> Result<(), Reject> {
    let Some(SiteSpec { claim, service }) = change.object().map(|site| &site.spec) else { return Ok(()) };
    let found = context.lookup::<PersistentVolumeClaim>().get(claim).await?;
    let bound = found.is_some_and(|claim| {
        let bound = claim.status.iter().any(|status| status.phase.as_deref() == Some("Bound"));
        bound && claim.metadata.deletion_timestamp.is_none()
    });
    let found = context.lookup::<Service>().get(service).await?;
    let ports = found.iter().flat_map(|service| &service.spec).flat_map(|spec| &spec.ports);
    let served = ports.flatten().any(|port| port.port == 80);
    let claim = (bound, "spec.claim", format!("no claim {claim} is bound and stays"));
    let service = (served, "spec.service", format!("no Service {service} has a port 80"));
    let missing = [claim, service].into_iter().filter(|(there, ..)| !there);
    crate::all_there(missing.map(|(_, field, what)| (field.to_owned(), what)).collect())
}
