//! Rules of namespaces beside rules of the cluster.

use serde_json::json;

use super::{ALL, decide, headlines, made, own, settings, web};
use crate::kit::{load, names, pod, rule, rules, words};

/// A rule of the cluster that injects a proxy with volumes, and changes existing containers.
const PROXY: &str = "\
sidecars:
- {name: proxy, image: 'proxy:1', mode: regular, position: {containers: first}, volumeMounts: [{name: certs, mountPath: /certs}]}
volumes: [{name: certs, emptyDir: {}}]
containerPatches:
- select: {all: true}
  env: [{name: HTTP_PROXY, value: 'http://localhost'}]
  volumeMounts: [{name: certs, mountPath: /etc/certs}]";

/// The outcomes of the cluster's rule and of the rule of the namespace.
#[track_caller]
fn outcomes(cluster: &str, mine: &str, pod: &str) -> Vec<&'static str> {
    let rules = rules(&(settings(ALL) + &rule("proxy", cluster) + &own("team", mine)));
    let alone = crate::kit::rules(&rule("proxy", cluster));
    let decision = decide(&rules, pod);
    let words = words(&decision);
    if words[1] != "applied" {
        // The result is that of the cluster's rules alone.
        let steps = |decision| crate::kit::steps(&decision);
        assert_eq!(steps(decision), steps(decide(&alone, pod)), "{mine}");
    }
    made(&rules, pod);
    words
}

/// Regression test: a rule of a namespace could add the container that answers the probes of all others.
#[test]
fn the_container_that_answers_probes_is_not_of_a_rule_of_a_namespace() {
    let cluster = "rewriteProbes: {container: agent, port: 15020, env: P}";
    for mode in ["regular", "native"] {
        let mine = format!("{{sidecars: [{{name: agent, image: 'mine:1', mode: {mode}}}]}}");
        assert_eq!(outcomes(cluster, &mine, &web()), ["unchanged", "not_allowed"], "{mode}");
    }
}

#[test]
fn nothing_that_a_rule_of_the_cluster_wrote_is_overridden() {
    for (mine, word) in [
        // The names are taken.
        ("{sidecars: [{name: proxy, image: 'mine:1', mode: regular}]}", "conflict"),
        ("{volumes: [{name: certs, configMap: {name: mine}}]}", "conflict"),
        ("{containerPatches: [{select: {all: true}, env: [{name: HTTP_PROXY, value: none}]}]}", "unchanged"),
        // A volume of the cluster's rule, by a sidecar and in an existing container.
        (
            "{sidecars: [{name: s, image: 's:1', volumeMounts: [{name: certs, mountPath: /c}]}]}",
            "not_allowed",
        ),
        (
            "{containerPatches: [{select: {names: [app]}, volumeMounts: [{name: certs, mountPath: /c}]}]}",
            "not_allowed",
        ),
        // A mount over a part of a mount, or around it.
        (
            "{volumes: [{name: m, emptyDir: {}}], containerPatches: [{select: {names: [app]}, volumeMounts: [{name: m, mountPath: /etc/certs/ca}]}]}",
            "not_allowed",
        ),
        (
            "{volumes: [{name: m, emptyDir: {}}], containerPatches: [{select: {names: [app]}, volumeMounts: [{name: m, mountPath: /etc}]}]}",
            "not_allowed",
        ),
        // Its container.
        (
            "{containerPatches: [{select: {names: [proxy]}, env: [{name: LD_PRELOAD, value: a}]}]}",
            "unchanged",
        ),
        // A place before its container.
        (
            "{sidecars: [{name: s, image: 's:1', mode: regular, position: {containers: {before: proxy}}}]}",
            "not_allowed",
        ),
    ] {
        assert_eq!(outcomes(PROXY, mine, &web()), ["applied", word], "{mine}");
    }
}

#[test]
fn containers_of_the_cluster_are_not_selected_and_come_first() {
    let mine = "{sidecars: [{name: s, image: 's:1', mode: regular, position: {containers: first}}], \
                containerPatches: [{select: {all: true}, env: [{name: A, value: b}]}]}";
    let rules = rules(&(settings(ALL) + &rule("proxy", PROXY) + &own("team", mine)));
    let result = made(&rules, &web());
    let containers = &result["spec"]["containers"];
    assert_eq!(names(containers), ["proxy", "s", "app"]);
    assert!(containers[0]["env"].is_null(), "{containers}");
    assert_eq!(
        [names(&containers[1]["env"]), names(&containers[2]["env"])],
        [vec!["HTTP_PROXY"], vec!["A", "HTTP_PROXY"]]
    );
}

