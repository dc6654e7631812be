//! The result of a call for kube-apiserver, and assertions about it.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;
use vestibule::FailurePolicy;
use vestibule_caller::{self as caller, Denied, Review};

use super::pipeline::{Pipeline, Reply};
use super::{diff, unknown_fields};

/// The result of a call for kube-apiserver.
///
/// Assertions return it, so that they chain. If the rules or selectors of the hook do not match the request, the API
/// server does not call the hook, and every assertion but [`Outcome::assert_not_called`] fails.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use serde_json::json;
/// use vestibule::Operation::Create;
/// use vestibule::{App, Change, Context, Reject, deny, on, FailurePolicy};
///
/// async fn small(change: Change<Pod>, context: Context) -> Result<(), Reject> {
///     context.warn("pods are counted");
///     let containers = change.object().and_then(|pod| pod.spec.as_ref()).map_or(0, |spec| spec.containers.len());
///     let many = || deny("too many containers").invalid().field("spec.containers", "at most 1");
///     if containers > 1 { Err(many()) } else { Ok(()) }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let app = App::new("demo").validate("small", on::<Pod>([Create]).objects("app").failure_policy(FailurePolicy::Fail), small);
/// let pod = |labels, containers| {
///     let metadata = json!({ "name": "web", "labels": labels });
///     json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": { "containers": containers } })
/// };
/// let (web, two) = (json!({ "app": "web" }), json!([{ "name": "a" }, { "name": "b" }]));
///
/// let outcome = vestibule_test::call(&app, "small").create(pod(web, two.clone())).await;
/// outcome.assert_denied("too many").assert_code(422).assert_cause("spec.containers", "at most 1");
/// outcome.assert_warned("counted");
/// assert_eq!(outcome.message().unwrap(), r#"admission webhook "small.demo.vestibule.dev" denied the request: too many containers"#);
/// vestibule_test::call(&app, "small").create(pod(json!({}), two)).await.assert_not_called();
/// # });
/// ```
#[must_use = "assert something about it"]
pub struct Outcome {
    pub(super) pipeline: Pipeline,
    pub(super) review: Review,
    /// `Err`: the reason why the API server does not call the hook.
    pub(super) reply: Result<Reply, String>,
}

impl Outcome {
    /// The hook allows the request, with or without a patch.
    #[track_caller]
    pub fn assert_allowed(&self) -> &Self {
        self.allowed();
        self
    }

    /// The hook allows the request without a patch.
    #[track_caller]
    pub fn assert_unchanged(&self) -> &Self {
        let Some(before) = self.review.object() else { return self.assert_allowed() };
        let allowed = self.allowed();
        if allowed.patch.is_some() {
            let after = allowed.object.as_ref().unwrap_or(&Value::Null);
            self.fail("the object to stay as it was", format_args!("\n{}", diff::lines(before, after)));
        }
        self
    }

    /// The hook allows the request. `check` gets the patched object, and panics if it is not as expected.
    #[track_caller]
    pub fn assert_object<T: DeserializeOwned>(&self, check: impl FnOnce(&T)) -> &Self {
        check(&self.object());
        self
    }

    /// The hook allows the request, and this is the patched object, member by member.
    #[track_caller]
    pub fn assert_json(&self, expected: &Value) -> &Self {
        let differences = diff::lines(expected, &self.object());
        let more = format_args!("\n{differences}");
        self.require(differences.is_empty(), "this object (-) and no other (+)", more)
    }

    /// The hook denies the request, with a message that contains `text`. No failure policy changes that.
    #[track_caller]
    pub fn assert_denied(&self, text: &str) -> &Self {
        let is_said = self.denied().message.contains(text);
        self.require(is_said, format_args!("a denial with the words {text:?}"), "")
    }

    /// The denial has this HTTP status.
    #[track_caller]
    pub fn assert_code(&self, code: u16) -> &Self {
        let has_code = self.denied().code == i32::from(code);
        self.require(has_code, format_args!("a denial with code {code}"), "")
    }

    /// The denial has a cause for this field, with a message that contains `text`.
    #[track_caller]
    pub fn assert_cause(&self, field: &str, text: &str) -> &Self {
        let causes = &self.denied().causes;
        self.require(
            causes.iter().any(|cause| cause.field == field && cause.message.contains(text)),
            format_args!("a cause for {field} with the words {text:?}"),
            format_args!("; causes: {causes:?}"),
        )
    }

    /// There was no verdict: an error, a panic, a deadline, a patch that does not apply. `failurePolicy` decides. The message of the
    /// fault contains `text`.
    #[track_caller]
    pub fn assert_fault_says(&self, text: &str) -> &Self {
        let is_said = self.failed().message.contains(text);
        self.require(is_said, format_args!("a fault with the words {text:?}"), "")
    }

    /// The hook is not ready: HTTP 503 with `Retry-After`. The API server retries within the timeout of the hook.
    #[track_caller]
    pub fn assert_not_ready(&self) -> &Self {
        let reply = self.reply();
        self.require(reply.status == 503 && reply.retry_after.is_some(), "to be asked to come again", "")
    }

