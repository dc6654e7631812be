//! The parts that rules of namespaces may add, as they are written and as expressions compute them.

use serde_json::json;

use super::{ALL, decide, headlines, in_shop, made, own, settings, web};
use crate::kit::{load, pod, rules, words};

/// Each escape from the bounds that a text can show, with the field in the message.
#[test]
fn a_text_with_a_part_that_nothing_allows_is_refused_with_its_field() {
    let sidecar = |fields: &str| format!("{{sidecars: [{{name: s, image: 's:1', {fields}}}]}}");
    let patch = |fields: &str| format!("{{containerPatches: [{{select: {{all: true}}, {fields}}}]}}");
    let of_pod = |fields: &str| format!("{{pod: {{spec: {{{fields}}}}}}}");
    for (spec, field) in [
        ("{volumes: [{name: v, hostPath: {path: /}}]}".to_owned(), "volumes[v].hostPath"),
        ("{volumes: [{name: v, nfs: {server: a, path: /}}]}".to_owned(), "volumes[v].nfs"),
        ("{volumes: [{name: v, csi: {driver: d}}]}".to_owned(), "volumes[v].csi"),
        ("{volumes: [{name: v, projected: {sources: []}}]}".to_owned(), "volumes[v].projected"),
        (sidecar("securityContext: {privileged: true}"), "[s].securityContext.privileged"),
        (sidecar("securityContext: {capabilities: {add: [SYS_ADMIN]}}"), "securityContext.capabilities.add"),
        (sidecar("securityContext: {allowPrivilegeEscalation: true}"), "allowPrivilegeEscalation"),
        (sidecar("securityContext: {runAsUser: 0}"), "runAsUser"),
        (sidecar("securityContext: {procMount: Unmasked}"), "procMount"),
        (sidecar("securityContext: {seccompProfile: {type: Unconfined}}"), "seccompProfile"),
        (sidecar("securityContext: {seLinuxOptions: {type: spc_t}}"), "seLinuxOptions"),
        (sidecar("ports: [{containerPort: 80, hostPort: 80}]"), "ports.hostPort"),
        (sidecar("volumeDevices: [{name: d, devicePath: /dev/a}]"), "volumeDevices"),
        (sidecar("resources: {limits: {example.com/kvm: 1}}"), "resources.limits.example.com/kvm"),
        (sidecar("resources: {claims: [{name: gpu}]}"), "resources.claims"),
        (sidecar("livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}}"), "livenessProbe"),
        (
            sidecar("volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]"),
            "mountPropagation",
        ),
        (patch("ports: [{containerPort: 80}]"), "containers.ports"),
        (
            patch("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]"),
            "containers.env.valueFrom.fileKeyRef",
        ),
        (patch("image: 'other:1'"), "containers.image"),
        (patch("replace: [command], command: [sh]"), "containers.command"),
        (patch("securityContext: {privileged: true}"), "containers.securityContext"),
        (patch("resources: {limits: {cpu: 1}}"), "containers.resources"),
        (of_pod("hostNetwork: true"), "hostNetwork"),
        (of_pod("hostPID: true"), "hostPID"),
        (of_pod("hostIPC: true"), "hostIPC"),
        (of_pod("shareProcessNamespace: true"), "shareProcessNamespace"),
        (of_pod("serviceAccountName: admin"), "serviceAccountName"),
        (of_pod("automountServiceAccountToken: true"), "automountServiceAccountToken"),
        (of_pod("priorityClassName: system-node-critical"), "priorityClassName"),
        (of_pod("runtimeClassName: host"), "runtimeClassName"),
        (of_pod("nodeName: master"), "nodeName"),
        (of_pod("nodeSelector: {a: b}"), "nodeSelector"),
        (of_pod("tolerations: [{operator: Exists}]"), "tolerations"),
        (of_pod("securityContext: {sysctls: [{name: a, value: b}]}"), "securityContext"),
        ("{pod: {annotations: {kubernetes.io/config.mirror: a}}}".to_owned(), "config.mirror"),
        (
            "{pod: {annotations: {container.apparmor.security.beta.kubernetes.io/app: unconfined}}}"
                .to_owned(),
            "metadata.annotations[container.apparmor",
        ),
        (
            "{pod: {labels: {vestibule.dev/injector: 'true'}}}".to_owned(),
            "metadata.labels[vestibule.dev/injector]",
        ),
        ("{pod: {labels: {inject.vestibule.dev/proxy: 'false'}}}".to_owned(), "inject.vestibule.dev/proxy"),
    ] {
        let found = headlines(&load(&(settings(ALL) + &own("team", &spec))).err().unwrap_or_default());
        let says = |found: &String| found.contains("error[VST0192]") && found.contains(field);
        assert!(found.iter().any(says), "{spec}: {found:?}");
    }
}

