//! Pods as a ReplicaSet makes them and kube-apiserver sends them.

use std::fmt::Write;

/// A pod of this many containers and environment variables.
pub(super) fn of(containers: usize, variables: usize) -> String {
    pod(containers, variables, "", "")
}

/// A pod with this many annotations of some length.
pub(super) fn annotated(count: usize) -> String {
    let one = |n| format!(r#""example.com/note-{n:04}":"{{\"team\":\"shop\",\"number\":{n}}}""#);
    let annotations: Vec<_> = (0..count).map(one).collect();
    pod(2, 4, &format!(r#""annotations":{{{}}},"#, annotations.join(",")), "")
}

/// A pod whose texts are not ASCII, with every escape of JSON.
pub(super) fn unicode() -> String {
    let texts = [
        "Grüße aus dem Süden",
        "заказ принят",
        "注文を受け付けました",
        "🚀🧭🪄 на ходу",
        r#"tab\tquote\"slash\/back\\line\nreturn\rfeed\fbell\b"#,
        r"\u00e9\u20ac\ud83d\ude80\u2028\u0000",
        r"<b>\u003cnot\u003e&amp;</b>",
    ];
    let mut env = String::new();
    for n in 0..40 {
        let text = texts[n % texts.len()];
        let _ = write!(env, r#"{{"name":"TEXT_{n:03}","value":"{text} {n}"}},"#);
    }
    pod(2, 4, r#""annotations":{"example.com/größe":"«klein» \ud83d\ude80","example.com/注":"値"},"#, &env)
}

fn pod(containers: usize, variables: usize, annotations: &str, env: &str) -> String {
    let containers = containers.max(1);
    let share = |n: usize| variables / containers + usize::from(n < variables % containers);
    let each = |make: fn(usize, usize, &str) -> String| {
        let all: Vec<_> = (0..containers).map(|n| make(n, share(n), if n == 0 { env } else { "" })).collect();
        all.join(",")
    };
    let managed = each(|n, variables, _| managed(n, variables));
    let spec = each(container);
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"generateName":"web-6d4b75cb6d-","namespace":"shop","creationTimestamp":null,"labels":{{"app":"web","pod-template-hash":"6d4b75cb6d","tier":"front"}},{annotations}"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4b75cb6d","uid":"7d1b1c9a-1d36-4c0b-8a35-8f3c7b0b5b11","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:generateName":{{}},"f:labels":{{".":{{}},"f:app":{{}},"f:pod-template-hash":{{}},"f:tier":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"7d1b1c9a-1d36-4c0b-8a35-8f3c7b0b5b11\"}}":{{}}}}}},"f:spec":{{"f:affinity":{{}},"f:containers":{{{managed}}},"f:dnsPolicy":{{}},"f:enableServiceLinks":{{}},"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:securityContext":{{}},"f:terminationGracePeriodSeconds":{{}},"f:volumes":{{".":{{}},"k:{{\"name\":\"settings\"}}":{{".":{{}},"f:configMap":{{".":{{}},"f:defaultMode":{{}},"f:name":{{}}}},"f:name":{{}}}}}}}}}}}}]}},"spec":{{"volumes":[{{"name":"settings","configMap":{{"name":"shop-settings","defaultMode":420}}}},{{"name":"kube-api-access-x7k2p","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":[{spec}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","nodeSelector":{{"kubernetes.io/os":"linux"}},"serviceAccountName":"shop","serviceAccount":"shop","securityContext":{{"runAsNonRoot":true,"fsGroup":2000}},"affinity":{{"podAntiAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":100,"podAffinityTerm":{{"labelSelector":{{"matchLabels":{{"app":"web"}}}},"topologyKey":"kubernetes.io/hostname"}}}}]}}}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{}}}}"#
    )
}

/// The container of this number. `env` are further variables, each with a comma after it.
pub(super) fn container(number: usize, variables: usize, env: &str) -> String {
    let (name, port) = (name(number), 8080 + number);
    let variables: Vec<_> = (0..variables).map(variable).collect();
    format!(
        r#"{{"name":"{name}","image":"registry.example.com/shop/{name}:1.4.{number}","args":["--listen=:{port}","--log=info"],"ports":[{{"name":"http","containerPort":{port},"protocol":"TCP"}}],"envFrom":[{{"configMapRef":{{"name":"shop-common"}}}}],"env":[{env}{{"name":"POD_IP","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}}{}{}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"settings","readOnly":true,"mountPath":"/etc/shop"}},{{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":{port},"scheme":"HTTP"}},"initialDelaySeconds":5,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"readinessProbe":{{"httpGet":{{"path":"/readyz","port":{port},"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":5,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"capabilities":{{"drop":["ALL"]}},"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}}}}"#,
        if variables.is_empty() { "" } else { "," },
        variables.join(",")
    )
}

fn variable(number: usize) -> String {
    match number % 4 {
        3 => format!(
            r#"{{"name":"SECRET_{number:05}","valueFrom":{{"secretKeyRef":{{"name":"shop-secrets","key":"secret-{number:05}"}}}}}}"#
        ),
        _ => format!(r#"{{"name":"SETTING_{number:05}","value":"https://s{number}.example.com/v1"}}"#),
    }
}

/// The entry of the container in `managedFields`.
fn managed(number: usize, variables: usize) -> String {
    let port = 8080 + number;
    let mut env = String::new();
    for variable in 0..variables {
        let _ = match variable % 4 {
            3 => write!(
                env,
                r#","k:{{\"name\":\"SECRET_{variable:05}\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:secretKeyRef":{{}}}}}}"#
            ),
            _ => write!(
                env,
                r#","k:{{\"name\":\"SETTING_{variable:05}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}}"#
            ),
        };
    }
    format!(
        r#""k:{{\"name\":\"{}\"}}":{{".":{{}},"f:args":{{}},"f:env":{{".":{{}},"k:{{\"name\":\"POD_IP\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:fieldRef":{{}}}}}}{env}}},"f:envFrom":{{}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:livenessProbe":{{".":{{}},"f:failureThreshold":{{}},"f:httpGet":{{".":{{}},"f:path":{{}},"f:port":{{}},"f:scheme":{{}}}},"f:periodSeconds":{{}}}},"f:name":{{}},"f:ports":{{".":{{}},"k:{{\"containerPort\":{port},\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}},"f:name":{{}},"f:protocol":{{}}}}}},"f:resources":{{".":{{}},"f:limits":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:securityContext":{{}},"f:volumeMounts":{{".":{{}},"k:{{\"mountPath\":\"/etc/shop\"}}":{{".":{{}},"f:mountPath":{{}},"f:name":{{}},"f:readOnly":{{}}}}}}}}"#,
        name(number)
    )
}

fn name(number: usize) -> String {
    if number == 0 { "shop".to_owned() } else { format!("part-{number:03}") }
}