    /// A warning to the user contains `text`.
    #[track_caller]
    pub fn assert_warned(&self, text: &str) -> &Self {
        let warnings = self.warnings();
        self.require(
            warnings.iter().any(|warning| warning.contains(text)),
            format_args!("a warning with the words {text:?}"),
            format_args!("; warnings: {warnings:?}"),
        )
    }

    /// The audit log has this annotation. `key` is the handler's key, without the name of the hook.
    #[track_caller]
    pub fn assert_audited(&self, key: &str, value: &str) -> &Self {
        let annotations = self.audit_annotations();
        self.require(
            annotations.get(key).is_some_and(|found| found == value),
            format_args!("the audit annotation {key}={value}"),
            format_args!("; annotations: {annotations:?}"),
        )
    }

    /// The API server does not call the hook: its rules or selectors do not match the request.
    #[track_caller]
    pub fn assert_not_called(&self) -> &Self {
        self.require(self.reply.is_err(), "no call", "")
    }

    /// The patch applies by the letter of RFC 6902. It does not rely on the leniency of the API server's library, which
    /// accepts a `replace` of a missing member. The patch of a typed handler never does.
    #[track_caller]
    pub fn assert_applies(&self) -> &Self {
        self.law(Self::standard)
    }

    /// A second call, with the object that the first one made, changes nothing. `reinvocationPolicy` makes such calls
    /// possible.
    ///
    /// The second call runs on a thread of its own before this returns.
    #[track_caller]
    pub fn assert_idempotent(&self) -> &Self {
        self.law(Self::idempotence)
    }

    /// Members that the handler's type does not know are kept, each in its own object and list item.
    ///
    /// A second call, on a thread of its own, has an unknown member in every object of the request.
    #[track_caller]
    pub fn assert_keeps_unknown_fields(&self) -> &Self {
        self.law(Self::unknown_fields)
    }

    /// The patched object, with the members that the handler's type does not know.
    ///
    /// # Panics
    /// The request was not allowed, or there is no object (DELETE), or it is no `T`.
    #[track_caller]
    pub fn object<T: DeserializeOwned>(&self) -> T {
        let Some(object) = &self.allowed().object else {
            self.fail("an object", ", but a DELETE leaves none");
        };
        match T::deserialize(object) {
            Ok(object) => object,
            Err(error) => {
                self.fail(format_args!("a {}", std::any::type_name::<T>()), format_args!(": {error}"))
            }
        }
    }

