//! Fields of the pod's specification and of existing containers.

use serde_json::json;

use vestibule_rules::RuleSet;

use crate::kit::{decide, pod, result, rule, rules, steps, word};

/// The operations of a rule with these lines on a pod of the specification `spec`.
fn done(lines: &str, spec: &str) -> Vec<String> {
    let rules = rules(&rule("r", lines));
    let pod = pod(spec);
    result(&rules, &pod);
    steps(&decide(&rules, &pod))
}

#[test]
fn members_of_the_specification() {
    let lines = "pod:\n  spec:\n    terminationGracePeriodSeconds: 60\n    nodeSelector: {disk: ssd, zone: a}\n    securityContext: {fsGroup: 1, supplementalGroups: [5, 6]}\n    tolerations: [{key: a, operator: Exists}]\n    hostAliases: [{ip: 1.1.1.1, hostnames: [x]}]";
    let empty = [
        r#"add /spec/terminationGracePeriodSeconds 60"#,
        r#"add /spec/nodeSelector {"disk":"ssd","zone":"a"}"#,
        r#"add /spec/securityContext {"fsGroup":1,"supplementalGroups":[5,6]}"#,
        r#"add /spec/tolerations [{"key":"a","operator":"Exists"}]"#,
        r#"add /spec/hostAliases [{"ip":"1.1.1.1","hostnames":["x"]}]"#,
    ];
    let mut made = done(lines, "{}");
    made.sort();
    let mut wanted = empty.to_vec();
    wanted.sort_unstable();
    assert_eq!(made, wanted);

    let theirs = r#"{"terminationGracePeriodSeconds":30,"nodeSelector":{"zone":"b"},"securityContext":{"fsGroup":9,"supplementalGroups":[6]},"tolerations":[{"key":"b"}],"hostAliases":[{"ip":"1.1.1.1","hostnames":["y"]}]}"#;
    let added = [
        r#"add /spec/nodeSelector/disk "ssd""#,
        r#"add /spec/securityContext/supplementalGroups/- 5"#,
        r#"add /spec/tolerations/- {"key":"a","operator":"Exists"}"#,
    ];
    assert_eq!(done(lines, theirs), added);

    let theirs_gone =
        done(&format!("onConflict: override\n{lines}").replace("hostnames: [x]", "hostnames: [y]"), theirs);
    let mut wanted = added.to_vec();
    wanted.extend([
        r#"replace /spec/terminationGracePeriodSeconds 60"#,
        r#"replace /spec/nodeSelector/zone "a""#,
        r#"replace /spec/securityContext/fsGroup 1"#,
    ]);
    for one in wanted {
        assert!(theirs_gone.iter().any(|step| step == one), "{one}: {theirs_gone:?}");
    }
}