#[test]
fn a_part_that_the_settings_do_not_list_is_refused_with_its_word() {
    for (spec, word) in [
        ("{pod: {labels: {a: b}}}", "labels"),
        ("{pod: {annotations: {a: b}}}", "annotations"),
        ("{sidecars: [{name: s, image: 's:1'}]}", "sidecars"),
        ("{initContainers: [{name: s, image: 's:1'}]}", "initContainers"),
        ("{volumes: [{name: v, emptyDir: {}}]}", "volumes"),
        ("{volumes: [{name: v, configMap: {name: a}}]}", "configMaps"),
        ("{volumes: [{name: v, secret: {secretName: a}}]}", "secrets"),
        ("{volumes: [{name: v, persistentVolumeClaim: {claimName: a}}]}", "persistentVolumeClaims"),
        ("{imagePullSecrets: [{name: a}]}", "imagePullSecrets"),
        ("{containerPatches: [{select: {all: true}, env: [{name: A, value: b}]}]}", "env"),
        (
            "{containerPatches: [{select: {all: true}, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}]}",
            "secrets",
        ),
        ("{containerPatches: [{select: {all: true}, envFrom: [{secretRef: {name: a}}]}]}", "secrets"),
        ("{sidecars: [{name: s, image: 's:1', envFrom: [{configMapRef: {name: a}}]}]}", "configMaps"),
        (
            "{volumes: [{name: v, emptyDir: {}}], containerPatches: [{select: {all: true}, volumeMounts: [{name: v, mountPath: /v}]}]}",
            "volumeMounts",
        ),
    ] {
        let others: Vec<&str> = ALL.split(',').map(str::trim).filter(|part| *part != word).collect();
        let text = settings(&others.join(", ")) + &own("team", spec);
        let found = headlines(&load(&text).err().unwrap_or_default());
        assert!(
            found.iter().any(|found| found.contains(&format!("`allowedParts` has no `{word}`"))),
            "{spec}: {found:?}"
        );
        assert!(load(&(settings(ALL) + &own("team", spec))).is_ok(), "{spec}");
    }
}

