//! Documents that are accepted, and the errors of those that are not.

use vestibule_rules::{CODES, Resource, RuleSet, Target};

use crate::kit::{decide, headlines, load, pod, result, rule, rules, schema, steps, word};

/// The only finding about a rule with these lines in its spec: code, position, help.
fn finding(spec: &str) -> String {
    let findings = load(&rule("r", spec)).err().unwrap_or_default();
    let shown: Vec<String> = findings
        .iter()
        .map(|one| format!("{} {} {}", one.code().id, one.position(), one.help().unwrap_or_default()))
        .collect();
    shown.join(" + ")
}

#[test]
fn a_misspelt_field_of_a_container_is_refused() {
    let text = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata:\n  name: r\nspec:\n  optIn: pod\n  sidecars:\n  - name: s\n    image: s\n    ports:\n    - containerPort: 80\n    volumeMount:\n    - {name: v, mountPath: /v}\n";
    let findings = load(text).err().unwrap();
    assert_eq!(
        findings[0].to_string(),
        "error[VST0110]: `sidecars` is not known to have a field `volumeMount`\n   --> rules.yaml:12:5\n 12 |     volumeMount:\n    |     ^ help: did you mean `volumeMounts`?"
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let good = rule("fine", "pod: {labels: {a: b}}");
    let bad = "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {nam: x}\nspec:\n  sidecar: []\n  optIn: pods\n  order: first\n---\nkind: ConfigMap\n---\n- 1\n";
    let found = headlines(&format!("{good}{bad}{good}"));
    let starts = ["VST0112", "VST0110", "VST0110", "VST0113", "VST0111", "VST0115", "VST0111", "VST0116"];
    for code in starts {
        assert!(found.iter().any(|line| line.contains(code)), "{code}: {found:#?}");
    }
    assert_eq!(found.len(), starts.len(), "{found:#?}");
}

#[test]
fn a_yaml_error_does_not_hide_errors_of_other_rules() {
    let text = rule(
        "r",
        "sidecars:\n- {name: s, name: s, imag: s}\n- !!map {name: S}\n? [a]\n: b\n<<: {}\nsidcars: []",
    );
    let found = headlines(&text);
    let found: Vec<&str> = found.iter().filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    assert_eq!(found, ["VST0102", "VST0110", "VST0103", "VST0113", "VST0106", "VST0106", "VST0110"]);
}

#[test]
fn a_misspelt_kind_does_not_hide_errors_in_the_spec() {
    let bad = rule("r", "sidcars: []");
    for (from, to) in [("kind: Injection", "kind: Injecton"), ("v1alpha1", "v1")] {
        let found = headlines(&bad.replace(from, to));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("VST0115") && found[1].contains("VST0110"), "{found:?}");
    }
}

#[test]
fn rules_and_sets_have_digests() {
    let (one, two) = (rule("a", "pod: {labels: {a: b}}"), rule("b", "pod: {labels: {a: c}}"));
    let hash = |sources: &[(&str, &str)]| {
        RuleSet::load(sources.iter().copied(), schema()).unwrap().hash().to_owned()
    };
    let both = hash(&[("x", &one), ("y", &two)]);
    assert_eq!(both.len(), 12);
    assert_eq!(both, hash(&[("z", &format!("{two}# a comment\n{one}"))]));
    assert_ne!(both, hash(&[("x", &one)]));
    assert_ne!(both, hash(&[("x", &one), ("y", &two.replace("a: c", "a: d"))]));
}

