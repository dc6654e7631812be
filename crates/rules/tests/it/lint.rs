//! Warnings and hints about valid rules.

use vestibule_rules::{Diagnostic, RuleSet, Severity};

use crate::kit::{rule, rules, schema};

/// Code and position of every finding about rules with these lines in their spec.
fn found(specs: &[&str]) -> Vec<String> {
    let text: String =
        specs.iter().enumerate().map(|(index, spec)| rule(&format!("r{index}"), spec)).collect();
    let findings = rules(&text).lint();
    assert!(findings.iter().all(|one| one.severity() != Severity::Error && one.help().is_some()));
    findings.iter().map(|one| format!("{} {}", one.code().id, one.position())).collect()
}

const FINE: &str = "image: 'i:1', resources: {requests: {cpu: 1m}}";
const FINE_RESOURCES: &str = "resources: {requests: {cpu: 1m}}";
const PROBE: &str = "startupProbe: {exec: {command: [a]}}";

#[test]
fn containers() {
    for (container, expected) in [
        ("image: 'i:1'", &["VST0200"][..]),
        ("image: i, resources: {limits: {cpu: 1}}", &["VST0203"]),
        ("image: 'localhost:5000/i', resources: {limits: {cpu: 1}}", &["VST0203"]),
        ("image: 'localhost:5000/i@sha256:0', resources: {limits: {cpu: 1}}", &[]),
        (&format!("{FINE}, mode: regular, ports: [{{containerPort: 1}}]"), &[]),
        (&format!("{FINE}, env: [{{name: A, value: $(B)}}, {{name: B, value: $(A)$$(C)}}]"), &["VST0202"]),
        (&format!("{FINE}, envFrom: [{{configMapRef: {{name: c}}}}], args: [$(B)]"), &[]),
        (&format!("{FINE}, securityContext: {{privileged: true}}"), &["VST0209"]),
        (&format!("{FINE}, securityContext: {{privileged: True}}"), &["VST0209"]),
    ] {
        let found = found(&[&format!("sidecars: [{{name: s, {PROBE}, {container}}}]")]);
        let codes: Vec<_> = found.iter().filter_map(|one| one.split(' ').next()).collect();
        assert_eq!(codes, expected, "{container}");
    }
}

/// A sidecar without a port may need a startup probe, too.
#[test]
fn native_sidecars_without_a_startup_probe_get_a_hint() {
    let hook = "lifecycle: {postStart: {exec: {command: [a]}}}";
    let ports = "ports: [{containerPort: 1}]";
    for (list, container, waited) in [
        ("sidecars", FINE.to_owned(), false),
        ("sidecars", format!("{FINE}, {ports}"), false),
        ("sidecars", format!("{FINE}, mode: native"), false),
        ("sidecars", format!("{FINE}, mode: native, {PROBE}"), true),
        ("sidecars", format!("{FINE}, {ports}, {PROBE}"), true),
        ("sidecars", format!("{FINE}, {hook}"), true),
        ("sidecars", format!("{FINE}, mode: regular, {ports}"), true),
        ("initContainers", FINE.to_owned(), true),
    ] {
        let found = found(&[&format!("{list}: [{{name: s, {container}}}]")]);
        assert_eq!(found.iter().any(|one| one.starts_with("VST0201")), !waited, "{list}: {container}");
    }
}

#[test]
fn access_to_the_node_gets_a_warning() {
    let mount = |more: &str| {
        format!(
            "volumes: [{{name: v, secret: {{secretName: s}}}}]\ncontainerPatches: [{{select: {{all: true}}, volumeMounts: [{{name: v, mountPath: /v{more}}}]}}]"
        )
    };
    assert_eq!(found(&[&mount("")]), ["VST0208 8:59"]);
    assert!(found(&[&mount(", readOnly: TRUE")]).is_empty());
    assert_eq!(found(&["volumes: [{name: v, hostPath: {path: /}}]"]), ["VST0209 7:33"]);
    assert_eq!(found(&["pod: {spec: {hostPID: True}}"]), ["VST0209 7:16"]);
}

/// The API server mounts the token into a pod before it calls webhooks.
#[test]
fn a_token_that_pods_keep_gets_a_warning() {
    let field = "pod: {spec: {automountServiceAccountToken: false}}";
    assert_eq!(found(&[field]), ["VST0214 7:16"]);
    assert!(found(&[&format!("targets: [deployments]\n{field}")]).is_empty());
    assert!(found(&[&field.replace("false", "true")]).is_empty());
}

