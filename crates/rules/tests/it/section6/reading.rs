//! What is read before anything is done: documents, and values that pods bring.

use vestibule_rules::{Position, RuleSet};

use crate::kit::schema;

const TYPO: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata:
  name: nginx
spec:
  match:
    objects:
      labels: {app: web}
  sidecars:
  - name: nginx
    image: nginx
    volumeMount: [{name: conf, mountPath: /etc/nginx}]
  volumes: [{name: conf, emptyDir: {}}]
";

#[test]
fn row_35_a_typo_is_refused_at_its_place() {
    let findings = RuleSet::load([("rules.yaml", TYPO)], schema()).err().unwrap();
    let [finding] = &*findings else { panic!("{findings:?}") };
    let Position { line, column, .. } = finding.position();
    assert_eq!((finding.code().id, line, column), ("VST0110", 12, 5));
    assert_eq!(finding.help(), Some("did you mean `volumeMounts`?"));
}