    /// The operations of the patch (RFC 6902); empty without a patch.
    ///
    /// # Panics
    /// The request was not allowed.
    #[track_caller]
    pub fn patch(&self) -> &[Value] {
        self.allowed().patch.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The warnings that the user sees.
    ///
    /// # Panics
    /// There was no verdict.
    #[track_caller]
    pub fn warnings(&self) -> &[String] {
        &self.verdict().0.shown
    }

    /// The annotations for the audit log, by the handler's own keys.
    ///
    /// # Panics
    /// There was no verdict.
    #[track_caller]
    pub fn audit_annotations(&self) -> BTreeMap<String, String> {
        let prefix = format!("{}/", self.pipeline.qualified_name());
        let own = |(key, value): (&String, &String)| {
            (key.strip_prefix(&prefix).unwrap_or(key).to_owned(), value.clone())
        };
        self.verdict().1.kept.iter().map(own).collect()
    }

    /// The message to the user: of a denial, or of a fault under `failurePolicy: Fail`.
    pub fn message(&self) -> Option<&str> {
        match &self.reply.as_ref().ok()?.judged {
            caller::Outcome::Allowed(_) => None,
            caller::Outcome::Denied(denied) => Some(&denied.message),
            caller::Outcome::Failed(failed) => Some(&failed.message),
        }
    }

    /// Whether the API server admits the request. Without a verdict the hook's `failurePolicy` decides.
    pub fn is_admitted(&self) -> bool {
        match self.reply.as_ref().map(|reply| &reply.judged) {
            Err(_) | Ok(caller::Outcome::Allowed(_)) => true,
            Ok(caller::Outcome::Denied(_)) => false,
            Ok(caller::Outcome::Failed(failed)) => {
                failed.ignorable && self.pipeline.failure_policy() == FailurePolicy::Ignore
            }
        }
    }

    pub(super) fn judged(&self) -> Result<&caller::Outcome, String> {
        self.reply.as_ref().map(|reply| &reply.judged).map_err(|_| self.describe())
    }

    /// The body of the answer: a message if there was no verdict.
    pub(super) fn text(&self) -> &str {
        self.reply.as_ref().map_or("", |reply| &reply.text)
    }

    /// The law that [`Outcome::assert_applies`] asserts. It holds for every request that was not allowed.
    pub(super) fn standard(&self) -> Result<(), String> {
        let Ok(caller::Outcome::Allowed(allowed)) = self.judged() else { return Ok(()) };
        let leniency = allowed.leniency.as_ref();
        leniency.map_or(Ok(()), |why| Err(format!("the patch relies on the API server's leniency: {why}")))
    }

    /// The law that [`Outcome::assert_idempotent`] asserts. It holds for every request that was not allowed.
    pub(super) fn idempotence(&self) -> Result<(), String> {
        let Ok(caller::Outcome::Allowed(allowed)) = self.judged() else { return Ok(()) };
        let Some(object) = allowed.object.clone() else { return Ok(()) };
        let second = self.second_call(object)?;
        let change = match second.judged()? {
            caller::Outcome::Allowed(allowed) => match (second.review.object(), &allowed.object) {
                // A handwritten patch may write what is there.
                (Some(before), Some(after)) if before != after => {
                    format!("\n{}", diff::lines(before, after))
                }
                _ => return Ok(()),
            },
            _ => String::new(),
        };
        Err(format!("a second call changes it again: {}{change}", second.describe()))
    }

    /// The law that [`Outcome::assert_keeps_unknown_fields`] asserts. It holds for every request that was not allowed.
    pub(super) fn unknown_fields(&self) -> Result<(), String> {
        let Ok(caller::Outcome::Allowed(allowed)) = self.judged() else { return Ok(()) };
        let (Some(before), Some(after)) = (self.review.object(), &allowed.object) else { return Ok(()) };
        let call = |object: Value| {
            let second = self.second_call(object)?;
            match second.judged()? {
                caller::Outcome::Allowed(allowed) => Ok(allowed.object.clone().unwrap_or_default()),
                _ => Err(second.describe()),
            }
        };
        unknown_fields::check(before, after, call)
            .map_err(|why| format!("an unknown member does not stay: {why}"))
    }

    #[track_caller]
    fn law(&self, law: impl FnOnce(&Self) -> Result<(), String>) -> &Self {
        self.allowed();
        if let Err(why) = law(self) {
            panic!("hook `{}`: {why}", self.pipeline.hook_name());
        }
        self
    }

    fn second_call(&self, object: Value) -> Result<Self, String> {
        let review = self.review.with_object(object).map_err(|error| error.to_string())?;
        let reply = Ok(self.pipeline.run_blocking(&review));
        Ok(Self { pipeline: self.pipeline.clone(), review, reply })
    }

    /// The warnings and the audit annotations that came with the verdict.
    #[track_caller]
    fn verdict(&self) -> (&caller::Warnings, &caller::AuditAnnotations) {
        match &self.reply().judged {
            caller::Outcome::Allowed(allowed) => (&allowed.warnings, &allowed.audit_annotations),
            caller::Outcome::Denied(denied) => (&denied.warnings, &denied.audit_annotations),
            caller::Outcome::Failed(_) => self.fail("a verdict", ""),
        }
    }

    #[track_caller]
    fn allowed(&self) -> &caller::Allowed {
        match &self.reply().judged {
            caller::Outcome::Allowed(allowed) => allowed,
            _ => self.fail("the request to go on", ""),
        }
    }

    #[track_caller]
    fn denied(&self) -> &Denied {
        match &self.reply().judged {
            caller::Outcome::Denied(denied) => denied,
            _ => self.fail("a denial", ""),
        }
    }

    #[track_caller]
    fn failed(&self) -> &caller::Failed {
        match &self.reply().judged {
            caller::Outcome::Failed(failed) => failed,
            _ => self.fail("a fault", ""),
        }
    }

    #[track_caller]
    fn reply(&self) -> &Reply {
        match &self.reply {
            Ok(reply) => reply,
            Err(_) => self.fail("the hook to be called", ""),
        }
    }

    fn describe(&self) -> String {
        let reply = match &self.reply {
            Ok(reply) => reply,
            Err(why) => return format!("kube-apiserver does not call it: {why}"),
        };
        match &reply.judged {
            caller::Outcome::Allowed(allowed) => match allowed.patch.as_ref().and_then(Value::as_array) {
                None => "it was allowed as it is".to_owned(),
                Some(patch) if patch.len() == 1 => "it was allowed, changed by one operation".to_owned(),
                Some(patch) => format!("it was allowed, changed by {} operations", patch.len()),
            },
            caller::Outcome::Denied(Denied { code, reason, message, .. }) => {
                format!("it was denied with {code} {reason}: {message}")
            }
            caller::Outcome::Failed(failed) if reply.status != 200 => {
                format!("there was no verdict, HTTP {}: {}", reply.status, reply.text)
            }
            caller::Outcome::Failed(failed) => {
                format!("kube-apiserver cannot use the answer: {}", failed.message)
            }
        }
    }

    #[track_caller]
    fn require(&self, holds: bool, expected: impl Display, more: impl Display) -> &Self {
        if !holds {
            self.fail(expected, more);
        }
        self
    }

    #[track_caller]
    fn fail(&self, expected: impl Display, more: impl Display) -> ! {
        let hook = self.pipeline.hook_name();
        panic!("hook `{hook}`: expected {expected}, but {}{more}", self.describe());
    }
}