/// The API server writes its defaults before it calls webhooks.
#[test]
fn a_default_that_the_rule_keeps_gets_a_warning() {
    let block = |fields: &str| format!("containerPatches: [{{select: {{all: true}}, {fields}}}]");
    let account = "pod: {spec: {serviceAccountName: a}}";
    for (spec, told) in [
        ("pod: {spec: {dnsPolicy: Default}}".to_owned(), true),
        ("onConflict: override\npod: {spec: {dnsPolicy: Default}}".to_owned(), false),
        ("pod: {spec: {replace: [dnsPolicy], dnsPolicy: Default}}".to_owned(), false),
        (account.to_owned(), true),
        (format!("targets: [deployments]\n{account}"), false),
        (block("imagePullPolicy: Always"), true),
        (block("workingDir: /"), false),
    ] {
        let found = found(&[&spec]);
        assert_eq!(found.iter().any(|one| one.starts_with("VST0215")), told, "{spec}: {found:?}");
    }
}

#[test]
fn two_rules_that_override_one_key_get_a_warning() {
    let env = |value: &str, more: &str| {
        format!(
            "onConflict: override\nsidecars: []\ncontainerPatches: [{{select: {{all: true}}, env: [{{name: A, value: {value}}}]}}]\n{more}"
        )
    };
    let (one, same, other, elsewhere) =
        (env("a", ""), env("a", ""), env("b", ""), env("b", "targets: [deployments]"));
    assert!(found(&[&one, &same]).is_empty());
    assert_eq!(found(&[&one, &other]), ["VST0204 18:50"]);
    assert!(found(&[&one, &elsewhere]).is_empty());
}

/// The later of two rules that override one key wins; the warning names the earlier one.
#[test]
fn every_kind_of_overridden_part_is_compared() {
    let rule = |spec: &str| format!("onConflict: override\n{spec}");
    let block =
        |select: &str, what: &str| rule(&format!("containerPatches: [{{select: {{{select}}}, {what}}}]"));
    let env = |select: &str, value: &str| block(select, &format!("env: [{{name: A, value: {value}}}]"));
    let sidecar = |tag: &str| rule(&format!("sidecars: [{{name: s, image: 's:{tag}', {FINE_RESOURCES}}}]"));
    let seconds = |effect: &str, seconds: u32| {
        rule(&format!(
            "pod: {{spec: {{tolerations: [{{key: k, effect: {effect}, tolerationSeconds: {seconds}}}]}}}}"
        ))
    };
    for (one, other, told) in [
        (env("names: [app]", "a"), env("names: [app]", "b"), true),
        (env("names: [app]", "a"), env("names: [app]", "a"), false),
        (env("names: [app]", "a"), env("names: [web]", "b"), false),
        (env("names: [app]", "a"), env("all: true", "b"), true),
        (env("names: [app]", "a"), env("all: true, exclude: [app]", "b"), false),
        (env("images: ['nginx*']", "a"), env("images: ['nginx*']", "b"), true),
        (env("images: ['nginx*']", "a"), env("images: ['redis*']", "b"), false),
        (env("index: 0", "a"), env("index: 0", "b"), true),
        (env("index: 0", "a"), env("index: 1", "b"), false),
        (block("all: true", "image: 'i:1'"), block("all: true", "image: 'i:2'"), true),
        (
            block("all: true", "resources: {limits: {cpu: 1}}"),
            block("names: [app]", "resources: {limits: {cpu: 2}}"),
            true,
        ),
        (
            rule("volumes: [{name: v, emptyDir: {}}]"),
            rule("volumes: [{name: v, configMap: {name: c}}]"),
            true,
        ),
        (rule("volumes: [{name: v, emptyDir: {}}]"), rule("volumes: [{name: v, emptyDir: {}}]"), false),
        (seconds("NoExecute", 30), seconds("NoExecute", 60), true),
        (seconds("NoExecute", 30), rule("pod: {spec: {tolerations: [{key: k, effect: NoSchedule}]}}"), false),
        (sidecar("1"), sidecar("2"), true),
        (sidecar("1"), sidecar("1"), false),
    ] {
        let found = found(&[&one, &other]);
        assert_eq!(found.iter().any(|one| one.starts_with("VST0204")), told, "{one}\n{other}\n{found:?}");
    }
}