/// A rule for all containers is for those that a team adds too. If it cannot be applied to them, the team's rules are left out.
#[test]
fn a_rule_of_the_cluster_is_applied_to_added_containers() {
    let everywhere = "required: true\nvolumes: [{name: certs, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  volumeMounts: [{name: certs, mountPath: /etc/certs}]";
    let mine = "{pod: {labels: {mine: x}}, sidecars: [{name: s, image: 's:1', mode: regular}]}";
    let all = rules(&(settings(ALL) + &rule("proxy", everywhere) + &own("team", mine)));
    let result = made(&all, &web());
    assert_eq!(result["spec"]["containers"][1]["volumeMounts"][0]["name"], "certs");

    let taken = "{volumes: [{name: m, emptyDir: {}}], pod: {labels: {mine: x}}, \
                 sidecars: [{name: s, image: 's:1', mode: regular, volumeMounts: [{name: m, mountPath: /etc/certs}]}]}";
    let all = rules(&(settings(ALL) + &rule("proxy", everywhere) + &own("team", taken)));
    let pod = web();
    let decision = decide(&all, &pod);
    assert_eq!(words(&decision), ["applied", "not_allowed"]);
    assert_eq!(
        decision.warnings,
        ["rule shop/team was left out: rule proxy could not be applied to the result"]
    );
    let result = made(&all, &pod);
    assert_eq!(
        (names(&result["spec"]["containers"]), &result["metadata"]["labels"]["mine"]),
        (vec!["app"], &json!(null))
    );
}

