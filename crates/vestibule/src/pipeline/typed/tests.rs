use std::collections::HashMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule_admission::{Decision, Hook};

use super::*;
use crate::handler::raw_object::RawObject;
use crate::handler::reject::{Reject, deny, too_many_requests};
use crate::registration::on::{on, on_rules};
use crate::tests::{ALL, call, patch_of, pod, response, review, typed};

fn mutating<H: Mutate<Pod>>(handler: H) -> Hook {
    Hook::mutating("m", Mutating(typed(&on::<Pod>([Operation::Create, Operation::Update]), handler)))
}

fn validating<H: Validate<Pod>>(handler: H) -> Hook {
    let on = on::<Pod>([Operation::Create, Operation::Update, Operation::Delete]);
    Hook::validating("v", Validating(typed(&on, handler)))
}

async fn add_target(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    for container in &mut pod.spec.get_or_insert_default().containers {
        let target = EnvVar { name: "TARGET".to_owned(), value: Some("x".to_owned()), ..EnvVar::default() };
        container.env.get_or_insert_default().push(target);
    }
    Ok(pod)
}

#[tokio::test]
async fn the_patch_holds_the_changes_of_the_handler_and_no_others() {
    let answer = call(mutating(add_target), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Mutated(2));
    let patch = patch_of(&answer);
    assert_eq!(
        patch,
        json!([
            {"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "TARGET", "value": "x"}]},
            {"op": "add", "path": "/spec/containers/1/env", "value": [{"name": "TARGET", "value": "x"}]},
        ])
    );
}

#[tokio::test]
async fn a_prepended_container_is_one_operation_and_keeps_the_unknown_fields_of_others() {
    let prepend = async |mut pod: Pod, _: Context| {
        let first = Container { name: "first".to_owned(), ..Container::default() };
        pod.spec.get_or_insert_default().containers.insert(0, first);
        Ok(pod)
    };
    let handler = move |pod, context| prepend(pod, context);
    let answer = call(mutating(handler), &review("CREATE", |_| {})).await;
    assert_eq!(
        patch_of(&answer),
        json!([{"op": "add", "path": "/spec/containers/0", "value": {"name": "first"}}])
    );
}

#[tokio::test]
async fn a_handler_that_changes_nothing_sends_no_patch() {
    let answer = call(mutating(async |pod: Pod, _: Context| Ok(pod)), &review("UPDATE", |_| {})).await;
    assert_eq!(response(&answer), json!({"uid": "u", "allowed": true}));
}

#[tokio::test]
async fn a_type_that_writes_its_members_in_any_order_is_no_fault() {
    let handler = async |mut object: HashMap<String, Value>, _: Context| {
        object.extend((0..20).map(|n| (format!("x{n}"), json!(n))));
        Ok(object)
    };
    let on = on_rules::<HashMap<String, Value>>([Rule::new("v1", "pods", [Operation::Create])]);
    let hook = Hook::mutating("m", Mutating(typed(&on, handler)));
    assert_eq!(call(hook, &review("CREATE", |_| {})).await.decision, Decision::Mutated(20));
}

#[tokio::test]
async fn an_undecodable_object_is_a_fault_that_repeats_no_value() {
    let body = review("CREATE", |request| request["object"]["spec"]["containers"] = json!("s3cret"));
    let answer = call(mutating(add_target), &body).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.starts_with("cannot decode the object as Pod: line 1 column"), "{text}");
    assert!(!text.contains("s3cret"));
}