#[test]
fn a_removed_entry_that_is_in_use_gets_a_warning() {
    let removed = "remove: [{env: {containers: all, name: GONE}}]";
    let block = |what: &str| format!("containerPatches: [{{select: {{names: [app]}}, {what}}}]");
    let mounts = block("volumeMounts: [{name: v, mountPath: /v}]");
    let file = |volume: &str| {
        format!("env: [{{name: v, valueFrom: {{fileKeyRef: {{volumeName: {volume}, path: p, key: k}}}}}}]")
    };
    let volume = |others: &str| format!("remove: [{{volumes: {{name: v}}}}]\n{others}");
    for (specs, told) in [
        (vec![format!("{removed}\n{}", block("env: [{name: Y, value: 'x$(GONE)'}]"))], true),
        (vec![format!("{removed}\n{}", block("env: [{name: Y, value: 'x$$(GONE)'}]"))], false),
        (vec![format!("{removed}\n{}", block("env: [{name: Y, value: GONE}]"))], false),
        (
            vec![format!(
                "remove: [{{env: {{containers: [web], name: GONE}}}}]\n{}",
                block("env: [{name: Y, value: $(GONE)}]")
            )],
            false,
        ),
        (vec!["remove: [{volumes: {name: v}}]".to_owned(), mounts.clone()], true),
        (vec!["remove: [{volumes: {name: w}}]".to_owned(), mounts.clone()], false),
        (vec![volume(&block("volumeDevices: [{name: v, devicePath: /v}]"))], true),
        (vec![volume(&block(&file("v")))], true),
        (vec![volume(&block(&file("w")))], false),
        (vec![volume(""), format!("sidecars: [{{name: s, image: 's:1', {}}}]", file("v"))], true),
        (vec!["targets: [deployments]\nremove: [{volumes: {name: v}}]".to_owned(), mounts], false),
    ] {
        let found = found(&specs.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.iter().any(|one| one.starts_with("VST0205")), told, "{specs:?}: {found:?}");
    }
}

#[test]
fn rules_that_match_no_namespace_or_too_many_get_a_warning() {
    let text = |head: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\nspec:\n  {head}\n  pod: {{labels: {{c: d}}}}\n"
        )
    };
    let found = |head: &str| {
        let set = RuleSet::load([("rules.yaml", &*text(head))], schema()).unwrap();
        set.lint().iter().map(Diagnostic::headline).collect::<Vec<_>>()
    };
    assert!(found("match: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [kube-system, a]}, {key: kubernetes.io/metadata.name, operator: NotIn, values: [a]}]}}")[0].contains("VST0210"));
    assert!(found("match: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [kube-system, a]}]}}").is_empty());
    assert!(found("required: true\n  match: {objectSelector: {matchLabels: {a: b}}}")[0].contains("VST0206"));
    assert!(found("required: true\n  match: {namespaceSelector: {matchLabels: {a: b}}}").is_empty());
}

#[test]
fn rules_that_a_policy_could_replace_get_a_hint() {
    let fits = |spec: &str| found(&[spec]).iter().any(|one| one.starts_with("VST0211"));
    assert!(fits("onConflict: override\npod: {labels: {a: b}}"));
    assert!(fits(
        "containerPatches: [{select: {all: true}, onConflict: override, env: [{name: A, value: b}]}]"
    ));
    for spec in [
        "pod: {labels: {a: b}}",
        "onConflict: override\nrequired: true\npod: {labels: {a: b}}",
        "onConflict: override\noptIn: pod\npod: {labels: {a: b}}",
        "onConflict: override\ncontainerPatches: [{select: {index: 0}, env: [{name: A, value: b}]}]",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, envFrom: [{configMapRef: {name: a}}]}]",
        "onConflict: override\npod: {labels: {a: b}}\nsidecars: [{name: s, image: 'i:1', resources: {limits: {cpu: 1}}}]",
    ] {
        assert!(!fits(spec), "{spec}");
    }
}

