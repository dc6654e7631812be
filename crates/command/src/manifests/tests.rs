use std::time::Duration;

use clap::Parser;
use k8s_openapi::api::core::v1::Pod;

use super::super::{Arguments, Command};
use super::*;
use vestibule::Operation::Create;
use vestibule::{Context, FailurePolicy, Reject, on};

async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

fn app() -> App {
    App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label)
}

fn parsed(arguments: &[&str]) -> Command {
    Arguments::try_parse_from(["demo"].iter().chain(arguments))
        .unwrap_or_else(|error| panic!("{error}"))
        .command
}

fn installation(app: &App, arguments: &[&str]) -> Installation {
    let Command::Manifests(manifests) = parsed(arguments) else { panic!("manifests") };
    manifests.installation(app).unwrap_or_else(|error| panic!("{error}"))
}

fn objects(arguments: &[&str]) -> Result<Vec<Value>, CommandError> {
    let Command::Manifests(manifests) = parsed(arguments) else { panic!("manifests") };
    let app = manifests.cluster.at_paths(app())?;
    manifests.objects(&app, &manifests.installation(&app)?)
}

/// The arguments of the printed Deployment.
fn told(objects: &[Value]) -> Vec<&str> {
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    arguments.as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect()
}

#[test]
fn an_installation_with_another_name_shares_its_service_unless_it_names_one() {
    for (flags, shares) in
        [(&[][..], false), (&["--name", "blue"], true), (&["--name", "blue", "--service", "blue"], false)]
    {
        let asked = ["manifests", "--namespace", "shop"].iter().chain(flags).copied();
        let Command::Manifests(manifests) = parsed(&asked.collect::<Vec<_>>()) else { panic!("manifests") };
        let installation = manifests.installation(&app()).unwrap();
        let service = installation.target.service_name().unwrap();
        assert_eq!(manifests.shares_service(&app(), &installation, &service), shares, "{flags:?}");
    }
}