/// As docs/reference/limits.md has it.
#[tokio::test]
async fn an_object_is_decoded_down_to_127_levels() {
    let keep = async |object: HashMap<String, Value>, _: Context| Ok(object);
    for (levels, decision) in [(127, Decision::Allowed), (128, Decision::Fault(FaultKind::Undecodable))] {
        // The object itself is one of them.
        let deep = format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let body = review("CREATE", |request| request["object"] = json!({"deep": "HERE"}));
        let body = String::from_utf8(body).unwrap().replace(r#""HERE""#, &deep).into_bytes();
        let on = on_rules::<HashMap<String, Value>>([Rule::new("v1", "pods", [Operation::Create])]);
        let hook = Hook::mutating("m", Mutating(typed(&on, keep)));
        assert_eq!(call(hook, &body).await.decision, decision, "{levels}");
    }
}

#[tokio::test]
async fn a_mutator_allows_unregistered_subresources_and_operations() {
    let never = async |_: Pod, _: Context| -> Result<Pod, Reject> { panic!("called") };
    for body in [
        review("UPDATE", |request| request["subResource"] = json!("status")),
        review("DELETE", |request| request["object"] = Value::Null),
    ] {
        assert_eq!(call(mutating(never), &body).await.decision, Decision::Allowed);
    }
}

/// Regression: with a configuration that was widened by hand, a validator admitted all of these.
#[tokio::test]
async fn an_unregistered_request_is_a_fault_of_a_validator() {
    let never = async |_: Change<Pod>, _: Context| -> Result<(), Reject> { panic!("called") };
    for (body, about) in [
        (review("CREATE", |request| request["subResource"] = json!("status")), "CREATE of v1 pods/status"),
        (review("CONNECT", |request| request["subResource"] = json!("exec")), "CONNECT of v1 pods/exec"),
        (review("CONNECT", |_| {}), "CONNECT of v1 pods"),
    ] {
        let answer = call(validating(never), &body).await;
        assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable), "{about}");
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.starts_with(about) && text.contains("not what this hook is for"), "{text}");
    }
}