#[test]
fn the_examples_have_no_false_findings() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let rules = RuleSet::load([(&*name, &*text)], schema()).unwrap();
        assert!(rules.prove().is_ok(), "{name}");
        let findings: Vec<_> = rules.lint().iter().map(Diagnostic::headline).collect();
        // These hints are correct: for the container of the tutorial, for a forwarder that reads logs from before its
        // start, and for a rule that only sets a variable.
        let right = |one: &String| {
            name == "nginx.yaml" && one.contains("VST0200")
                || name == "log-forwarder.yaml" && one.contains("VST0201")
                || name == "env-target.yaml" && one.contains("VST0211")
        };
        assert!(findings.iter().all(right), "{findings:#?}");
        count += 1;
    }
    assert!(count >= 9);
}

/// Regression: references in blocks were not checked, although the kubelet expands them in the same way.
#[test]
fn references_in_blocks_are_checked_too() {
    for (block, expected) in [
        ("env: [{name: A, value: $(B)}]", Some(Severity::Hint)),
        ("env: [{name: A, value: $(A)}]", Some(Severity::Hint)),
        ("env: [{name: A, value: $(B)}, {name: B, value: x}]", Some(Severity::Warning)),
        ("env: [{name: B, value: x}, {name: A, value: $(B)}]", None),
        ("env: [{name: A, value: $$(B)}]", None),
        ("env: [{name: A, value: $(B)}], envFrom: [{configMapRef: {name: c}}]", None),
        ("replace: [args], args: [$(B)]", Some(Severity::Hint)),
        ("replace: [args], args: [$(B)], env: [{name: B, value: x}]", None),
        ("replace: [command], command: [\"sh\", \"-c\", \"x $(B)\"]", Some(Severity::Hint)),
    ] {
        let text = rule("r", &format!("containerPatches: [{{select: {{all: true}}, {block}}}]"));
        let findings = rules(&text).lint();
        let found = findings.iter().find(|one| one.code().id == "VST0202").map(Diagnostic::severity);
        assert_eq!(found, expected, "{block}");
    }
    // The variables of a later block come before those of an earlier one.
    let two = "containerPatches:\n- {select: {all: true}, env: [{name: A, value: $(B)}]}\n- {select: {all: true}, env: [{name: B, value: x}]}";
    assert!(found(&[two]).is_empty());
    let removed = "remove: [{env: {containers: all, name: B}}]\n\
                   containerPatches: [{select: {all: true}, replace: [args], args: [$(B)]}]";
    assert!(found(&[removed]).iter().any(|one| one.starts_with("VST0205")));
}

/// Placeholders reach the pod unchanged.
#[test]
fn placeholders_of_other_tools_get_a_hint() {
    let env = |value: &str| {
        format!("containerPatches: [{{select: {{all: true}}, env: [{{name: A, value: '{value}'}}]}}]")
    };
    for (value, help) in [
        ("${params.x}", Some("`{$cel: params.x}`")),
        ("{{ .Values.x }}", Some("helm template")),
        ("{{params.x}}", Some("`{$cel: params.x}`")),
        ("${X} {{.Name}}", None),
    ] {
        let findings = rules(&rule("r", &env(value))).lint();
        let found = findings.iter().find(|one| one.code().id == "VST0212");
        assert_eq!(found.is_some(), help.is_some(), "{value}");
        if let (Some(found), Some(help)) = (found, help) {
            assert!(found.severity() == Severity::Hint && found.help().unwrap().contains(help), "{found}");
            assert_eq!(found.position().to_string(), "7:67");
        }
    }
    // Expressions are not text.
    let spec = "parameters: [{name: x, type: string, default: a}]\n\
                matchConditions: [{name: c, expression: \"params.x != '${params.x}'\"}]\n\
                pod: {labels: {l: {$cel: \"params.x + '${params.x}'\"}}}";
    assert!(found(&[spec]).is_empty());
}

/// The lint assumes the order in which the merge inserts variables.
#[test]
fn variables_of_later_blocks_come_before_those_of_earlier_blocks() {
    let two = "containerPatches:\n- {select: {all: true}, env: [{name: A, value: $(B)}]}\n- {select: {all: true}, env: [{name: B, value: x}]}";
    let back = "containerPatches:\n- {select: {all: true}, env: [{name: B, value: x}]}\n- {select: {all: true}, env: [{name: A, value: $(B)}]}";
    for spec in [two, back] {
        let made = crate::kit::result(
            &rules(&rule("r", spec)),
            &crate::kit::pod(r#"{"containers":[{"name":"app"}]}"#),
        );
        assert_eq!(crate::kit::names(&made["spec"]["containers"][0]["env"]), ["B", "A"], "{spec}");
    }
}