/// Regression test: a rule that made its own condition false protected nothing in the next call of the API server.
#[test]
fn what_a_rule_of_the_cluster_injected_stays_closed_while_its_condition_is_false() {
    let once = "matchConditions: [{name: once, expression: \"!object.spec.containers.exists(c, c.name == 'proxy')\"}]";
    let sources = "- select: {names: [app]}\n  envFrom: [{configMapRef: {name: settings}}]";
    let cluster = rule("proxy", &format!("{once}\n{PROXY}\n{sources}"));
    let injected = made(&rules(&cluster), &web()).to_string();
    let own_names =
        pod(r#"{"volumes":[{"name":"certs","emptyDir":{}}],"containers":[{"name":"app"},{"name":"proxy"}]}"#);
    let other = own_names.replace(r#""app":"web""#, r#""app":"other""#);
    for (mine, word, of_other) in [
        (
            "{containerPatches: [{select: {names: [proxy]}, env: [{name: LD_PRELOAD, value: a}]}]}",
            "unchanged",
            "applied",
        ),
        (
            "{sidecars: [{name: s, image: 's:1', volumeMounts: [{name: certs, mountPath: /c}]}]}",
            "not_allowed",
            "applied",
        ),
        (
            "{containerPatches: [{select: {names: [app]}, env: [{name: A, value: a}]}]}",
            "not_allowed",
            "applied",
        ),
        (
            "{sidecars: [{name: s, image: 's:1', mode: regular, position: {containers: {before: proxy}}}]}",
            "not_allowed",
            "applied",
        ),
        (
            "{sidecars: [{name: s, image: 's:1', mode: regular, position: {containers: first}}]}",
            "applied",
            "applied",
        ),
    ] {
        let both = rules(&(settings(ALL) + &cluster + &own("team", mine)));
        assert_eq!(words(&decide(&both, &injected)), ["match_condition_false", word], "{mine}");
        let containers = &made(&both, &injected)["spec"]["containers"];
        assert_eq!(containers[0], made(&rules(&cluster), &injected)["spec"]["containers"][0], "{mine}");
        // A rule that does not match the pod closes nothing there.
        assert_eq!(words(&decide(&both, &other)), ["labels_not_matched", of_other], "{mine}");
    }
    // Names of a rule that has injected nothing are free.
    let never = cluster.replace("!object.spec.containers", "object.spec.containers");
    let mine = "{volumes: [{name: certs, emptyDir: {}}], sidecars: [{name: proxy, image: 'mine:1', mode: regular, position: {containers: first}, volumeMounts: [{name: certs, mountPath: /c}]}], \
                containerPatches: [{select: {all: true}, env: [{name: A, value: b}]}]}";
    let both =
        rules(&(settings(ALL) + &never.replace("name == 'proxy'", "name == 'x'") + &own("team", mine)));
    assert_eq!(words(&decide(&both, &web())), ["match_condition_false", "applied"]);
    made(&both, &web());
}

/// A variable takes precedence over a source of variables, and a value may refer to a variable.
#[test]
fn a_variable_changes_no_value_of_another() {
    let mine = "{containerPatches: [{select: {all: true}, env: [{name: A, value: mine}]}]}";
    let sources = "containerPatches: [{select: {all: true}, envFrom: [{configMapRef: {name: settings}}]}]";
    assert_eq!(outcomes(sources, mine, &web()), ["applied", "not_allowed"]);
    let refers = "containerPatches: [{select: {all: true}, env: [{name: B, value: '$(A)'}]}]";
    assert_eq!(outcomes(refers, mine, &web()), ["applied", "not_allowed"]);
    for field in [
        r#""args":["--a=$(A)"]"#,
        r#""volumeMounts":[{"name":"v","mountPath":"/v","subPathExpr":"of/$(A)"}]"#,
    ] {
        let refers = pod(&format!(
            r#"{{"volumes":[{{"name":"v","emptyDir":{{}}}}],"containers":[{{"name":"app",{field}}}]}}"#
        ));
        assert_eq!(outcomes("pod: {labels: {a: b}}", mine, &refers), ["applied", "not_allowed"], "{field}");
    }
}

#[test]
fn a_label_that_a_rule_of_the_cluster_reads_is_refused() {
    let cluster = "match: {objectSelector: {matchLabels: {proxied: 'yes'}}}\npod: {labels: {a: b}}";
    let cluster =
        rule("proxy", cluster).replace("  match: {objectSelector: {matchLabels: {app: web}}}\n", "");
    let found = headlines(
        &load(&(settings(ALL) + &cluster + &own("team", "{pod: {labels: {proxied: 'yes'}}}"))).err().unwrap(),
    );
    assert!(found[0].contains("error[VST0123]") && found[0].contains("read by rule `proxy`"), "{found:?}");
    // A condition reads it too.
    for condition in [
        "!('skip' in object.metadata.?labels.orValue({}))",
        "variables.labels.?skip.orValue('') != 'x'",
        "object.metadata.?labels[?'skip'] == optional.none()",
        "!('skip' in (has(object.metadata.labels) ? object.metadata.labels : {}))",
        "!('skip' in (!has(object.metadata.labels) ? {} : object.metadata.labels))",
        "!variables.skipped",
        "!has(request.object.metadata.labels.skip)",
    ] {
        let cluster = format!(
            "variables: [{{name: labels, expression: \"object.metadata.?labels.orValue({{}})\"}}, {{name: skipped, expression: \"'skip' in variables.labels\"}}]\n\
             matchConditions: [{{name: a, expression: \"{condition}\"}}]\npod: {{annotations: {{a: b}}}}"
        );
        let text = |key: &str| {
            settings(ALL)
                + &rule("proxy", &cluster)
                + &own("team", &format!("{{pod: {{labels: {{{key}: x}}}}}}"))
        };
        let found = headlines(&load(&text("skip")).err().unwrap_or_default());
        assert!(found[0].contains("VST0123") && found[0].contains("rule `proxy`"), "{condition}: {found:?}");
        assert!(load(&text("other")).is_ok());
    }
    // An exemption would exempt the pod at the second call.
    let exempt = settings(ALL)
        .replace("spec: {", "spec: {exemptions: [{objectSelector: {matchLabels: {free: 'yes'}}}], ");
    let found = headlines(&load(&(exempt + &own("team", "{pod: {labels: {free: 'yes'}}}"))).err().unwrap());
    assert!(found[0].contains("VST0123") && found[0].contains("read by an exemption"), "{found:?}");
}

/// A rule that uses up its budget or never settles is left out alone.
#[test]
fn a_bad_rule_harms_no_other() {
    let list = "[1,2,3,4,5,6,7,8,9,0].map(a, [1,2,3,4,5,6,7,8,9,0].map(b, [1,2,3,4,5,6,7,8,9,0].map(c, [1,2,3,4,5,6,7,8,9,0].map(d, \
                [1,2,3,4,5,6,7,8,9,0].map(e, a + b + c + d + e)))))";
    let costly = format!("{{order: 1, pod: {{labels: {{costly: {{$cel: \"string(size({list}))\"}}}}}}}}");
    let text = settings(ALL)
        + &rule("proxy", "pod: {labels: {cluster: {$cel: \"string(size(object.spec.containers))\"}}}")
        + &own("costly", &costly)
        + &own("later", "{order: 2, pod: {labels: {later: {$cel: \"'yes'\"}}}}");
    let rules = rules(&text);
    let result = made(&rules, &web());
    let labels = &result["metadata"]["labels"];
    assert_eq!(
        (&labels["cluster"], &labels["costly"], &labels["later"]),
        (&json!("1"), &json!(null), &json!("yes"))
    );
    assert_eq!(words(&decide(&rules, &web())), ["applied", "error", "applied"]);
}

/// A required rule of the cluster that cannot be applied denies the pod, whatever rules of its namespace say.
#[test]
fn a_denial_stays_a_denial() {
    let cluster = rule("proxy", "required: true\nvolumes: [{name: certs, emptyDir: {}}]");
    let rules = rules(&(settings(ALL) + &cluster + &own("team", "{pod: {labels: {team: blue}}}")));
    let taken =
        pod(r#"{"volumes":[{"name":"certs","configMap":{"name":"a"}}],"containers":[{"name":"app"}]}"#);
    let decision = decide(&rules, &taken);
    assert_eq!(words(&decision), ["denied", "object_denied"]);
    assert!(decision.patch().is_empty() && decision.denial().is_some());
}

/// An administrator may run a pod with access to the node in the namespace of a team.
#[test]
fn a_pod_with_access_to_the_node_gets_no_container_variable_or_mount() {
    let sidecar = "{sidecars: [{name: s, image: 's:1'}]}";
    let variable = "{containerPatches: [{select: {names: [app]}, env: [{name: LD_PRELOAD, value: a}]}]}";
    let label = "{pod: {labels: {team: blue}}}";
    let privileged = r#"{"containers":[{"name":"app","securityContext":{"privileged":true}}]"#;
    let privileged_with = r#"{"containers":[{"name":"app","securityContext":"#;
    for (spec, words) in [
        (r#"{"hostNetwork":true,"containers":[{"name":"app"}]}"#.to_owned(), ["not_allowed", "not_allowed"]),
        (r#"{"hostPID":true,"containers":[{"name":"app"}]}"#.to_owned(), ["not_allowed", "not_allowed"]),
        (r#"{"hostIPC":true,"containers":[{"name":"app"}]}"#.to_owned(), ["not_allowed", "not_allowed"]),
        (
            r#"{"securityContext":{"seLinuxOptions":{"type":"spc_t"}},"containers":[{"name":"app"}]}"#.to_owned(),
            ["not_allowed", "not_allowed"],
        ),
        (format!("{privileged}}}"), ["applied", "not_allowed"]),
        (format!(r#"{privileged},"shareProcessNamespace":true}}"#), ["not_allowed", "not_allowed"]),
        (
            r#"{"containers":[{"name":"app","securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}]}"#.to_owned(),
            ["applied", "not_allowed"],
        ),
        (
            r#"{"volumes":[{"name":"v","hostPath":{"path":"/"}}],"containers":[{"name":"app","volumeMounts":[{"name":"v","mountPath":"/v"}]}]}"#
                .to_owned(),
            ["applied", "not_allowed"],
        ),
        (
            format!(r#"{privileged_with}{{"capabilities":{{"add":["NET_BIND_SERVICE"]}}}}}}]}}"#),
            ["applied", "applied"],
        ),
        (format!(r#"{privileged_with}{{"procMount":"Unmasked"}}}}]}}"#), ["applied", "not_allowed"]),
        (format!(r#"{privileged_with}{{"seLinuxOptions":{{"type":"spc_t"}}}}}}]}}"#), ["applied", "not_allowed"]),
    ] {
        let of = |mine: &str| {
            let rules = rules(&(settings(ALL) + &own("team", mine)));
            crate::kit::word(&decide(&rules, &pod(&spec)))
        };
        assert_eq!([of(sidecar), of(variable)], words, "{spec}");
        assert_eq!(of(label), "applied");
    }
}

/// Regression test: a sidecar could write what a privileged container of the pod runs.
#[test]
fn a_volume_of_a_container_with_access_to_the_node_is_mounted_by_no_other() {
    let mine = "{sidecars: [{name: s, image: 's:1', volumeMounts: [{name: scripts, mountPath: /s}]}]}";
    let patch =
        "{containerPatches: [{select: {names: [app]}, volumeMounts: [{name: scripts, mountPath: /s}]}]}";
    let mounts = r#""volumeMounts":[{"name":"scripts","mountPath":"/scripts"}]"#;
    let reads =
        r#""env":[{"name":"A","valueFrom":{"fileKeyRef":{"volumeName":"scripts","path":"p","key":"k"}}}]"#;
    for (uses, privileged, word) in
        [(mounts, "true", "not_allowed"), (reads, "true", "not_allowed"), (mounts, "false", "applied")]
    {
        let pod = pod(&format!(
            r#"{{"volumes":[{{"name":"scripts","emptyDir":{{}}}}],"containers":[{{"name":"app"}},{{"name":"agent",{uses},"securityContext":{{"privileged":{privileged}}}}}]}}"#
        ));
        for mine in [mine, patch] {
            let rules = rules(&(settings(ALL) + &own("team", mine)));
            assert_eq!(words(&decide(&rules, &pod)), [word], "{uses} {privileged} {mine}");
        }
    }
}
