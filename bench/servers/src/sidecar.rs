//! The change that every server makes: a sidecar, its volume, an annotation.

use k8s_openapi::api::core::v1::{Container, EmptyDirVolumeSource, PodSpec, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Changes a pod or the template of one.
pub fn add(metadata: &mut ObjectMeta, spec: &mut PodSpec) {
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert("bench.example.com/agent".to_owned(), "1.4".to_owned());
    spec.containers.push(Container {
        name: "agent".to_owned(),
        image: Some("registry.example.com/agent:1.4".to_owned()),
        args: Some(vec!["--listen=:15000".to_owned()]),
        volume_mounts: Some(vec![VolumeMount {
            name: "agent".to_owned(),
            mount_path: "/agent".to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    });
    spec.volumes.get_or_insert_default().push(Volume {
        name: "agent".to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    });
}
