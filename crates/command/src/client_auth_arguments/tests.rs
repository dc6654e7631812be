use clap::Parser;
use k8s_openapi::api::core::v1::Pod;

use super::*;
use vestibule::Operation::Create;
use vestibule::{Context, FailurePolicy, Reject, on};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    clients: ClientAuthArguments,
}

async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

fn settings(flags: &str) -> Result<ClientSettings, String> {
    let flags = std::iter::once("serve").chain(flags.split_whitespace());
    let app =
        App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
    let service = Target::service("shop/hook").unwrap();
    let given = Command::try_parse_from(flags).map_err(|error| error.to_string())?;
    given.clients.settings(&app, Some(&service)).map_err(|error| error.to_string())
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    const ALONE: &str = "--client-ca alone would let every client of that CA call: name the API server's \
                         certificate with --client-name NAME, or give --any-client if the CA signs for the API server alone";
    const BOTH: &str = "--any-client and --client-name contradict each other: give one of them";
    for (flags, expected) in [
        (
            "--client-ca ca.crt",
            "--client-ca names callers, and `--client-auth off` checks none: take observe or require",
        ),
        (
            "--any-client",
            "--any-client names callers, and `--client-auth off` checks none: take observe or require",
        ),
        (
            "--client-auth require",
            "`--client-auth require` needs a way to identify clients: give --client-ca FILE or --token-issuer URL",
        ),
        (
            "--client-auth observe --client-ca ca.crt --any-client --token-keys keys.json",
            "--token-keys is about tokens: give --token-issuer URL too",
        ),
        ("--client-auth observe --client-ca ca.crt", ALONE),
        ("--client-auth require --client-ca ca.crt", ALONE),
        ("--client-auth observe --client-ca ca.crt --any-client --client-name a", BOTH),
        ("--client-auth require --client-ca ca.crt --any-client --client-name a", BOTH),
    ] {
        assert_eq!(settings(flags).unwrap_err(), expected, "{flags}");
    }
    assert!(settings("--client-auth maybe").unwrap_err().contains("write off, observe or require"));
    let unnamed = settings("--client-auth require --token-issuer https://issuer").unwrap_err();
    assert!(unnamed.contains("name the callers with --client-name"), "{unnamed}");
}

#[test]
fn certificate_flags_become_client_settings() {
    let off = settings("").unwrap();
    assert!(off.authentication == ClientAuthentication::Off && !off.needs_client());
    let known = settings("--client-auth require --client-ca ca.crt --client-name a").unwrap();
    assert_eq!(known.authorities, Some("ca.crt".into()));
    assert!(known.tokens.is_none() && !known.needs_client());
    for auth in ["observe", "require"] {
        let any = settings(&format!("--client-auth {auth} --client-ca ca.crt --any-client"));
        assert_eq!(any.unwrap().names, [""; 0]);
    }
}

#[test]
fn tokens_are_for_the_service_and_of_named_clients() {
    let known = "--client-auth require --token-issuer https://issuer --client-name a,b";
    let settings = |more: &str| settings(&format!("{known} {more}")).unwrap();
    let tokens = settings("").tokens.unwrap();
    assert_eq!(
        tokens.audiences[..2],
        ["https://hook.shop.svc:443", "https://hook.shop.svc:443/mutate/label"]
    );
    assert!(settings("").needs_client() && !settings("--token-keys keys.json").needs_client());
    assert_eq!(settings("--token-audience hook").tokens.unwrap().audiences, ["hook"]);
    assert_eq!(settings("").names, ["a", "b"]);
}

#[test]
fn files_with_private_keys_are_refused() {
    let refused = |content: &str| {
        let refused = refuse_secrets(Path::new("ca.pem"), content).unwrap_err().to_string();
        assert!(!refused.contains("c2VjcmV0"), "{refused}");
        refused
    };
    let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
    for kind in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
        let combined = format!("{certificate}-----BEGIN {kind}-----\nc2VjcmV0\n-----END {kind}-----\n");
        assert!(refused(&combined).starts_with("ca.pem holds a private key"), "{kind}");
    }
    for key in
        [r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"c2VjcmV0"}"#, r#"{"kty":"oct","k":"c2VjcmV0"}"#]
    {
        assert!(refused(key).contains("give the public keys alone"), "{key}");
        assert!(refused(&format!(r#"{{"keys":[{key}]}}"#)).contains("give the public keys alone"));
    }
    let public = r#"{"keys":[{"kty":"RSA","n":"AA","e":"AQAB"},{"kty":"EC","x":"AA","y":"AA"}]}"#;
    for content in [certificate, public] {
        assert!(refuse_secrets(Path::new("ca.pem"), content).is_ok(), "{content}");
    }
}