#[tokio::test]
async fn handlers_need_no_annotations() {
    // Closures and functions with each kind of result; the type of the error is inferred too.
    let maybe = async |_: Pod, _: Context| Ok(None);
    let always = async |pod: Pod, _: Context| Ok(pod);
    let asking = async |pod: Pod, context: Context| {
        context.uid().parse::<u64>()?;
        Ok(Some(pod))
    };
    assert_eq!(call(mutating(maybe), &review("CREATE", |_| {})).await.decision, Decision::Allowed);
    assert_eq!(call(mutating(always), &review("CREATE", |_| {})).await.decision, Decision::Allowed);
    let answer = call(mutating(asking), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
    let refuse = async |_: Change<Pod>, _: Context| Err(deny("no"));
    assert_eq!(call(validating(refuse), &review("CREATE", |_| {})).await.decision, Decision::Denied(403));
}

#[tokio::test]
async fn on_rules_takes_any_type_for_any_resource() {
    let everything = || [Rule::new("*/*", "*", ALL)];
    let hook = |handler| Hook::mutating("m", Mutating(typed(&on_rules::<RawObject>(everything()), handler)));
    let patch = |object: RawObject, _: Context| async move {
        let number = object.view().pointer(&"/spec/containers/0/x-item".parse()?);
        assert_eq!(
            number.map(|number| number.to_json().into_owned()).as_deref(),
            Some("1.8446744073709552e+19")
        );
        Ok(Mutation::Patch(serde_json::from_str(r#"[{"op":"add","path":"/spec/x","value":1.0}]"#)?))
    };
    let widget = |request: &mut Value| {
        request["resource"] = json!({"group": "example.com", "version": "v3", "resource": "widgets"});
        request["kind"] = json!({"group": "example.com", "version": "v3", "kind": "Widget"});
    };
    let answer = call(hook(patch), &review("CREATE", widget)).await;
    assert_eq!(patch_of(&answer), json!([{"op": "add", "path": "/spec/x", "value": 1.0}]));
    let status = |request: &mut Value| request["subResource"] = json!("status");
    assert_eq!(call(hook(patch), &review("UPDATE", status)).await.decision, Decision::Allowed);
}

#[tokio::test]
async fn a_handler_of_bytes_gets_the_object_of_the_context() {
    let mutate = async |object: RawObject, context: Context| {
        assert!(std::ptr::eq(object.as_str(), context.raw().unwrap().as_str()));
        Ok::<_, Reject>(object)
    };
    let hook =
        Hook::mutating("m", Mutating(typed(&on_rules::<RawObject>([Rule::new("*/*", "*", ALL)]), mutate)));
    assert_eq!(call(hook, &review("CREATE", |_| {})).await.decision, Decision::Allowed);
    let validate = async |change: Change<RawObject>, context: Context| {
        let Change::Update { old, new } = change else { panic!("an update") };
        assert!(std::ptr::eq(old.as_str(), context.old_raw().unwrap().as_str()));
        assert!(std::ptr::eq(new.as_str(), context.raw().unwrap().as_str()));
        Ok::<(), Reject>(())
    };
    let hook = Hook::validating(
        "v",
        Validating(typed(&on_rules::<RawObject>([Rule::new("*/*", "*", ALL)]), validate)),
    );
    let update = |request: &mut Value| request["oldObject"] = request["object"].clone();
    assert_eq!(call(hook, &review("UPDATE", update)).await.decision, Decision::Allowed);
}

#[tokio::test]
async fn another_resource_is_a_fault() {
    let body = review("CREATE", |request| request["resource"]["resource"] = json!("services"));
    let answer = call(mutating(add_target), &body).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
}

#[tokio::test]
async fn warnings_are_sent_with_denials_and_faults_are_not_denials() {
    let refuse = async |_: Pod, context: Context| -> Result<Pod, Reject> {
        context.warn("look");
        context.audit("rule", "one");
        Err(deny("no such class").field("spec.volumes[0]", "unknown class"))
    };
    let answer = call(mutating(refuse), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Denied(403));
    let response = response(&answer);
    assert_eq!(response["status"]["details"]["causes"][0]["field"], "spec.volumes[0]");
    assert_eq!(
        (&response["warnings"], &response["auditAnnotations"]),
        (&json!(["look"]), &json!({"rule": "one"}))
    );

    let fail = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err("x".parse::<u8>().unwrap_err())? };
    let answer = call(mutating(fail), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
    assert_eq!(answer.body, b"invalid digit found in string");
}

#[tokio::test]
async fn a_handler_can_answer_429_or_503() {
    let later = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err(too_many_requests(7, "counting")) };
    let answer = call(mutating(later), &review("CREATE", |_| {})).await;
    let status = &response(&answer)["status"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(429), &json!("TooManyRequests")));
    assert_eq!(status["details"]["retryAfterSeconds"], 7);

    let unready = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err(Reject::not_ready("claims")) };
    let answer = call(mutating(unready), &review("CREATE", |_| {})).await;
    assert_eq!((answer.status, answer.retry_after_seconds), (503, Some(1)));
    assert_eq!(answer.body, b"not ready: claims");
}

#[tokio::test]
async fn the_context_has_the_members_of_a_create_request() {
    let check = async |pod: Pod, context: Context| -> Result<Pod, Reject> {
        assert_eq!((context.uid(), context.operation()), ("u", Operation::Create));
        assert_eq!((context.name(), context.generate_name()), (None, Some("web-")));
        assert_eq!(context.namespace(), Some("shop"));
        assert_eq!(context.user().groups, ["staff"]);
        assert_eq!(context.user().extra["team"], ["a", "b"]);
        assert_eq!(context.request_kind(), ("apps", "v1beta1", "Pod"));
        assert_eq!(
            (context.resource(), context.request_resource()),
            (("", "v1", "pods"), ("", "v1", "pods"))
        );
        let options = context.options().map(RawObject::as_str);
        assert_eq!(options, Some(r#"{"dryRun":["All"],"kind":"CreateOptions"}"#));
        assert!(
            context.raw().is_some_and(|raw| raw.as_str().contains("x-item")) && context.old_raw().is_none()
        );
        assert_eq!(context.raw().unwrap().decode::<Pod>()?, pod);
        assert_eq!(context.kind(), ("", "v1", "Pod"));
        assert!(context.remaining() <= Duration::from_secs(5) && context.deadline() > Instant::now());
        assert_eq!((context.subresource(), &*context.user().username), (None, "alice"));
        assert!(!context.dry_run());
        Ok(pod)
    };
    let body = review("CREATE", |request| {
        request["requestKind"] = json!({"group": "apps", "version": "v1beta1", "kind": "Pod"});
        request["options"] = json!({"kind": "CreateOptions", "dryRun": ["All"]});
        request["userInfo"]["extra"] = json!({"team": ["a", "b"]});
    });
    assert_eq!(call(mutating(check), &body).await.decision, Decision::Allowed);
}

#[tokio::test]
async fn the_context_has_the_members_of_an_update_request() {
    let check = async |pod: Pod, context: Context| -> Result<Pod, Reject> {
        assert_eq!(
            (context.operation(), context.subresource()),
            (Operation::Update, Some("ephemeralcontainers"))
        );
        assert_eq!((context.name(), context.dry_run()), (Some("web-1"), true));
        assert_eq!(context.old_raw().unwrap().decode::<Value>()?["metadata"]["x-meta"], json!(["old"]));
        Ok(pod)
    };
    let on = on::<Pod>([Operation::Update]).subresource("ephemeralcontainers");
    let body = review("UPDATE", |request| {
        request["subResource"] = json!("ephemeralcontainers");
        request["name"] = json!("web-1");
        request["dryRun"] = json!(true);
        request["oldObject"] = pod();
        request["oldObject"]["metadata"]["x-meta"] = json!(["old"]);
    });
    let answer = call(Hook::mutating("m", Mutating(typed(&on, check))), &body).await;
    assert_eq!(answer.decision, Decision::Allowed);
}

#[tokio::test]
async fn a_validator_gets_the_options_of_connect() {
    #[derive(serde::Deserialize)]
    struct Exec {
        command: Vec<String>,
    }
    let guard = async |change: Change<Exec>, _: Context| match change {
        Change::Connect { options } if options.command == ["id"] => Err(deny("not that")),
        _ => Ok(()),
    };
    let on = on_rules::<Exec>([Rule::new("v1", "pods/exec", [Operation::Connect])]);
    let stream = |command: &str| {
        review("CONNECT", |request| {
            request["subResource"] = json!("exec");
            request["object"] = json!({"kind": "PodExecOptions", "apiVersion": "v1", "command": [command]});
        })
    };
    for (command, decision) in [("id", Decision::Denied(403)), ("ls", Decision::Allowed)] {
        let hook = Hook::validating("v", Validating(typed(&on, guard)));
        assert_eq!(call(hook, &stream(command)).await.decision, decision);
    }
}

#[tokio::test]
async fn a_mutator_changes_the_options_of_connect() {
    #[derive(serde::Deserialize, serde::Serialize)]
    struct Exec {
        container: String,
    }
    let to_debug = async |mut options: Exec, _: Context| {
        options.container = "debug".to_owned();
        Ok(options)
    };
    let on = on_rules::<Exec>([Rule::new("v1", "pods/exec", [Operation::Connect])]);
    let body = review("CONNECT", |request| {
        request["kind"]["kind"] = json!("PodExecOptions");
        request["subResource"] = json!("exec");
        request["object"] = json!({
            "kind": "PodExecOptions", "apiVersion": "v1", "stdin": true, "container": "app", "command": ["id"],
        });
    });
    let answer = call(Hook::mutating("m", Mutating(typed(&on, to_debug))), &body).await;
    assert_eq!(answer.decision, Decision::Mutated(1));
    assert_eq!(patch_of(&answer), json!([{"op": "replace", "path": "/container", "value": "debug"}]));
}

#[tokio::test]
async fn a_validator_sees_the_change() {
    let guard = async |change: Change<Pod>, _: Context| match change {
        Change::Create { .. } => Ok(()),
        Change::Update { old, new } if old == new => Ok(()),
        Change::Delete { old } if old.metadata.generate_name.is_some() => Err(deny("kept")),
        _ => Err(deny("other")),
    };
    let with_old = |request: &mut Value| request["oldObject"] = pod();
    assert_eq!(call(validating(guard), &review("CREATE", |_| {})).await.decision, Decision::Allowed);
    assert_eq!(call(validating(guard), &review("UPDATE", with_old)).await.decision, Decision::Allowed);
    let deleted = review("DELETE", |request| {
        with_old(request);
        request["object"] = Value::Null;
    });
    assert_eq!(response(&call(validating(guard), &deleted).await)["status"]["message"], "kept");
    let answer = call(validating(guard), &review("UPDATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
}

/// Regression: a hook that sets a label failed with "nested deeper than 128 levels" for a field that its type does not know.
#[tokio::test]
async fn managed_fields_are_left_out_of_the_object_to_change_and_stay_where_they_are() {
    let fields = json!([{"manager": "m", "fieldsV1": {"f:spec": {}}}]);
    let body = review("CREATE", |request| request["object"]["metadata"]["managedFields"] = fields.clone());
    let typed = async |mut pod: Pod, context: Context| {
        let received = context.raw().unwrap().view().pointer(&"/metadata/managedFields".parse()?);
        assert!(received.is_some_and(|fields| !fields.items().is_empty()));
        pod.metadata.annotations =
            Some([("fields".to_owned(), format!("{:?}", pod.metadata.managed_fields))].into());
        Ok(pod)
    };
    let answer = call(mutating(typed), &body).await;
    assert_eq!(
        patch_of(&answer),
        json!([{"op": "add", "path": "/metadata/annotations", "value": {"fields": "None"}}])
    );

    // A handler that drops the member, as one that removes all nulls does, drops none of them; nor does one that empties it.
    let changes: [fn(&mut Value); 3] = [
        |metadata| drop(metadata.as_object_mut().unwrap().remove("managedFields")),
        // This adds `null`.
        |metadata| drop(metadata["managedFields"].take()),
        |metadata| metadata["managedFields"] = json!([]),
    ];
    for change in changes {
        let drops = move |mut pod: Value, _: Context| async move {
            change(&mut pod["metadata"]);
            Ok(pod)
        };
        let on = on_rules::<Value>([Rule::new("v1", "pods", [Operation::Create])]);
        let hook = Hook::mutating("m", Mutating(self::typed(&on, drops)));
        assert_eq!(call(hook, &body).await.decision, Decision::Allowed);
    }

    // A handler that reads bytes gets all of them.
    let raw = async |object: RawObject, _: Context| {
        assert!(object.as_str().contains("managedFields"));
        Ok(object)
    };
    let on = on_rules::<RawObject>([Rule::new("v1", "pods", [Operation::Create])]);
    let hook = Hook::mutating("m", Mutating(self::typed(&on, raw)));
    assert_eq!(call(hook, &body).await.decision, Decision::Allowed);
}

#[tokio::test]
async fn an_object_that_does_not_fit_the_type_is_described_by_its_place_in_the_received_text() {
    let body = review("CREATE", |request| {
        request["object"]["metadata"]["managedFields"] = json!([{"manager": "a".repeat(1000)}]);
        request["object"]["spec"]["containers"] = json!("no list");
    });
    let answer = call(mutating(add_target), &body).await;
    let text = String::from_utf8(answer.body).unwrap();
    let column: usize = text.split("column ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(column > 1000, "{text}");
}

/// kube-apiserver takes 10,000 levels, and repeats them in `managedFields`.
#[tokio::test]
async fn unknown_members_may_nest_as_deep_as_an_api_server_takes_them() {
    let label = async |mut pod: Pod, _: Context| -> Result<Pod, Reject> {
        pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
        Ok(pod)
    };
    for levels in [126, 500, 9_990] {
        let deep = format!("{}1{}", r#"{"f:a":"#.repeat(levels), "}".repeat(levels));
        let body = review("CREATE", |request| {
            request["object"]["spec"]["x-deep"] = json!("DEEP");
            request["object"]["metadata"]["managedFields"] = json!([{"manager": "m", "fieldsV1": "DEEP"}]);
        });
        let body = String::from_utf8(body).unwrap().replace(r#""DEEP""#, &deep);
        let answer = call(mutating(label), body.as_bytes()).await;
        assert_eq!(answer.decision, Decision::Mutated(1), "{levels}");
        let expected = json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "true"}}]);
        assert_eq!(patch_of(&answer), expected);
        let answer = call(validating(async |_: Change<Pod>, _: Context| Ok(())), body.as_bytes()).await;
        assert_eq!(answer.decision, Decision::Allowed, "{levels}");
    }
}

/// An operation on a deep member opens each level above it.
#[tokio::test]
async fn a_patch_may_reach_as_deep_as_an_api_server_takes_it() {
    for levels in [500, 9_990] {
        let body = review("CREATE", |request| request["object"]["spec"]["x-deep"] = json!("DEEP"));
        let deep = format!("{}{{}}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let body = String::from_utf8(body).unwrap().replace(r#""DEEP""#, &deep);
        let path: vestibule_patch::Pointer =
            format!("/spec/x-deep{}/b", "/a".repeat(levels)).parse().unwrap();
        let value: Arc<RawValue> = RawValue::from_string("1".to_owned()).unwrap().into();
        let patch = move |_: RawObject, _: Context| {
            let add = vestibule_patch::Operation::Add { path: path.clone(), value: Arc::clone(&value) };
            async { Ok::<Mutation<RawObject>, Reject>(Mutation::Patch(vec![add])) }
        };
        let on = on_rules::<RawObject>([Rule::new("v1", "pods", [Operation::Create])]);
        let answer = call(Hook::mutating("m", Mutating(typed(&on, patch))), body.as_bytes()).await;
        assert_eq!(answer.decision, Decision::Mutated(1), "{levels}");
    }
}