#[test]
fn of_a_map_in_replace_the_members_of_the_rule_are_replaced() {
    let lines = "pod: {spec: {replace: [dnsConfig], dnsConfig: {options: [{name: ndots, value: '2'}]}}}";
    let theirs = r#"{"dnsConfig":{"nameservers":["10.0.0.1"],"options":[{"name":"timeout","value":"1"}]}}"#;
    assert_eq!(done(lines, theirs), [r#"replace /spec/dnsConfig/options [{"name":"ndots","value":"2"}]"#]);
}

#[test]
fn a_conflict_of_a_field_skips_or_denies() {
    for (policy, expected) in
        [("keep", "unchanged"), ("skipRule", "conflict"), ("deny", "denied"), ("override", "applied")]
    {
        let text = rule("r", &format!("onConflict: {policy}\npod: {{spec: {{hostname: ours}}}}"));
        let decision = decide(&rules(&text), &pod(r#"{"hostname":"theirs"}"#));
        assert_eq!(word(&decision), expected);
    }
}

#[test]
fn secrets_for_images_are_added_never_replaced() {
    let lines = "imagePullSecrets: [{name: ours}, {name: theirs}]";
    assert_eq!(
        done(lines, r#"{"imagePullSecrets":[{"name":"theirs"}]}"#),
        [r#"add /spec/imagePullSecrets/- {"name":"ours"}"#]
    );
    assert_eq!(done(lines, "{}"), [r#"add /spec/imagePullSecrets [{"name":"ours"},{"name":"theirs"}]"#]);
}

#[test]
fn absent_parents_are_added_once() {
    let lines = "containerPatches:\n- select: {all: true}\n  securityContext: {runAsNonRoot: true, capabilities: {drop: [ALL], add: [CHOWN]}, seccompProfile: {type: RuntimeDefault}}";
    let bare = r#"{"containers":[{"name":"app"}]}"#;
    let whole = r#"add /spec/containers/0/securityContext {"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"},"capabilities":{"drop":["ALL"],"add":["CHOWN"]}}"#;
    assert_eq!(done(lines, bare), [whole]);
    let rules = rules(&rule("r", lines));
    let decision = decide(&rules, &pod(bare));
    assert_eq!(&*decision.changes()[0].origin.clause, "containerPatches[0].securityContext");

    let some = r#"{"containers":[{"name":"app","securityContext":{"capabilities":{"drop":["ALL"]},"runAsNonRoot":false}}]}"#;
    assert_eq!(
        done(lines, some),
        [
            r#"add /spec/containers/0/securityContext/seccompProfile {"type":"RuntimeDefault"}"#,
            r#"add /spec/containers/0/securityContext/capabilities/add ["CHOWN"]"#,
        ]
    );
}

#[test]
fn a_probe_is_one_value_with_one_handler() {
    let lines = "containerPatches:\n- select: {all: true}\n  onConflict: POLICY\n  readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}";
    let bare = r#"{"containers":[{"name":"app"}]}"#;
    assert_eq!(
        done(&lines.replace("POLICY", "keep"), bare),
        [r#"add /spec/containers/0/readinessProbe {"httpGet":{"port":80},"periodSeconds":5}"#]
    );
    let theirs =
        r#"{"containers":[{"name":"app","readinessProbe":{"exec":{"command":["x"]},"failureThreshold":2}}]}"#;
    assert!(done(&lines.replace("POLICY", "keep"), theirs).is_empty());
    let ours = result(&rules(&rule("r", &lines.replace("POLICY", "override"))), &pod(theirs));
    let wanted = json!({"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2});
    assert_eq!(ours["spec"]["containers"][0]["readinessProbe"], wanted);
}

#[test]
fn a_list_that_is_one_value_can_be_overridden() {
    let lines = "containerPatches:\n- select: {all: true}\n  replace: [command, args, image]\n  command: [sh]\n  args: [-c, x]\n  image: ours\n  workingDir: /ours";
    let theirs = r#"{"containers":[{"name":"app","image":"theirs","command":["sh"],"args":["y"],"workingDir":"/theirs"}]}"#;
    assert_eq!(
        done(lines, theirs),
        [r#"replace /spec/containers/0/args ["-c","x"]"#, r#"replace /spec/containers/0/image "ours""#]
    );
    let nested =
        "pod: {spec: {replace: [dnsConfig, affinity], dnsConfig: {nameservers: [1.1.1.1], searches: [s]}}}";
    assert!(crate::kit::load(&rule("r", nested)).is_err());
    let nested = nested.replace(", affinity", "");
    assert_eq!(
        done(&nested, r#"{"dnsConfig":{"nameservers":["8.8.8.8"],"options":[{"name":"o"}]}}"#),
        [r#"replace /spec/dnsConfig/nameservers ["1.1.1.1"]"#, r#"add /spec/dnsConfig/searches ["s"]"#]
    );
}

#[test]
fn block_devices() {
    let lines = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\ncontainerPatches:\n- select: {all: true}\n  volumeDevices: [{name: v, devicePath: /dev/x}]";
    let made = result(&rules(&rule("r", lines)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert_eq!(
        made["spec"]["containers"][0]["volumeDevices"],
        json!([{"name": "v", "devicePath": "/dev/x"}])
    );
}

#[test]
fn the_later_of_two_rules_that_override_a_field_wins() {
    let one = |name: &str, value: i32| {
        rule(
            name,
            &format!(
                "onConflict: override\npod: {{spec: {{securityContext: {{runAsUser: {value}, runAsGroup: 7}}}}}}"
            ),
        )
    };
    let both = rules(&(one("a", 1) + &one("b", 2)));
    for spec in ["{}", r#"{"securityContext":{"runAsUser":5}}"#] {
        assert_eq!(
            result(&both, &pod(spec))["spec"]["securityContext"],
            json!({"runAsUser": 2, "runAsGroup": 7})
        );
    }
}

/// The state in which the API server's own admission leaves a pod without a class. It refuses another class with the
/// values that it wrote.
#[test]
fn fields_derived_from_a_class_are_removed_with_it() {
    let override_class = |name: &str, more: &str| {
        let spec = format!(r#"{{"containers":[],"runtimeClassName":"{name}","overhead":{{"cpu":"1"}}}}"#);
        done(&format!("onConflict: override\npod: {{spec: {{runtimeClassName: b{more}}}}}"), &spec)
    };
    let class = "replace /spec/runtimeClassName \"b\"";
    assert_eq!(override_class("a", ""), [class, "remove /spec/overhead"]);
    assert!(override_class("b", "").is_empty());
    // The overhead of the rule was removed.
    assert_eq!(override_class("a", ", overhead: {cpu: 2}"), [class, "replace /spec/overhead/cpu \"2\""]);
    let rules = rules(&rule("r", "pod: {spec: {priorityClassName: high}}"));
    let plain = pod(r#"{"containers":[],"priority":0,"preemptionPolicy":"PreemptLowerPriority"}"#);
    let path = |step: &String| step.split(' ').take(2).collect::<Vec<_>>().join(" ");
    result(&rules, &plain);
    let made: Vec<String> = steps(&decide(&rules, &plain)).iter().map(path).collect();
    assert_eq!(
        made,
        ["add /spec/priorityClassName", "remove /spec/priority", "remove /spec/preemptionPolicy"]
    );
    // A pod with its own class, and a pod that is evaluated again.
    for class in ["low", "high"] {
        let object = pod(&format!(r#"{{"containers":[],"priority":7,"priorityClassName":"{class}"}}"#));
        assert!(steps(&decide(&rules, &object)).is_empty(), "{class}");
    }
}

/// Lists are not parsed if their text mentions none of the keys. These lists mention one, or have escapes.
#[test]
fn an_item_is_found_in_any_spelling() {
    let brings = rules(&rule(
        "r",
        "onConflict: keep\ncontainerPatches:\n- select: {all: true}\n  env: [{name: KEY, value: ours}]",
    ));
    let mounts = "onConflict: keep\nvolumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  volumeMounts: [{name: v, mountPath: /x}]";
    let mounts = rules(&rule("r", mounts));
    let count = |rules: &RuleSet, list: &str, items: &str| {
        let spec = format!(
            r#"{{"containers":[{{"name":"app","{list}":{items}}}],"volumes":[{{"name":"v","emptyDir":{{}}}}]}}"#
        );
        steps(&decide(rules, &pod(&spec))).len()
    };
    for there in [
        r#"[{"name":"KEY","value":"theirs"}]"#,
        r#"[{"value":"theirs","name":"KEY"}]"#,
        r#"[{"name":"\u004bEY","value":"theirs"}]"#,
        r#"[{"name":"K\u0045Y","value":"theirs"}]"#,
        "[ { \"name\" :\t\"KEY\" , \"value\" : \"theirs\" }\n]",
        r#"[{"name":"OTHER","name":"KEY"}]"#,
        r#"[{"n\u0061me":"KEY"}]"#,
    ] {
        assert_eq!(count(&brings, "env", there), 0, "{there}");
    }
    for absent in [
        r#"[{"name":"OTHER","value":"KEY"}]"#,
        r#"[{"name":"KEY","name":"OTHER"}]"#,
        r#"[{"name":"MY_KEY","value":""}]"#,
        r#"[{"name":"KEY\u0020","value":""}]"#,
        "[ ]",
        "null",
    ] {
        assert_eq!(count(&brings, "env", absent), 1, "{absent}");
    }
    for (path, changes) in [("/x", 0), ("/x/", 0), ("\\u002fx", 0), ("/xy", 1), ("/", 1)] {
        let items = format!(r#"[{{"name":"v","mountPath":"{path}"}}]"#);
        assert_eq!(count(&mounts, "volumeMounts", &items), changes, "{path}");
    }
}