#[test]
fn every_error_has_its_code_location_and_help() {
    for (spec, expected) in [
        ("pod: {labels: {a: b}}\nsidcars: []", "VST0110 8:3 did you mean `sidecars`?"),
        ("pod: {label: {a: b}}", "VST0110 7:9 did you mean `labels`?"),
        ("pod: {labels: {a: b}}\nmatchCondition: []", "VST0110 8:3 did you mean `matchConditions`?"),
        (
            "pod: {labels: {a: b}}\nmatchConditions: [{name: c0, expression: \"tru\"}]",
            "VST0131 8:45 known here: namespaceObject, object, oldObject, owner, params, request, variables",
        ),
        ("pod: {labels: {a: b}}\nparameters: [{name: p}]", "VST0112 8:16 The type of its values."),
        ("pod: {labels: {a: b}}\nrollout: {percent: 101}", "VST0113 8:22 0 to 100"),
        ("imagePullSecrets: [{name: a}, {name: a}]", "VST0116 7:33 "),
        ("imagePullSecrets: [a]", "VST0111 7:22 for example `{name: registry}`"),
        ("pod: {spec: {hostNetwrk: true}}", "VST0110 7:16 did you mean `hostNetwork`?"),
        ("pod: {spec: {terminationGracePeriodSeconds: high}}", "VST0111 7:47 "),
        ("pod: {spec: {volumes: [{name: v}]}}", "VST0152 7:16 they belong in `spec.volumes`"),
        (
            "pod: {spec: {dnsConfig: {nameservers: [1.1.1.1]}}}",
            "VST0150 7:28 name `dnsConfig` in `replace`, beside it, to replace the user's `nameservers`",
        ),
        (
            "pod: {spec: {dnsConfig: {replace: [nameservers]}}}",
            "VST0151 7:28 it belongs in `pod.spec` or in a container patch; of a field that it names, the members that the rule has are replaced",
        ),
        (
            "containerPatches: [{select: {all: true}, command: [sh]}]",
            "VST0150 7:44 name `command` in `replace`, beside it, to replace the user's `command`",
        ),
        (
            "containerPatches: [{select: {all: true}, replace: [args, command], command: [sh]}]",
            "VST0151 7:54 ",
        ),
        ("containerPatches: [{select: {all: true}, securityContext: {runAsUser: root}}]", "VST0111 7:73 "),
        (
            "sidecars: [{name: s, image: {$cel: x}}]",
            "VST0131 7:38 known here: namespaceObject, object, oldObject, owner, params, request, variables",
        ),
        ("sidecars: [{name: s, image: {$cell: x}}]", "VST0134 7:32 did you mean `$cel`?"),
        ("sidecars: {name: s}", "VST0111 7:13 for example `[{name: proxy, image: 'proxy:1.2'}]`"),
        ("sidecars: [s]", "VST0111 7:14 for example `{name: proxy, image: 'proxy:1.2'}`"),
        ("sidecars: [{image: s}]", "VST0112 7:14 "),
        (
            "sidecars: [{name: S_, image: s}]",
            "VST0113 7:21 wanted: 1 to 63 lower-case letters, digits and `-`, which neither starts nor ends it",
        ),
        (
            "sidecars: [{name: s, image: null}]",
            "VST0117 7:31 leave the field out, or write \"\" for an empty text",
        ),
        ("sidecars: [{name: s, env: {A: b}}]", "VST0111 7:29 for example `[{name: TARGET, value: hall}]`"),
        (
            "sidecars: [{name: s, resources: []}]",
            "VST0111 7:35 for example `{requests: {cpu: 10m, memory: 16Mi}}`",
        ),
        (
            "sidecars: [{name: s, resources: {requests: {cpu: 1x}}}]",
            "VST0113 7:47 wanted: a quantity such as `100m`, `0.5` or `64Mi`",
        ),
        ("sidecars: [{name: s}, {name: s}]", "VST0116 7:25 "),
        ("sidecars: [{name: s}]\ninitContainers: [{name: s}]", "VST0116 8:20 "),
        (
            "sidecars: [{name: s, volumeMounts: [{name: a, mountPath: /x}, {name: b, mountPath: /x/}]}]",
            "VST0121 7:65 ",
        ),
        ("sidecars: [{name: s, mode: natve}]", "VST0113 7:30 did you mean `native`?"),
        (
            "sidecars: [{name: s, restartPolicy: Never}]",
            "VST0113 7:39 a native sidecar gets `restartPolicy: Always` by itself",
        ),
        (
            "initContainers: [{name: s, restartPolicy: Always, restartPolicyRules: [{action: Restart}]}]",
            "VST0113 7:45 beside `restartPolicyRules` it is one of Never, OnFailure",
        ),
        (
            "initContainers: [{name: s, restartPolicy: Never, restartPolicyRules: []}]",
            "VST0113 7:45 write `restartPolicyRules` beside it, or leave it out",
        ),
        (
            "sidecars: [{name: s, position: {initContainers: front}}]",
            "VST0113 7:51 possible: `first`, `last`",
        ),
        ("initContainers: [{name: s, startupProbe: {}}]", "VST0113 7:44 "),
        (
            "containerPatches: [{env: [{name: A, value: b}]}]",
            "VST0112 7:22 `select` has exactly one of `all: true`, `names`, `images` and `index`",
        ),
        ("containerPatches: [{select: {all: true, index: 0}, env: [{name: A, value: b}]}]", "VST0113 7:31 "),
        (
            "containerPatches: [{select: {all: true}, mounts: []}]",
            "VST0110 7:44 known here: `args`, `command`, `env`, `envFrom`, `image`, `imagePullPolicy`, `lifecycle`, `livenessProbe`, `onConflict`, `ports`, `readinessProbe`, `replace`, `resizePolicy`, `resources`, `securityContext`, `select`, `startupProbe`, `stdin`, `stdinOnce`, `terminationMessagePath`, `terminationMessagePolicy`, `tty`, `volumeDevices`, `volumeMounts`, `workingDir`",
        ),
        ("containerPatches: [{select: {all: true}, env: [{value: b}]}]", "VST0112 7:50 "),
        ("required: true\nonConflict: skipRule\npod: {labels: {a: b}}", "VST0122 8:15 "),
        ("required: true\nonError: skip\npod: {labels: {a: b}}", "VST0122 8:12 "),
        (
            "pod: {labels: {a: \"b c\"}}",
            "VST0113 7:18 wanted: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        ),
        ("pod: {labels: {app: web}}", "VST0123 7:18 "),
        ("pod: {annotations: {vestibule.dev/inject: \"true\"}}", "VST0123 7:23 "),
        ("order: 1", "VST0120 6:3 "),
        (
            "pod: {spec: {nodeSelector: {\"a b\": c}}}",
            "VST0113 7:31 wanted: a name of at most 63 letters, digits, `-`, `_` and `.`, perhaps after a DNS name and `/`",
        ),
        (
            "pod: {spec: {nodeSelector: {a: \"b c\"}}}",
            "VST0113 7:31 wanted: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        ),
    ] {
        assert_eq!(finding(spec), expected, "{spec}");
    }
}

#[test]
fn a_rule_for_every_pod_is_refused() {
    let text = |spec: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\nspec:\n  pod: {{labels: {{a: b}}}}\n{spec}"
        )
    };
    assert!(headlines(&text(""))[0].contains("VST0119"));
    assert!(headlines(&text("  match: {os: linux, namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [x]}]}}\n"))[0].contains("VST0119"));
    // It is not known what these match.
    for (wrong, code) in [("[a]", "VST0111"), ("{namespaceSelector: {labels: {a: b}}}", "VST0110")] {
        let lines = headlines(&text(&format!("  match: {wrong}\n")));
        assert!(lines.len() == 1 && lines[0].contains(code), "{lines:?}");
    }
    assert!(load(&text("  optIn: pod\n")).is_ok());
    assert!(
        load(&text("  match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}}\n"))
            .is_ok()
    );
}