/// Expressions compute what no text shows: the result is checked.
#[test]
fn a_computed_part_that_is_not_allowed_leaves_the_rule_out() {
    let sidecar = |fields: &str| {
        format!("{{pod: {{labels: {{team: blue}}}}, sidecars: [{{name: s, image: 's:1', {fields}}}]}}")
    };
    for (spec, field) in [
        (sidecar("securityContext: {privileged: {$cel: \"1 == 1\"}}"), "securityContext.privileged"),
        (
            sidecar("securityContext: {allowPrivilegeEscalation: {$cel: \"1 == 1\"}}"),
            "allowPrivilegeEscalation",
        ),
        (sidecar("securityContext: {runAsUser: {$cel: \"0\"}}"), "securityContext.runAsUser"),
        (sidecar("securityContext: {seccompProfile: {type: {$cel: \"'Unconfined'\"}}}"), "seccompProfile"),
        (sidecar("volumeMounts: [{name: {$cel: \"'v'\"}, mountPath: /v}]"), "volumes[v].hostPath"),
    ] {
        let rules = rules(&(settings(ALL) + &own("team", &spec)));
        let pod = pod(r#"{"volumes":[{"name":"v","hostPath":{"path":"/"}}],"containers":[{"name":"app"}]}"#);
        let decision = decide(&rules, &pod);
        assert_eq!(words(&decision), ["not_allowed"], "{spec}");
        assert!(decision.patch().is_empty() && decision.denial().is_none());
        assert!(decision.warnings[0].starts_with("rule shop/team was left out: "), "{:?}", decision.warnings);
        assert!(decision.warnings[0].contains(field), "{spec}: {:?}", decision.warnings);
    }
    // An expression returns no map, so that its members are in the text of the rule.
    for field in ["securityContext", "livenessProbe"] {
        let spec = sidecar(&format!("{field}: {{$cel: \"{{'a': 'b'}}\"}}"));
        let found = headlines(&load(&(settings(ALL) + &own("team", &spec))).err().unwrap());
        assert!(found[0].contains("VST0135"), "{field}: {found:?}");
    }
}

/// The items of a loop are bounded as written ones are, by their text and by what they become.
#[test]
fn loops_are_bounded_as_their_items_are() {
    let rule = |item: &str| {
        let parameter = "{name: files, type: string, annotationPrefix: example.com/file-}";
        own(
            "team",
            &format!(
                "{{parameters: [{parameter}], volumes: [{{forEach: params.files, name: {{$cel: each}}, {item}}}]}}"
            ),
        )
    };
    let pod = r#"{"metadata":{"annotations":{"example.com/file-a":"x","example.com/file-b":"y"}},"spec":{"containers":[{"name":"app"}]}}"#;
    let allowed = rules(&(settings("volumes") + &rule("emptyDir: {}")));
    assert_eq!(words(&decide(&allowed, pod)), ["applied"]);
    let found =
        headlines(&load(&(settings("volumes") + &rule("secret: {secretName: {$cel: each}}"))).err().unwrap());
    assert!(found[0].contains("VST0192") && found[0].contains("`secrets`"), "{found:?}");
    // A name that the pod has is not changed.
    let taken = pod.replace(r#""spec":{"#, r#""spec":{"volumes":[{"name":"b","hostPath":{"path":"/"}}],"#);
    let decision = decide(&allowed, &taken);
    assert!(decision.patch().is_empty(), "{:?}", words(&decision));
}

/// Regression test: a loop copied its item, up to the length of the rule, for each value, and the copies cost nothing.
#[test]
fn a_loop_spends_the_copies_of_its_item() {
    for (length, word) in [(1 << 10, "applied"), (60 << 10, "error")] {
        let value = "x".repeat(length);
        let spec = format!(
            "{{sidecars: [{{name: s, image: 's:1', env: [{{forEach: lists.range(100), name: {{$cel: \"'V' + string(each)\"}}, value: {value}}}]}}]}}"
        );
        let rules = rules(&(settings("sidecars") + &own("team", &spec)));
        let decision = decide(&rules, &web());
        assert_eq!(words(&decision), [word], "{length}");
        assert_eq!(decision.warnings.iter().any(|warning| warning.contains("ticks")), word == "error");
    }
}

/// A volume of the pod stays closed to the rule where its kind is not allowed, such as a host path that an administrator gave the pod.
#[test]
fn a_volume_of_the_pod_is_mounted_only_if_its_kind_is_allowed() {
    let spec = "{sidecars: [{name: s, image: 's:1', volumeMounts: [{name: v, mountPath: /v}]}]}";
    let kept = "{volumes: [{name: v, emptyDir: {}, onConflict: keep}], sidecars: [{name: s, image: 's:1', volumeMounts: [{name: v, mountPath: /v}]}]}";
    for spec in [spec, kept] {
        for (volume, word) in [
            (r#""hostPath":{"path":"/"}"#, "not_allowed"),
            (r#""projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}"#, "not_allowed"),
            (r#""secret":{"secretName":"a"}"#, "not_allowed"),
            (r#""emptyDir":{}"#, "applied"),
        ] {
            let pod =
                pod(&format!(r#"{{"volumes":[{{"name":"v",{volume}}}],"containers":[{{"name":"app"}}]}}"#));
            let rules = rules(&(settings("sidecars, volumes") + &own("team", spec)));
            assert_eq!(words(&decide(&rules, &pod)), [word], "{spec} {volume}");
        }
    }
}

/// The API server derives the request of the pod again.
#[test]
fn a_sidecar_may_raise_a_derived_request_of_the_pod() {
    let spec = "{sidecars: [{name: s, image: 's:1', resources: {requests: {cpu: 10m}}}]}";
    let pod = pod(
        r#"{"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1m"}},"containers":[{"name":"app","resources":{"requests":{"cpu":"1m"}}}]}"#,
    );
    let result = made(&rules(&(settings("sidecars") + &own("team", spec))), &pod);
    assert_eq!(result["spec"]["resources"], json!({"limits": {"cpu": "1"}, "requests": {}}));
}

#[test]
fn allowed_parts_are_added_as_by_any_rule() {
    let spec = "{securityProfile: restricted, pod: {labels: {team: blue, app.kubernetes.io/part-of: shop}, annotations: {example.com/a: b}}, \
                volumes: [{name: logs, emptyDir: {}}, {name: conf, configMap: {name: conf}}], imagePullSecrets: [{name: registry}], \
                initContainers: [{name: setup, image: 'setup:1', env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}], \
                sidecars: [{name: tail, image: 'tail:1', mode: regular, resources: {requests: {cpu: 10m}}, \
                  volumeMounts: [{name: logs, mountPath: /logs}], livenessProbe: {httpGet: {port: 80}}, ports: [{containerPort: 9000}]}], \
                containerPatches: [{select: {all: true}, env: [{name: TARGET, value: hall}], envFrom: [{secretRef: {name: a}}], \
                  volumeMounts: [{name: logs, mountPath: /logs}]}]}";
    let rules = rules(&(settings(ALL) + &own("team", spec)));
    let result = made(&rules, &web());
    assert_eq!(result["spec"]["containers"][1]["name"], "tail");
    assert_eq!(result["spec"]["containers"][1]["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(result["spec"]["initContainers"][0]["name"], "setup");
    assert_eq!(result["spec"]["containers"][0]["env"][0]["name"], "TARGET");
    assert_eq!(result["metadata"]["labels"]["app.kubernetes.io/part-of"], "shop");
    assert!(rules.prove().is_ok());
    assert!(rules.lint().iter().all(|finding| finding.code().id != "VST0211"));
    assert!(rules.evaluate(&in_shop(&web())).unwrap().warnings.is_empty());
}
