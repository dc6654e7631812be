//! The change that every mutating server makes, and the check that they all make it.

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::review::{Review, UID};

/// The annotation by which the injector records its changes; the other servers have none.
const STATUS: &str = "vestibule.dev/injected";

/// The name of the sidecar and the volume of this number.
pub fn name(number: usize) -> String {
    if number == 0 { "agent".to_owned() } else { format!("agent-{number:03}") }
}

/// The object as it should be stored: this many sidecars as last containers, volumes and annotations.
///
/// # Errors
/// The object has no list of containers or volumes.
pub fn changed(object: &Value, sidecars: usize) -> anyhow::Result<Value> {
    let mut object = object.clone();
    let pod = match object["kind"].as_str() {
        Some("Pod") => &mut object,
        _ => &mut object["spec"]["template"],
    };
    for number in 0..sidecars {
        let name = name(number);
        let mount = json!({"name": name, "mountPath": "/agent"});
        let (image, args) = ("registry.example.com/agent:1.4", ["--listen=:15000"]);
        let sidecar = json!({"name": name, "image": image, "args": args, "volumeMounts": [mount]});
        let spec = &mut pod["spec"];
        spec["containers"].as_array_mut().context("no containers")?.push(sidecar);
        let volume = json!({"name": name, "emptyDir": {}});
        spec["volumes"].as_array_mut().context("no volumes")?.push(volume);
        pod["metadata"]["annotations"][format!("bench.example.com/{name}")] = json!("1.4");
    }
    Ok(object)
}

/// The content of an answer.
pub struct Verdict {
    /// Whether the request goes on.
    pub allowed: bool,
    /// The object with the patch applied.
    pub object: Value,
    /// The message of a denial.
    pub message: String,
}

/// Reads an answer and applies its patch to the object of the review.
///
/// # Errors
/// The answer is none for this review, or its patch does not apply.
pub fn read(review: &Review, body: &[u8]) -> anyhow::Result<Verdict> {
    let answer: Value = serde_json::from_slice(body).context("the answer is no JSON")?;
    let response = &answer["response"];
    if response["uid"] != UID {
        bail!("the answer has the uid {}", response["uid"]);
    }
    let mut object = review.object.clone();
    if let Some(patch) = patch(&response["patch"])? {
        let patch: json_patch::Patch = serde_json::from_slice(&patch).context("the patch")?;
        json_patch::patch(&mut object, &patch).context("the patch does not apply")?;
    }
    let message = response["status"]["message"].as_str().unwrap_or_default().to_owned();
    Ok(Verdict { allowed: response["allowed"] == true, object, message })
}

/// The patch in base64, or as kube-rs writes it, an array of bytes, which Go reads as well.
fn patch(patch: &Value) -> anyhow::Result<Option<Vec<u8>>> {
    match patch {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(STANDARD.decode(text).context("the patch is no base64")?)),
        Value::Array(bytes) => {
            let byte = |byte: &Value| byte.as_u64().and_then(|byte| u8::try_from(byte).ok());
            Ok(Some(bytes.iter().map(byte).collect::<Option<_>>().context("the bytes of the patch")?))
        }
        other => bail!("the patch is {other}"),
    }
}

/// Whether the objects are equal to a reader of Kubernetes: members that are null or empty are as good as absent, and the annotation
/// of the injector does not count.
///
/// # Errors
/// They differ; the text names the first difference.
pub fn compare(expected: &Value, found: &Value) -> anyhow::Result<()> {
    let [expected, found] = [expected, found].map(|object| plain(object).unwrap_or_default());
    if expected == found {
        return Ok(());
    }
    let difference = json_patch::diff(&expected, &found);
    let first = difference.first().map(ToString::to_string).unwrap_or_default();
    let first: String = first.chars().take(300).collect();
    bail!("the object differs in {} places; the first: {first}", difference.len())
}

/// The value without empty members; `None` if nothing is left.
fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != STATUS);
            let members: serde_json::Map<_, _> =
                kept.filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        // The position of an item has a meaning.
        Value::Array(items) => {
            Some(Value::Array(items.iter().map(|item| plain(item).unwrap_or_default()).collect()))
        }
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{SMALL, Shape};

    #[test]
    fn empty_members_and_the_status_make_no_difference() {
        let one = json!({"spec": {"resources": {}, "list": [{"a": 1}], "nothing": null}});
        let mut other = json!({"spec": {"list": [{"a": 1, "b": {}}]}, "annotations": {STATUS: "x"}});
        compare(&one, &other).unwrap();
        other["spec"]["list"] = json!([{"a": 2}]);
        let difference = compare(&one, &other).unwrap_err().to_string();
        assert!(difference.contains("1 places") && difference.contains("/spec/list/0/a"), "{difference}");
    }

    #[test]
    fn answers_are_applied_in_both_encodings_of_the_patch() {
        let review = Review::new(SMALL).unwrap();
        let patch = r#"[{"op":"add","path":"/metadata/labels/seen","value":"yes"}]"#;
        for encoded in [json!(STANDARD.encode(patch)), json!(patch.as_bytes())] {
            let answer = json!({"response": {"uid": UID, "allowed": true, "patch": encoded}});
            let verdict = read(&review, answer.to_string().as_bytes()).unwrap();
            assert!(verdict.allowed);
            assert_eq!(verdict.object["metadata"]["labels"]["seen"], "yes");
        }
        let other = json!({"response": {"uid": "other", "allowed": true}});
        assert!(read(&review, other.to_string().as_bytes()).is_err());
    }

    #[test]
    fn a_deployment_is_changed_in_its_template() {
        let deployment = Review::new(Shape::Deployment).unwrap().object;
        let changed = changed(&deployment, 1).unwrap();
        let containers = changed["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        assert_eq!((containers.len(), containers[3]["name"].as_str()), (4, Some("agent")));
        assert!(compare(&deployment, &changed).is_err());
    }
}
