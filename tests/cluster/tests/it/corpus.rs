//! The recorded reviews of `tests/corpus`, without a server: each is read, decided and answered, and the answer is
//! checked as the API server would check it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use vestibule::Operation;
use vestibule::admission::{Denial, Fault, FaultKind, Handler, HandlerFuture, Request, Verdict};
use vestibule::patch::{Operation as Step, Pointer};
use vestibule_admission::{Hook, Review, ReviewKind, Version};
use vestibule_caller::{self as caller, Answer, ApiResource, Outcome, ReviewVersion, judge};

/// A file of the corpus.
struct Recorded {
    file: String,
    body: Vec<u8>,
}

#[test]
fn every_recorded_review_is_read() {
    let corpus = Recorded::all();
    assert!(corpus.len() >= 30, "only {} reviews were found", corpus.len());
    let mut seen = BTreeSet::new();
    for recorded in &corpus {
        let Review { version, request, .. } = recorded.review();
        let object = request.object.is_some() || request.old_object.is_some();
        assert!(object && !request.uid.is_empty() && !request.user.username.is_empty(), "{}", recorded.file);
        seen.insert(request.operation.as_str());
        seen.insert(ReviewKind::Admission.api_version(version));
        seen.extend(request.dry_run.then_some("dry run"));
        seen.extend(request.subresource.is_some().then_some("subresource"));
        seen.extend(request.namespace.is_none().then_some("cluster-scoped"));
        seen.extend(request.name.is_none().then_some("no name yet"));
        seen.extend(request.generate_name().is_some().then_some("generateName"));
    }
    let expected = [
        "CREATE",
        "UPDATE",
        "DELETE",
        "CONNECT",
        "admission.k8s.io/v1",
        "admission.k8s.io/v1beta1",
        "dry run",
        "subresource",
        "cluster-scoped",
        "no name yet",
        "generateName",
    ];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[tokio::test]
async fn an_answer_without_a_change_is_accepted() {
    for recorded in Recorded::all() {
        for hook in [
            Hook::mutating("corpus", Always(Verdict::allowed)),
            Hook::validating("corpus", Always(Verdict::allowed)),
        ] {
            let Outcome::Allowed(allowed) = recorded.outcome(&hook).await else {
                panic!("{}", recorded.file)
            };
            assert!(allowed.patch.is_none(), "{}", recorded.file);
            assert_eq!(allowed.object, recorded.object(), "{}", recorded.file);
        }
    }
}

#[tokio::test]
async fn a_label_is_put_on_every_object_that_can_have_one() {
    let mut labelled = 0;
    for recorded in Recorded::all() {
        let Outcome::Allowed(allowed) = recorded.outcome(&Hook::mutating("corpus", Label)).await else {
            panic!("{}", recorded.file)
        };
        let mut expected = recorded.object();
        if allowed.patch.is_some() {
            expected.as_mut().unwrap()["metadata"]["labels"]["corpus"] = json!("seen");
            labelled += 1;
        }
        assert_eq!(allowed.object, expected, "{}", recorded.file);
    }
    assert!(labelled >= 25, "only {labelled} objects got a label");
}

#[tokio::test]
async fn a_denial_and_a_fault_are_different_outcomes() {
    for recorded in Recorded::all() {
        let denied =
            recorded.outcome(&Hook::validating("corpus", Always(|| Denial::new("not today").into()))).await;
        let Outcome::Denied(denied) = denied else { panic!("{}", recorded.file) };
        let message = r#"admission webhook "corpus" denied the request: not today"#;
        assert_eq!((denied.code, denied.message.as_str()), (403, message), "{}", recorded.file);
        let failed = recorded.outcome(&Hook::mutating("corpus", Always(fault))).await;
        let Outcome::Failed(failed) = failed else { panic!("{}", recorded.file) };
        assert!(failed.ignorable && failed.message.contains("out of order"), "{}", recorded.file);
    }
}

impl Recorded {
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let reviews = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let read = |path: &Path| Self {
            file: path.file_name().unwrap().to_string_lossy().into_owned(),
            body: fs::read(path).unwrap(),
        };
        reviews.map(|path| read(&path)).collect()
    }

    fn review(&self) -> Review<'_> {
        Review::parse(&self.body).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }

    fn object(&self) -> Option<Value> {
        self.review().request.object.map(|object| serde_json::from_str(object.get()).unwrap())
    }

    /// The result of the answer of `hook` in the API server.
    async fn outcome(&self, hook: &Hook) -> Outcome {
        let review = self.review();
        let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(1)).await;
        let answer = hook.answer(&review, verdict);
        let answer = Answer {
            status: answer.status,
            content_type: Some(answer.content_type.to_owned()),
            body: answer.body,
        };
        let asking = match hook.kind() {
            vestibule_admission::HookKind::Mutating => caller::Hook::mutating("corpus", "/corpus"),
            vestibule_admission::HookKind::Validating => caller::Hook::validating("corpus", "/corpus"),
        };
        judge(&self.asked(), &asking, &answer)
    }

    /// The fields of the review that are needed to check an answer.
    fn asked(&self) -> caller::Review {
        let Review { version, request, .. } = self.review();
        let old = request.old_object.map(|old| serde_json::from_str::<Value>(old.get()).unwrap());
        let (object, old) = (self.object().unwrap_or_default(), old.unwrap_or_default());
        let api_version = match (&*request.resource.group, &*request.resource.version) {
            ("", version) => version.to_owned(),
            (group, version) => format!("{group}/{version}"),
        };
        let (kind, plural) = (&*request.kind.kind, &*request.resource.resource);
        let resource = match request.namespace {
            Some(_) if plural != "namespaces" => ApiResource::namespaced(&api_version, kind, plural),
            _ => ApiResource::cluster_scoped(&api_version, kind, plural),
        };
        let review = match request.operation {
            Operation::Create => caller::Review::create(object),
            Operation::Update => caller::Review::update(old, object),
            Operation::Delete => caller::Review::delete(old),
            Operation::Connect => {
                let name = request.name.as_deref().unwrap_or_default();
                let stream = request.subresource.as_deref().unwrap_or_default();
                caller::Review::connect(object, resource.clone(), name, stream)
            }
        };
        let version = match version {
            Version::V1 => ReviewVersion::V1,
            Version::V1beta1 => ReviewVersion::V1Beta1,
        };
        let review = review.resource(resource).version(version).uid(&request.uid);
        review.namespace(request.namespace.as_deref().unwrap_or_default()).build().unwrap()
    }
}

/// Returns the same verdict for every request.
struct Always(fn() -> Verdict);

impl Handler for Always {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        Box::pin(async { self.0() })
    }
}

fn fault() -> Verdict {
    Fault::new(FaultKind::Error, "the corpus is out of order").into()
}

/// Puts a label on every object that has metadata and may be changed, and adds `labels` if it is missing.
struct Label;

impl Handler for Label {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let object = request.object.map(|object| serde_json::from_str(object.get()).unwrap());
        let step = object.filter(|object: &Value| object["metadata"].is_object()).map(|object| {
            let labels = Pointer::root().child("metadata").child("labels");
            let (path, value) = match object["metadata"]["labels"].is_object() {
                true => (labels.child("corpus"), json!("seen")),
                false => (labels, json!({ "corpus": "seen" })),
            };
            Step::Add { path, value: to_raw_value(&value).unwrap().into() }
        });
        Box::pin(async { Verdict::mutated(step.into_iter().collect::<Vec<_>>()) })
    }
}