#[test]
fn the_arguments_of_the_pods_match_the_other_objects() {
    for (flags, port, metrics) in [
        (&[][..], 10250, 9090),
        (&["--host-network"], 10260, 10261),
        (
            &["--name", "blue", "--port", "8443", "--metrics-port", "8080", "--service", "shop/hook:8443"],
            8443,
            8080,
        ),
        (&["--secret", "ring", "--registration", "green", "--registration-mode", "static"], 10250, 9090),
        (&["--drain-timeout", "3m", "--drain-delay", "1500ms", "--cluster-domain", "a.b"], 10250, 9090),
        (
            &["--identity", "mounted:/certs", "--", "--tls-min", "1.3", "--mounted-key", "key.pem"],
            10250,
            9090,
        ),
    ] {
        let asked = ["manifests", "--namespace", "shop", "--image", "demo:1"].iter().chain(flags).copied();
        let objects = objects(&asked.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
        let told = told(&objects);
        let Command::Serve(serve) = parsed(&told) else { panic!("serve: {told:?}") };
        assert_eq!(serve.listen(&app()).port(), port, "{told:?}");
        assert_eq!(serve.metrics_listen(&app()).unwrap().port(), metrics, "{told:?}");
        let settings = serve.settings(&app()).unwrap_or_else(|error| panic!("{told:?}: {error}"));
        assert_eq!(settings.service.unwrap().namespace, "shop");
        // The ring's rights are for the very objects that the pods will write to.
        let rules = objects.iter().filter_map(|object| object["rules"].as_array()).flatten();
        let names: Vec<_> = rules.filter_map(|rule| rule["resourceNames"].as_array()).flatten().collect();
        assert_eq!(names.is_empty(), settings.secret.is_none(), "{told:?}");
        for written in settings
            .secret
            .map(|secret| secret.name)
            .into_iter()
            .chain(settings.registrations.iter().map(|registration| registration.name.clone()))
        {
            assert!(names.contains(&&json!(written)), "{written}: {names:?}");
        }
    }
}

#[test]
fn hooks_are_registered_and_served_where_the_flags_have_them() {
    let flags = ["manifests", "--namespace=shop", "--image=demo:1", "--registration-mode=static"];
    let at = |path: &'static str| objects(&flags.into_iter().chain(["--path", path]).collect::<Vec<_>>());
    let objects = at("label=/mutate").unwrap_or_else(|error| panic!("{error}"));
    assert!(told(&objects).contains(&"--path=label=/mutate"));
    let paths: Vec<_> =
        objects.iter().filter_map(|object| object.pointer("/webhooks/0/clientConfig/service/path")).collect();
    assert_eq!(paths, [&json!("/mutate")]);
    for (path, words) in [
        ("label", "write HOOK=/PATH"),
        ("label=mutate", "write `/`"),
        ("other=/mutate", "there is no hook `other`; there are label"),
    ] {
        let error = at(path).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = App::new("converter").at_path("widgets", "/convert").err().unwrap();
    assert!(error.ends_with("there is no hook `widgets`; there are none"), "{error}");
}

#[test]
fn the_apps_defaults_need_no_flag() {
    let app = app().service("shop/hook").image("demo:1").port(8443);
    let defaults = installation(&app, &["manifests"]);
    assert_eq!((defaults.target.to_string().as_str(), defaults.pod_port()), ("shop/hook:443", 8443));
    assert_eq!(defaults.registration_mode(), RegistrationMode::Managed);
    assert_eq!(defaults.drain_timeout, Duration::from_secs(95));

    // A flag overrides the app.
    let app = app.host_network();
    for (flag, expected) in [("--host-network", true), ("--host-network=false", false)] {
        assert_eq!(installation(&app, &["manifests", flag]).host_network, expected);
    }

    // The app's image is for pods, and on a laptop there are none.
    let flags = ["manifests", "--url", "https://127.0.0.1:8443", "--identity", "local:ca"];
    assert!(installation(&app, &flags).image.is_none());
}

#[test]
fn mounted_files_use_no_ring_secret() {
    let app = app().secret("ring");
    let flags = ["manifests", "--namespace", "shop", "--image", "demo:1", "--identity", "mounted:/certs"];
    let objects = installation(&app, &flags).manifests(&app).unwrap();
    let Command::Serve(serve) = parsed(&told(&objects)) else { panic!("serve") };
    assert!(serve.settings(&app).is_ok(), "{:?}", told(&objects));
}

#[test]
fn each_part_is_a_subset_of_all_manifests() {
    let kinds = |flags: &[&str]| {
        let asked = ["manifests", "--namespace", "shop", "--image", "demo:1"].iter().chain(flags).copied();
        let objects = objects(&asked.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
        objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let parts = ["registration", "rbac", "workload"].map(|part| kinds(&["--only", part]));
    assert!(parts.iter().all(|kinds| !kinds.is_empty()));
    let (mut all, mut together) = (kinds(&[]), parts.concat());
    all.sort();
    together.sort();
    assert_eq!(all, together);
}

#[test]
fn flags_about_pods_are_refused_without_an_image() {
    for flags in [
        &["--only", "workload"][..],
        &["--replicas", "3"],
        &["--host-network"],
        &["--drain-timeout", "3m"],
        &["--priority-class", "none"],
        &["--", "--tls-min", "1.3"],
    ] {
        let asked = ["manifests", "--namespace", "shop"].iter().chain(flags).copied().collect::<Vec<_>>();
        let error = objects(&asked).err().unwrap().to_string();
        assert!(error.contains("there are none without --image"), "{error}");
    }
}

#[test]
fn pods_get_the_flags_of_client_authentication() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clients.pem");
    std::fs::write(&file, "a CA").unwrap();
    let authorities = format!("--client-ca={}", file.display());
    let common = ["manifests", "--service", "shop/hook", "--image", "demo:1", "--client-auth=require"];
    let with = |more: &[&str]| objects(&[&common[..], more].concat()).unwrap();
    let object =
        |objects: &[Value], kind: &str| objects.iter().find(|object| object["kind"] == kind).cloned();

    let printed = with(&[&authorities, "--client-name=api", "--identity=mounted:/certs"]);
    let map = object(&printed, "ConfigMap").unwrap();
    assert_eq!(map["data"]["ca.crt"], "a CA");
    let told = told(&printed);
    let folder = "--client-ca=/etc/vestibule/client-ca/ca.crt";
    assert!(
        ["--client-auth=require", "--client-name=api", folder].iter().all(|flag| told.contains(flag)),
        "{told:?}"
    );
    assert!(matches!(parsed(&told), Command::Serve(_)));
    let pod = |objects: &[Value]| object(objects, "Deployment").unwrap()["spec"]["template"]["spec"].clone();
    assert_eq!(pod(&printed)["automountServiceAccountToken"], false);
    let mounts = pod(&printed)["containers"][0]["volumeMounts"].to_string();
    assert!(mounts.contains("/etc/vestibule/client-ca"), "{mounts}");

    // Keys are asked for by a token of the pod's own.
    let tokens = ["--token-issuer=https://issuer", "--client-name=api", "--identity=mounted:/certs"];
    assert_eq!(pod(&with(&tokens))["automountServiceAccountToken"], true);

    let refused = |arguments: &[&str]| objects(arguments).unwrap_err().to_string();
    let without_pods = refused(&[
        "manifests",
        "--service",
        "shop/hook",
        "--client-auth=require",
        "--any-client",
        &authorities,
    ]);
    assert!(without_pods.contains("is about pods"), "{without_pods}");
    let missing = refused(&[&common[..], &["--client-name=api", "--client-ca=/nowhere/ca.crt"]].concat());
    assert!(missing.starts_with("/nowhere/ca.crt: "), "{missing}");
    std::fs::write(&file, "a CA, and -----BEGIN PRIVATE KEY-----").unwrap();
    let secret = refused(&[&common[..], &["--client-name=api", &authorities]].concat());
    assert!(secret.contains("holds a private key"), "{secret}");
}
