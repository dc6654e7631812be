//! Lists that are read by pages, so that a large cluster takes neither much memory here nor one long answer of the API server.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Client;
use kube::api::{ListParams, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The number of objects of a page.
const PAGE: u32 = 250;

/// Pods that have not ended. A pod that has ended is not started again.
pub(crate) const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// A list that is read page by page.
pub(crate) struct Pages<T> {
    client: Client,
    request: Request,
    params: ListParams,
    /// Whether the API server sends the metadata alone.
    metadata_only: bool,
    is_over: bool,
    item: PhantomData<fn() -> T>,
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: ListMeta,
    /// The API server sends `null` for an empty list of metadata.
    items: Option<Vec<T>>,
}

impl<T: DeserializeOwned> Pages<T> {
    /// The objects below `path`, of which the fields meet `selector`.
    pub(crate) fn new(client: &Client, path: &str, selector: Option<&str>) -> Self {
        let params = ListParams::default().limit(PAGE);
        Self {
            client: client.clone(),
            request: Request::new(path),
            params: selector.map_or(params.clone(), |selector| params.fields(selector)),
            metadata_only: false,
            is_over: false,
            item: PhantomData,
        }
    }

    /// The pods of `namespace`, or of all namespaces, that have not ended.
    pub(crate) fn of_pods(client: &Client, namespace: Option<&str>) -> Self {
        let path = match namespace {
            Some(namespace) => format!("/api/v1/namespaces/{namespace}/pods"),
            None => "/api/v1/pods".to_owned(),
        };
        Self::new(client, &path, Some(NOT_ENDED))
    }

    /// The same objects without `spec` and `status`.
    pub(crate) fn metadata_only(self) -> Self {
        Self { metadata_only: true, ..self }
    }

    /// The objects of the next page; [`None`] after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<T>>, kube::Error> {
        if self.is_over {
            return Ok(None);
        }
        let list = if self.metadata_only { Request::list_metadata } else { Request::list };
        let request = list(&self.request, &self.params).map_err(kube::Error::BuildRequest)?;
        let Page { metadata, items } = self.client.request(request).await?;
        let token = metadata.continue_.filter(|token| !token.is_empty());
        self.is_over = token.is_none();
        self.params.continue_token = token;
        Ok(Some(items.unwrap_or_default()))
    }
}
