use clap::Parser;
use k8s_openapi::api::core::v1::Pod;

use super::*;
use vestibule::Operation::Create;
use vestibule::{Change, Context, FailurePolicy, Reject, on};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    cluster: ClusterArguments,
}

fn arguments(text: &str) -> ClusterArguments {
    Command::parse_from(text.split(' ')).cluster
}

fn app() -> App {
    async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }
    async fn pass(_: Change<Pod>, _: Context) -> Result<(), Reject> {
        Ok(())
    }
    let app =
        App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same);
    app.validate("guard", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), pass)
}

fn settings(text: &str) -> Settings {
    let arguments = arguments(text);
    let service = arguments.service("shop/hook:8443").unwrap();
    arguments.settings(&app(), Some(&service)).ok().unwrap()
}

fn registrations(settings: &Settings) -> Vec<String> {
    settings.registrations.iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_come_from_the_app_and_its_service() {
    let settings = settings("serve");
    assert_eq!(settings.service.as_ref().unwrap().to_string(), "shop/hook");
    assert_eq!(settings.secret.as_ref().unwrap().to_string(), "shop/hook-ring");
    assert_eq!(registrations(&settings), ["mutating/demo", "validating/demo"]);
}

#[test]
fn a_bare_name_is_in_the_own_namespace() {
    let own = arguments("serve --namespace own --secret ring");
    let service = own.service("hook:8443").unwrap();
    assert_eq!(service.to_string(), "own/hook:8443");
    let settings = own.settings(&app(), Some(&service)).unwrap();
    assert_eq!(settings.secret.unwrap().to_string(), "own/ring");
    assert_eq!(self::settings("serve -n own --secret ring").secret.unwrap().to_string(), "own/ring");
    assert_eq!(own_ring("serve -n own"), "own/demo-ring");
    assert_eq!(self::settings("serve -n own --secret a/b").secret.unwrap().to_string(), "a/b");
}

/// Of an app without a Service.
fn own_ring(text: &str) -> String {
    arguments(text).settings(&app(), None).unwrap().secret.unwrap().to_string()
}

#[test]
fn the_ring_is_where_certs_looks_for_it_whatever_the_app_is_called() {
    let secret = |text| settings(text).secret;
    let service = NamespacedName { namespace: "shop".to_owned(), name: "hook".to_owned() };
    let expected = Settings::for_service(service.clone()).secret;
    assert_eq!(secret("serve"), expected);
    assert_eq!(secret("serve -n own"), expected);
    assert_eq!(app().identity_settings(service).secret, expected);
}

#[test]
fn a_bare_registration_is_of_every_kind_that_the_hooks_need() {
    let settings = settings(
        "serve --registration-mode static --registration a,crd/widgets.example.dev --registration validating/b",
    );
    let expected = ["mutating/a", "validating/a", "crd/widgets.example.dev", "validating/b"];
    assert_eq!(registrations(&settings), expected);
    let unknown = arguments("serve -n own --registration pod/a").settings(&app(), None).err().unwrap();
    assert!(unknown.to_string().contains("mutating/NAME"), "{unknown}");
}

#[test]
fn flags_of_the_ring_are_refused_for_other_sources() {
    let local = Source::Local("a".into());
    assert!(arguments("serve").refuse_without_a_ring(&local).is_ok());
    for flag in ["--secret", "--registration"] {
        let error = arguments(&format!("serve {flag} a")).refuse_without_a_ring(&local).unwrap_err();
        assert!(error.to_string().contains(flag), "{error}");
    }
}

#[test]
fn the_webhook_registers_itself_unless_told_otherwise() {
    let desired = |text| settings(text).desired.len();
    assert_eq!(desired("serve"), 2);
    assert_eq!(desired("serve --registration-mode managed --registration a"), 2);
    assert_eq!(desired("serve --registration-mode static"), 0);
    let without_a_service = |text: &str| arguments(text).settings(&app(), None);
    assert!(without_a_service("serve -n own").unwrap().desired.is_empty());
    let error = without_a_service("serve -n own --registration-mode managed").err().unwrap();
    assert!(error.to_string().contains("--service NS/NAME"), "{error}");
    let error =
        arguments("serve --registration-mode managed").refuse_without_a_ring(&Source::Off).err().unwrap();
    assert!(error.to_string().contains("--registration-mode managed is for"), "{error}");
}

#[tokio::test]
async fn the_error_without_a_cluster_names_no_purpose() {
    // Lookups need a client, and so do background work and the keys of tokens.
    let error = arguments("serve --kubeconfig /nowhere/config").client().await.err().unwrap().to_string();
    assert!(error.starts_with("the webhook needs a cluster, and no client for one can be made: "), "{error}");
}