#[test]
fn other_kinds_are_refused() {
    assert!(headlines("apiVersion: vestibule.dev/v1alpha1\nkind: Guard\n")[0].contains("VST0114"));
    assert!(headlines("apiVersion: v1\nkind: ConfigMap\n")[0].contains("VST0115"));
    assert!(headlines("kind: Injection\nspec: {}\n")[0].contains("`apiVersion` is missing"));
}

/// As `kubectl get --output yaml` prints it.
#[test]
fn fields_that_an_api_server_adds_are_ignored() {
    let stored = |kind: &str, spec: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: {kind}\nmetadata:\n  creationTimestamp: \"2026-11-24T19:00:00Z\"\n  \
             generation: 1\n  managedFields: [{{manager: kubectl, fieldsV1: {{}}}}]\n  name: a\n  resourceVersion: \"12\"\n  \
             uid: 5b8f8b5e\nspec: {spec}\nstatus: {{observedGeneration: 1}}\n"
        )
    };
    for text in [stored("Injection", "{optIn: pod, pod: {labels: {a: b}}}"), stored("InjectorSettings", "{}")]
    {
        assert_eq!(headlines(&text), Vec::<String>::new());
    }
    let elsewhere = stored("Injection", "{optIn: pod, pod: {labels: {a: b}}, status: {}}");
    assert!(headlines(&elsewhere)[0].contains("VST0110"));
}

