//! `soak --case row36`: fills the cluster with unrelated objects, and limits the watches and memory of replicas in it.

use std::collections::BTreeMap;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ObjectMeta, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule_testenv::Environment;

use crate::Report;

const SECRETS: usize = 20_000;
const CONFIGURATIONS: usize = 500;
const DEFINITIONS: usize = 300;
/// Concurrent requests.
const AT_A_TIME: usize = 16;

/// Fills the cluster with objects that the webhook does not use; returns notes for the report.
pub(crate) async fn fill(environment: &Environment, say: fn(&str)) -> anyhow::Result<Vec<(String, String)>> {
    let client = environment.admin()?;
    say(&format!("making {CONFIGURATIONS} configurations"));
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration");
    make(&client, &kind, CONFIGURATIONS, configuration).await?;
    say(&format!("making {DEFINITIONS} definitions"));
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    make(&client, &kind, DEFINITIONS, definition).await?;
    say(&format!("making {SECRETS} Secrets"));
    let namespace = environment.namespace(&[]).await?;
    let secrets: Api<Secret> = Api::namespaced(client, namespace.name());
    let data = BTreeMap::from([("value".to_owned(), ByteString(vec![b'x'; 512]))]);
    let each = stream::iter(0..SECRETS).map(|number| {
        let metadata = ObjectMeta { name: Some(format!("full-{number}")), ..ObjectMeta::default() };
        let secret = Secret { metadata, data: Some(data.clone()), ..Secret::default() };
        let secrets = secrets.clone();
        async move { secrets.create(&PostParams::default(), &secret).await.map(drop) }
    });
    each.buffer_unordered(AT_A_TIME).try_collect::<()>().await.context("make a Secret")?;
    let made = format!("{SECRETS} Secrets, {CONFIGURATIONS} configurations, {DEFINITIONS} definitions");
    Ok(vec![("in the cluster".to_owned(), made)])
}

async fn make(
    client: &Client,
    kind: &GroupVersionKind,
    count: usize,
    object: fn(usize) -> Value,
) -> anyhow::Result<()> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(kind));
    let each = stream::iter(0..count).map(|number| {
        let api = api.clone();
        async move {
            let object = serde_json::from_value(object(number))?;
            api.create(&PostParams::default(), &object).await?;
            anyhow::Ok(())
        }
    });
    each.buffer_unordered(AT_A_TIME).try_collect().await.with_context(|| format!("make a {}", kind.kind))
}

/// A configuration without a server; its rules match no existing resource.
fn configuration(number: usize) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": format!("full-{number}") },
        "webhooks": [{
            "name": format!("full-{number}.example.dev"),
            "clientConfig": { "url": "https://127.0.0.1:1/none" },
            "rules": [{
                "apiGroups": [format!("g{number}.example.dev")], "apiVersions": ["v1"],
                "resources": ["things"], "operations": ["CREATE"],
            }],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

fn definition(number: usize) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things{number}.example.dev") },
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {
                "kind": format!("Thing{number}"), "plural": format!("things{number}"),
                "singular": format!("thing{number}"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

/// The number of watches on single objects, by resource, from the first API server's metrics. Only replicas open such
/// watches.
pub(crate) async fn watches(environment: &Environment) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut request = http::Request::new(Vec::new());
    *request.uri_mut() = http::Uri::from_static("/metrics");
    let metrics = environment.admin()?.request_text(request).await?;
    let watches = metrics.lines().filter(|line| {
        line.starts_with("apiserver_longrunning_requests{")
            && line.contains("verb=\"WATCH\"")
            && line.contains("scope=\"resource\"")
    });
    let mut counts = BTreeMap::new();
    for line in watches {
        let resource = line.split("resource=\"").nth(1).and_then(|rest| rest.split('"').next());
        let count = line.rsplit(' ').next().and_then(|count| count.parse().ok());
        *counts.entry(resource.unwrap_or_default().to_owned()).or_default() += count.unwrap_or(0_usize);
    }
    counts.retain(|_, count| *count > 0);
    // The API server itself watches `extension-apiserver-authentication` and the range of Service addresses.
    counts.retain(|resource, _| resource != "configmaps" && resource != "servicecidrs");
    Ok(counts)
}

/// Reports a replica that does not hold exactly one watch per managed object, or that grew by more than 8 MiB.
pub(crate) fn problems(report: &Report, watches: &BTreeMap<String, usize>) -> Vec<String> {
    const GROWTH: u64 = 8 * 1024;
    let replicas = usize::from(report.options.replicas);
    let expected =
        ["mutatingwebhookconfigurations", "secrets"].map(|resource| (resource.to_owned(), replicas));
    let mut problems = Vec::new();
    if *watches != BTreeMap::from(expected) {
        problems.push(format!("not one watch for each object and replica: {watches:?}"));
    }
    let grown = report.resident.iter().filter(|(least, most)| most.saturating_sub(*least) > GROWTH);
    problems.extend(grown.map(|(least, most)| format!("a replica grew from {least} to {most} KiB")));
    problems
}
