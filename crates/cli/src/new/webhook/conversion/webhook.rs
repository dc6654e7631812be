//! Widgets on a real API server, written and read in both versions.

use kube::Api;
use my_converter::{v1, v2};
use vestibule_test::Cluster;

#[tokio::test]
async fn a_widget_is_written_in_one_version_and_read_in_the_other() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(my_converter::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let first: Api<v1::Widget> = Api::namespaced(cluster.client(), &namespace);
    let second: Api<v2::Widget> = Api::namespaced(cluster.client(), &namespace);
    let widget = |address: &str| v1::Widget::new("web", v1::WidgetSpec { address: address.to_owned() });

    first.create(&Default::default(), &widget("example.org:8080")).await.unwrap();
    let read = second.get("web").await.unwrap();
    assert_eq!(read.spec, v2::WidgetSpec { host: "example.org".to_owned(), port: 8080 });

    let refused = first.create(&Default::default(), &widget("example.org")).await.unwrap_err();
    assert!(refused.to_string().contains("spec.address is not HOST:PORT"), "{refused}");
}