#[test]
fn unknown_fields_of_pods_are_kept_with_a_warning() {
    let rules = rules(&rule("r", "sidecars: [{name: s, image: s, brandNewThing: {x: 1.0}}]"));
    assert_eq!(rules.warnings().len(), 1);
    assert_eq!(rules.warnings()[0].code().id, "VST0118");
    assert!(steps(&decide(&rules, &pod("{}")))[0].contains(r#""brandNewThing":{"x":1.0}"#));
}

/// Regression test: the field was kept when it was read, and then was an error for every pod.
#[test]
fn an_unknown_field_of_pods_may_have_an_expression() {
    for (spec, pointer) in [
        ("pod: {spec: {brandNew: {$cel: owner.name}}}", "/spec/brandNew"),
        ("pod: {spec: {securityContext: {brandNew: {$cel: owner.name}}}}", "/spec/securityContext/brandNew"),
        (
            "pod: {spec: {hostAliases: [{ip: 10.0.0.1, brandNew: {$cel: owner.name}}]}}",
            "/spec/hostAliases/0/brandNew",
        ),
        (
            "containerPatches: [{select: {all: true}, securityContext: {brandNew: {$cel: owner.name}}}]",
            "/spec/containers/0/securityContext/brandNew",
        ),
    ] {
        let rules = rules(&rule("r", spec));
        let codes: Vec<&str> = rules.warnings().iter().map(|warning| warning.code().id).collect();
        assert_eq!(codes, ["VST0118"], "{spec}");
        let made = result(&rules, &pod(r#"{"containers":[{"name":"app"}]}"#));
        assert_eq!(made.pointer(pointer), Some(&serde_json::json!("web")), "{spec}: {made}");
    }
}

#[test]
fn text_fields_keep_their_spelling() {
    let spec = "sidecars:\n- name: s\n  image: 1.10\n  args: [on, 0644, 1.10, true]\n  env: [{name: A, value: 0644}, {name: B, value: yes}]\n  resources: {limits: {cpu: 1, memory: 1e3}}\n  ports: [{containerPort: 80}]\nvolumes: [{name: v, configMap: {name: c, defaultMode: 0644, optional: true}}]\npod: {labels: {a: 1.10, b: on}}";
    let result = result(&rules(&rule("r", spec)), &pod("{}"));
    let sidecar = &result["spec"]["initContainers"][0];
    assert_eq!(sidecar["image"], "1.10");
    assert_eq!(sidecar["args"], serde_json::json!(["on", "0644", "1.10", "true"]));
    assert_eq!(sidecar["env"][0]["value"], "0644");
    assert_eq!(sidecar["env"][1]["value"], "yes");
    assert_eq!(sidecar["resources"]["limits"], serde_json::json!({"cpu": "1", "memory": "1e3"}));
    assert_eq!(sidecar["ports"][0]["containerPort"], 80);
    assert_eq!(result["spec"]["volumes"][0]["configMap"]["defaultMode"], 420);
    assert_eq!(result["spec"]["volumes"][0]["configMap"]["optional"], true);
    assert_eq!(result["metadata"]["labels"]["a"], "1.10");
}

#[test]
fn empty_lists_change_nothing() {
    // Regression: `initContainers: []` deleted the init containers of the user.
    let spec = "initContainers: []\nsidecars: [{name: s, image: s, env: [], resources: {requests: {}}}]";
    let result = result(&rules(&rule("r", spec)), &pod(r#"{"initContainers":[{"name":"user"}]}"#));
    assert_eq!(crate::kit::names(&result["spec"]["initContainers"]), ["s", "user"]);
    assert!(result["spec"]["initContainers"][0].get("env").is_none());
}

#[test]
fn sources_are_read_together() {
    let (one, two) = (
        rule("b", "pod: {labels: {a: b}}"),
        rule("a", "targets: [pods, deployments]\nrequired: true\npod: {labels: {c: d}}"),
    );
    let rules = RuleSet::load([("one.yaml", &*one), ("two.json", &*two)], schema()).unwrap();
    assert_eq!(rules.rules().iter().map(vestibule_rules::Rule::name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        rules.targets(),
        [
            Target { resource: Resource::Pods, required: false },
            Target { resource: Resource::Pods, required: true },
            Target { resource: Resource::Deployments, required: true },
        ]
    );
    let doubled = RuleSet::load([("one.yaml", &*one), ("two.yaml", &*one)], schema()).err().unwrap();
    assert_eq!(
        doubled[0].headline(),
        "two.yaml:4:18: error[VST0116]: rule `b` exists already, at one.yaml:4:18"
    );
}

#[test]
fn json_documents_are_read() {
    let text = r#"{"apiVersion":"vestibule.dev/v1alpha1","kind":"Injection","metadata":{"name":"r"},"spec":{"optIn":"pod","pod":{"labels":{"a":"b"}}}}"#;
    assert_eq!(word(&decide(&rules(text), &pod("{}"))), "not_opted_in");
    let long = text.replace("\"pod\",", &format!("\"pod\",{}\"odd\":1,", " ".repeat(3000)));
    let shown = load(&long).err().unwrap()[0].to_string();
    assert!(shown.lines().all(|line| line.len() < 400), "{shown}");
}

#[test]
fn codes_are_unique_and_explained() {
    for pair in CODES.windows(2) {
        assert!(pair[0].id < pair[1].id);
    }
    assert!(CODES.iter().all(|code| code.id.len() == 7 && code.explanation().ends_with('.')));
}

#[test]
fn errors_and_headlines_do_not_show_values() {
    let findings =
        load(&rule("r", "sidecars: [{name: s, env: [{name: A, value: hunter2, vlaue: hunter2}]}]"))
            .err()
            .unwrap();
    assert!(!format!("{findings:?}").contains("hunter2"));
}

/// Regression: names in backticks got a second pair.
#[test]
fn messages_quote_names_once() {
    for spec in [
        "match: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: []}]}}",
        "match: {objects: []}",
        "match: []",
        "rollout: []",
        "parameters: [x]",
        "variables: [{name: v, expression: []}]",
        "matchConditions: [{name: c0, expression: []}]",
        "remove: [x]",
        "remove: [{env: x}]",
        "pod: []",
        "pod: {spec: []}",
        "containerPatches: [x]",
        "containerPatches: [{select: x}]",
        "sidecars: [{name: s, position: x}]",
        "sidecars: [{name: s, position: {initContainers: []}}]",
        "match: {namespaces: null}",
    ] {
        let findings = load(&rule("r", spec)).err().unwrap_or_default();
        assert!(!findings.is_empty(), "{spec}");
        for finding in findings {
            let headline = finding.headline();
            let odd = ["``", "`a ", "`an ", "`the "].iter().any(|odd| headline.contains(odd));
            assert!(!odd && headline.matches('`').count() % 2 == 0, "{headline}");
        }
    }
    let document = headlines("[]").concat();
    assert!(document.contains("the document wants a map"), "{document}");
}
