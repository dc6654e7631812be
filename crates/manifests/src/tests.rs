use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::*;
use vestibule::Operation::Create;
use vestibule::identity::policy_rule;
use vestibule::{Change, Context, FailurePolicy, Reject, Target, Watch, on};

async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

async fn guard(_: Change<Pod>, _: Context) -> Result<(), Reject> {
    Ok(())
}

fn app() -> App {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail);
    App::new("demo").mutate("label", pods(), label).validate("guard", pods(), guard)
}

fn installation() -> Installation {
    let mut installation = Installation::of(&app(), Target::service("shop/hook").unwrap());
    installation.image = Some("registry.example.com/demo:1.0".to_owned());
    installation
}

fn kinds(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["kind"].as_str().unwrap()).collect()
}

fn find<'o>(objects: &'o [Value], kind: &str) -> &'o Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn everything_is_there_in_the_order_it_is_needed() {
    let objects = installation().manifests(&app()).unwrap();
    assert_eq!(
        kinds(&objects),
        [
            "ServiceAccount",
            "Role",
            "RoleBinding",
            "Role",
            "RoleBinding",
            "ClusterRole",
            "ClusterRoleBinding",
            "Service",
            "NetworkPolicy",
            "PodDisruptionBudget",
            "Deployment",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ]
    );
    assert!(objects.iter().all(|object| object["metadata"]["labels"]["app.kubernetes.io/name"] == "demo"));
}

fn yaml(object: &Value) -> String {
    let mut options = serde_saphyr::SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    serde_saphyr::to_string_with_options(object, options).unwrap()
}

/// A difference here changes the objects of every user who applies the manifests again.
#[test]
fn the_printed_objects_are_as_they_were() {
    let rich = app()
        .watch(Watch::<ConfigMap>::new().namespace("settings"))
        .read::<Secret>()
        .rights([policy_rule("apps", "deployments", &["list"], &[])])
        .watch(Watch::<PersistentVolumeClaim>::new());
    let mut installation = installation();
    installation.api_server_cidrs = vec!["10.0.0.0/28".to_owned()];
    let objects = installation.manifests(&rich).unwrap();
    let printed: String = objects.iter().map(|object| format!("---\n{}", yaml(object))).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/golden.yaml");
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, printed).unwrap();
    }
    assert_eq!(printed, std::fs::read_to_string(path).unwrap());
}

#[test]
fn a_watch_of_one_namespace_takes_a_right_there_alone() {
    let app = app()
        .watch(Watch::<ConfigMap>::new().namespace("settings"))
        .watch(Watch::<PersistentVolumeClaim>::new());
    let objects = installation().manifests(&app).unwrap();
    let reads = ["get", "list", "watch"];
    let there =
        objects.iter().find(|it| it["kind"] == "Role" && it["metadata"]["namespace"] == "settings").unwrap();
    assert_eq!(there["rules"], json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": reads}]));
    let everywhere = find(&objects, "ClusterRole")["rules"].as_array().unwrap();
    assert!(
        everywhere
            .contains(&json!({"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": reads}))
    );
    assert!(!everywhere.iter().any(|rule| rule.to_string().contains("configmaps")));
}

#[test]
fn on_the_nodes_network_there_are_other_ports_and_no_policy() {
    let mut installation = installation();
    installation.host_network = true;
    let objects = installation.manifests(&app()).unwrap();
    assert!(!kinds(&objects).contains(&"NetworkPolicy"));
    let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["dnsPolicy"], "ClusterFirstWithHostNet");
    let ports = pod["containers"][0]["ports"].as_array().unwrap();
    assert_eq!([&ports[0]["containerPort"], &ports[1]["containerPort"]], [10260, 10261]);
}

#[test]
fn pods_without_business_on_the_cluster_have_no_token_and_no_way_out() {
    let mut installation = installation();
    installation.identity = Source::Mounted("/certs".into());
    let objects = installation.manifests(&app()).unwrap();
    let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], "demo-tls");
    assert_eq!(pod["containers"][0]["volumeMounts"][0]["mountPath"], "/certs");
    assert_eq!(find(&objects, "NetworkPolicy")["spec"]["egress"], json!([]));
    assert!(!kinds(&objects).contains(&"ClusterRole"));
}

#[test]
fn settings_of_the_app_are_the_defaults() {
    let listen: std::net::SocketAddr = "0.0.0.0:9191".parse().unwrap();
    let said =
        app().port(8443).metrics_listen(listen).image("demo:2").replicas(3).secret("ring").host_network();
    let installation = Installation::of(&said, Target::service("shop/hook").unwrap());
    assert_eq!((installation.pod_port(), installation.pod_plain_port()), (8443, 9191));
    assert_eq!((installation.image.as_deref(), installation.replicas), (Some("demo:2"), 3));
    assert_eq!(installation.secret.unwrap().to_string(), "shop/ring");
    assert!(installation.host_network);

    let everything = PolicyRule { verbs: vec!["*".to_owned()], ..PolicyRule::default() };
    let wrong = app().service("Not a name").secret("a/b/c").port(0).rights([everything]);
    let problems = wrong.check().unwrap_err().problems;
    assert_eq!(problems.len(), 4, "{problems:?}");
}

