//! Sends requests to the API server and reads the time of its answers.

use std::time::{Duration, Instant};

use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use k8s_openapi::jiff::fmt::rfc2822::DateTimeParser;
use kube::client::Body;
use serde_json::Value;
use vestibule_pki::ring::Moment;
use zeroize::Zeroizing;

use super::managed_fields::FieldManagers;
use crate::client_error::with_causes;
use crate::{NamespacedName, RegistrationName};

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
/// The `Date` of an answer that took longer is not used as clock.
const MAX_DATE_AGE: Duration = Duration::from_secs(1);
/// The timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A thin layer over the client, because only the raw answer has the `Date` header.
pub(super) struct ApiClient {
    client: kube::Client,
    managers: FieldManagers,
    /// The path of the ring's Secret, and of the Secrets of its namespace.
    secret: String,
    secrets: String,
    /// The paths of the configurations.
    configurations: Vec<String>,
}

/// The purpose of a patch of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Writes or repairs the bundle and the mark.
    Bundle { is_repair: bool },
    /// Writes the entries of this version with their bundle, or repairs removed ones.
    Entries { is_repair: bool },
    /// Claims the entries of another version.
    Claim,
    /// Objects to a claim.
    Objection,
}

/// An answer, or the reason why there is none.
pub(super) struct Answer {
    /// When the request was sent.
    pub(super) sent: Instant,
    /// The `Date` header: the server's clock.
    pub(super) date: Option<Moment>,
    /// The object, which may be the ring's Secret, or why there is none.
    pub(super) outcome: Result<Zeroizing<Vec<u8>>, ApiError>,
}

/// The error of a request. Its text names fields, never their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) kind: ApiErrorKind,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiErrorKind {
    /// 404
    NotFound,
    /// 409: another writer was first.
    Conflict,
    /// 403: a right is missing.
    Forbidden,
    /// 422 or another 4xx: the request is invalid for this object.
    Refused,
    /// No answer, or a request to retry.
    Unreachable,
}

impl ApiClient {
    pub(super) fn new(
        client: kube::Client,
        managers: FieldManagers,
        secret: &NamespacedName,
        configurations: &[RegistrationName],
    ) -> Self {
        let secrets = format!("/api/v1/namespaces/{}/secrets", secret.namespace);
        Self {
            client,
            managers,
            secret: format!("{secrets}/{}", secret.name),
            secrets,
            configurations: configurations.iter().map(RegistrationName::path).collect(),
        }
    }

    /// Reads at quorum: no `resourceVersion` asks for the newest.
    pub(super) async fn read_ring(&self) -> Answer {
        self.send(Method::GET, &self.secret, None).await
    }

    pub(super) async fn write_ring(&self, object: Vec<u8>, creates: bool) -> Answer {
        let (method, path) =
            if creates { (Method::POST, &self.secrets) } else { (Method::PUT, &self.secret) };
        self.send(method, &with_field_manager(&self.managers.bundles, path), Some((JSON, object))).await
    }

    pub(super) async fn read_configuration(&self, position: usize) -> Answer {
        self.send(Method::GET, self.path(position), None).await
    }

    pub(super) async fn patch_configuration(
        &self,
        position: usize,
        patch: &Value,
        purpose: Purpose,
    ) -> Answer {
        let path = with_field_manager(purpose.manager(&self.managers), self.path(position));
        self.send(Method::PATCH, &path, Some((JSON_PATCH, patch.to_string().into_bytes()))).await
    }

    fn path(&self, position: usize) -> &str {
        self.configurations.get(position).map_or("", String::as_str)
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&str, Vec<u8>)>) -> Answer {
        match tokio::time::timeout(REQUEST_TIMEOUT, self.exchange(method, path, body)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(reason)) => Answer::failed(&reason),
            Err(_) => Answer::failed("no answer within 10 s"),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Answer, String> {
        let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, JSON);
        if let Some((content_type, _)) = body {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let body = body.map_or_else(Body::empty, |(_, bytes)| Body::from(bytes));
        let request = request.body(body).map_err(|error| error.to_string())?;
        let sent = Instant::now();
        let response = self.client.send(request).await.map_err(|error| with_causes(&error))?;
        let date = response.headers().get(header::DATE).filter(|_| sent.elapsed() < MAX_DATE_AGE);
        let date = date.and_then(|date| moment(date.as_bytes()));
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| with_causes(&error))?;
        let body = Zeroizing::new(Vec::from(body.to_bytes()));
        let outcome = if status.is_success() { Ok(body) } else { Err(ApiError::of_status(status, &body)) };
        Ok(Answer { sent, date, outcome })
    }
}

impl Purpose {
    /// Whether the patch reverts a change of another program.
    pub(super) fn is_repair(self) -> bool {
        matches!(self, Self::Bundle { is_repair: true } | Self::Entries { is_repair: true })
    }

    fn manager(self, managers: &FieldManagers) -> &str {
        match self {
            Self::Bundle { .. } => &managers.bundles,
            Self::Entries { .. } => &managers.entries,
            Self::Claim | Self::Objection => &managers.claims,
        }
    }
}

impl Answer {
    fn failed(reason: &str) -> Self {
        let text = format!("the API server does not answer: {reason}");
        let outcome = Err(ApiError { kind: ApiErrorKind::Unreachable, text });
        Self { sent: Instant::now(), date: None, outcome }
    }
}

