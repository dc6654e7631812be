//! A Deployment as a user applies it.

use super::pod::container;

/// A Deployment of three containers.
pub(super) fn text() -> String {
    let containers = [container(0, 8, ""), container(1, 4, ""), container(2, 4, "")].join(",");
    format!(
        r#"{{"kind":"Deployment","apiVersion":"apps/v1","metadata":{{"name":"web","namespace":"shop","uid":"9a3f0d4e-6f3c-4a0e-9a59-2d7d4a5f0b11","generation":1,"creationTimestamp":"2026-11-01T10:00:00Z","labels":{{"app":"web"}},"managedFields":[{{"manager":"kubectl","operation":"Apply","apiVersion":"apps/v1","time":"2026-11-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{"f:app":{{}}}}}},"f:spec":{{"f:replicas":{{}},"f:selector":{{}},"f:template":{{"f:metadata":{{"f:labels":{{"f:app":{{}}}}}},"f:spec":{{"f:containers":{{}}}}}}}}}}}}]}},"spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"creationTimestamp":null,"labels":{{"app":"web"}}}},"spec":{{"volumes":[{{"name":"settings","configMap":{{"name":"shop-settings","defaultMode":420}}}},{{"name":"kube-api-access-x7k2p","emptyDir":{{}}}}],"containers":[{containers}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"shop","securityContext":{{}},"schedulerName":"default-scheduler"}}}},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"25%","maxSurge":"25%"}}}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600}},"status":{{}}}}"#
    )
}