#[test]
fn without_an_image_there_are_rights_and_configurations() {
    let mut installation = installation();
    installation.image = None;
    let objects = installation.manifests(&app()).unwrap();
    assert_eq!(
        kinds(&objects)[5..],
        ["ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    );
}

#[test]
fn the_grace_period_outlives_the_drain() {
    let grace = |installation: &Installation| {
        let objects = installation.manifests(&app()).unwrap();
        find(&objects, "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].clone()
    };
    assert_eq!(grace(&installation()), 120);
    let mut patient = installation();
    patient.drain_timeout = Duration::from_millis(200_500);
    assert_eq!(grace(&patient), 226);
}

#[test]
fn another_name_is_told_to_the_replicas() {
    let mut installation = installation();
    installation.name = "blue".to_owned();
    let objects = installation.manifests(&app()).unwrap();
    let arguments = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"];
    for argument in ["--registration=mutating/blue", "--registration=validating/blue", "--service=shop/hook"]
    {
        assert!(arguments.as_array().unwrap().contains(&argument.into()), "{arguments}");
    }
    assert_eq!(find(&objects, "MutatingWebhookConfiguration")["metadata"]["name"], "blue");
}

#[test]
fn no_right_is_a_wildcard() {
    let objects = installation().manifests(&app().reads_namespaces()).unwrap();
    let rules = objects.iter().filter_map(|object| object["rules"].as_array()).flatten();
    assert!(rules.filter(|rule| rule["apiGroups"].is_array()).all(|rule| !rule.to_string().contains('*')));
}

#[test]
fn impossible_settings_are_refused_together() {
    let mut installation = installation();
    installation.identity = Source::Local("ca".into());
    installation.port = Some(9090);
    installation.drain_delay = Duration::from_secs(120);
    installation.cluster_domain = "cluster.local.".to_owned();
    let error = installation.manifests(&app()).unwrap_err().to_string();
    assert!(error.contains("`local:ca`") && error.contains("both ports are 9090"), "{error}");
    assert!(error.contains("`cluster.local.` is no DNS domain"), "{error}");
    assert!(error.contains("accepted for 120s of a drain that ends after 95s"), "{error}");

    let mut elsewhere = Installation::of(&app(), Target::url("https://127.0.0.1:8443").unwrap());
    let error = elsewhere.manifests(&app()).unwrap_err().to_string();
    assert!(error.contains("the Secret of the CA ring must be named"), "{error}");
    elsewhere.secret = Some("shop/ring".parse().unwrap());
    let error = elsewhere.manifests(&app()).unwrap_err().to_string();
    assert!(error.contains("the ServiceAccount"), "{error}");
}

#[test]
fn pods_run_as_an_account_beside_them_under_a_name_that_objects_can_have() {
    let problem = |change: fn(&mut Installation)| {
        let mut installation = installation();
        change(&mut installation);
        installation.manifests(&app()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let beside = problem(|it| it.account = Some("shop/runner".parse().unwrap()));
    assert_eq!(beside, "");
    let elsewhere = problem(|it| it.account = Some("other/runner".parse().unwrap()));
    assert!(elsewhere.contains("pods in shop cannot run as other/runner"), "{elsewhere}");
    // Rights alone need no namespace.
    let rights = problem(|it| (it.account, it.image) = (Some("other/runner".parse().unwrap()), None));
    assert_eq!(rights, "");
    for name in ["Not a name", "", &"a".repeat(64), "edit"] {
        let mut installation = installation();
        (installation.name, installation.image) = (name.to_owned(), None);
        let error = installation.manifests(&app()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`:")), "{error}");
    }
}

#[test]
fn a_webhook_that_registers_itself_is_installed_without_entries_and_may_write_them() {
    let only_mutating =
        || App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label);
    let objects = installation().manifests(&only_mutating()).unwrap();
    let configuration = find(&objects, "MutatingWebhookConfiguration");
    assert!(configuration.get("webhooks").is_none(), "{configuration}");
    let rules = find(&objects, "ClusterRole")["rules"].as_array().unwrap();
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let rule = rules.iter().find(|rule| rule["resources"] == json!([resource])).unwrap();
        assert_eq!(rule["resourceNames"], json!(["demo"]), "also of the kind that a former version had");
        assert_eq!(rule["verbs"], json!(["get", "list", "watch", "patch"]));
    }

    let mut installation = installation();
    installation.registration_mode = Some(RegistrationMode::Static);
    let objects = installation.manifests(&only_mutating()).unwrap();
    assert_eq!(find(&objects, "MutatingWebhookConfiguration")["webhooks"].as_array().unwrap().len(), 1);
    let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
    let arguments = pod["containers"][0]["args"].as_array().unwrap();
    assert!(arguments.contains(&json!("--registration-mode=static")), "{arguments:?}");
}