impl ApiError {
    fn of_status(status: StatusCode, body: &[u8]) -> Self {
        let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let message = body["message"].as_str();
        let kind = match status {
            StatusCode::NOT_FOUND => ApiErrorKind::NotFound,
            StatusCode::CONFLICT => ApiErrorKind::Conflict,
            StatusCode::FORBIDDEN => ApiErrorKind::Forbidden,
            // The client renews an expired token.
            StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                ApiErrorKind::Unreachable
            }
            other if other.is_client_error() => ApiErrorKind::Refused,
            _ => ApiErrorKind::Unreachable,
        };
        // The server's message about an invalid object may repeat its values; the names of the fields do not. A policy may write
        // anything as a field.
        let causes = body["details"]["causes"].as_array().into_iter().flatten();
        let mut fields: Vec<_> =
            causes.filter_map(|cause| cause["field"].as_str()).filter(|field| is_path(field)).collect();
        fields.dedup();
        fields.truncate(MOST_FIELDS);
        let text = match (kind, message) {
            (ApiErrorKind::Forbidden, Some(message)) => message.to_owned(),
            // The namespace of the object may be what is not found.
            (_, Some(message)) if status == StatusCode::NOT_FOUND => message.to_owned(),
            (ApiErrorKind::Refused, _) if !fields.is_empty() => {
                format!("the API server answers {status} because of {}", fields.join(", "))
            }
            _ => format!("the API server answers {status}"),
        };
        Self { kind, text }
    }

    /// The error for a successful answer that cannot be parsed.
    pub(super) fn unreadable() -> Self {
        let text = "the API server's answer cannot be read".to_owned();
        Self { kind: ApiErrorKind::Unreachable, text }
    }
}

/// How many fields the text of an error names.
const MOST_FIELDS: usize = 5;

/// Whether `field` is the path of a field of a webhook configuration, such as `webhooks[0].matchConditions[0].expression`.
fn is_path(field: &str) -> bool {
    field.len() <= 200 && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".[]".contains(&byte))
}

fn with_field_manager(manager: &str, path: &str) -> String {
    format!("{path}?fieldManager={manager}")
}

/// The `Date` header (RFC 9110 5.6.7).
fn moment(date: &[u8]) -> Option<Moment> {
    let timestamp = DateTimeParser::new().parse_timestamp(date).ok()?;
    u64::try_from(timestamp.as_second()).ok().map(Moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_date_is_read() {
        assert_eq!(moment(b"Sun, 06 Nov 1994 08:49:37 GMT"), Some(Moment(784_111_777)));
        for none in ["", "yesterday", "Sun, 31 Feb 1994 08:49:37 GMT", "Thu, 01 Jan 1960 00:00:00 GMT"] {
            assert_eq!(moment(none.as_bytes()), None, "{none}");
        }
    }

    #[tokio::test]
    async fn writes_carry_the_field_managers_of_the_settings() {
        let (sender, mut paths) = tokio::sync::mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: Request<Body>| {
            sender.send(request.uri().to_string()).unwrap();
            async { Ok::<_, std::io::Error>(http::Response::new(Body::empty())) }
        });
        let client = kube::Client::new(service, "default");
        let (secret, configuration) = ("demo/ring".parse().unwrap(), "mutating/hooks".parse().unwrap());
        let api = ApiClient::new(client, FieldManagers::new("widgets"), &secret, &[configuration]);
        api.write_ring(Vec::new(), false).await;
        for purpose in
            [Purpose::Bundle { is_repair: false }, Purpose::Entries { is_repair: false }, Purpose::Claim]
        {
            api.patch_configuration(0, &Value::Null, purpose).await;
        }
        for manager in ["widgets", "widgets", "widgets-entries", "widgets-claim"] {
            let path = paths.recv().await.unwrap();
            assert!(path.ends_with(&format!("?fieldManager={manager}")), "{path}");
        }
    }

    #[test]
    fn an_answer_never_repeats_an_object() {
        let body = br#"{"message": "Secret \"x\" is invalid: data[tls.key]: Invalid value: \"canary\""}"#;
        let error = ApiError::of_status(StatusCode::UNPROCESSABLE_ENTITY, body);
        assert_eq!(error.kind, ApiErrorKind::Refused);
        assert!(!error.text.contains("canary"), "{}", error.text);
        let body = br#"{"message": "x is invalid: webhooks[0].matchConditions[0].expression: Invalid value: \"canary\"",
            "details": {"causes": [{"field": "webhooks[0].matchConditions[0].expression", "message": "Invalid value: \"canary\""},
            {"field": "webhooks[0].matchConditions[0].expression"}, {"field": "any\ntext"}]}}"#;
        let error = ApiError::of_status(StatusCode::UNPROCESSABLE_ENTITY, body);
        let expected = "the API server answers 422 Unprocessable Entity because of webhooks[0].matchConditions[0].expression";
        assert_eq!(error.text, expected);
        let forbidden = ApiError::of_status(StatusCode::FORBIDDEN, br#"{"message": "secrets is forbidden"}"#);
        assert_eq!(
            (forbidden.kind, forbidden.text.as_str()),
            (ApiErrorKind::Forbidden, "secrets is forbidden")
        );
        let absent =
            ApiError::of_status(StatusCode::NOT_FOUND, br#"{"message": "namespaces \"x\" not found"}"#);
        assert_eq!(absent.text, "namespaces \"x\" not found");
    }
}
