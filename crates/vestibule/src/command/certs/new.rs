//! `certs new`: a certificate for a server that keeps none itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use vestibule_identity::{NamespacedName, Pair, PairError, RegistrationKind, RegistrationName};

use super::print;
use super::time::date;
use crate::command::{CommandError, say};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes a certificate for a server, its key, and a CA that vouches for it: ca.crt, server.crt, server.key.
///
/// The CA signs this one certificate; its key is erased at once, so nobody can sign another that your cluster trusts.
/// Both are valid from an hour ago, for --days. Nothing renews them: `serve --identity self` does that by itself.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule certs new --service hooks --namespace demo --out certs
  vestibule certs new --dns localhost --dns 127.0.0.1 --out certs
  vestibule certs new --service demo/hooks -o secret | kubectl apply -f -
  vestibule certs new --service demo/hooks --out certs -o patch --registration mutating/hooks |
    kubectl patch mutatingwebhookconfiguration hooks --type=json --patch-file=/dev/stdin")]
pub(super) struct Arguments {
    /// The Service in front of the server: NAME with --namespace, or NS/NAME.
    #[arg(long, value_name = "[NS/]NAME", required_unless_present = "dns")]
    service: Option<String>,
    /// The Service's namespace.
    #[arg(long, short, env = "POD_NAMESPACE")]
    namespace: Option<String>,
    /// A DNS name or IP address that the certificate is for; may be given several times, also beside --service.
    #[arg(long, value_name = "NAME")]
    dns: Vec<String>,
    /// The cluster's DNS domain.
    #[arg(long, default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// The folder to write ca.crt, server.crt and server.key into.
    #[arg(long, value_name = "DIR", required_unless_present = "output")]
    out: Option<PathBuf>,
    /// Replace files that are there already.
    #[arg(long, requires = "out")]
    force: bool,
    /// How many days both certificates are valid.
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36500))]
    days: u32,
    /// What to print besides: a Secret of type kubernetes.io/tls, or a JSON patch that sets `caBundle`.
    #[arg(long, short, value_enum)]
    output: Option<Output>,
    /// The Secret's name, with `-o secret`. Otherwise the Service's with `-tls`, or `webhook-tls`.
    #[arg(long, value_name = "[NS/]NAME")]
    secret: Option<String>,
    /// What the patch is for, with `-o patch`: mutating/NAME, validating/NAME, crd/NAME or apiservice/NAME.
    #[arg(long, value_name = "KIND/NAME")]
    registration: Option<RegistrationName>,
    /// How many hooks the registration has, with `-o patch`: each gets the bundle.
    #[arg(long, default_value_t = 1, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    hooks: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A Secret of type kubernetes.io/tls, as YAML
    Secret,
    /// A JSON patch for a webhook registration
    Patch,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        if self.output == Some(Output::Patch) && self.out.is_none() {
            return Err(CommandError::input(
                "a patch alone would lose the key: say where certificate and key go, --out DIR",
            ));
        }
        let service = self.service.as_deref().map(|name| self.namespaced(name)).transpose()?;
        let names = self.names(service.as_ref());
        let data = match self.output {
            // Before anything is made.
            Some(Output::Patch) if self.registration.is_none() => {
                return Err(CommandError::input("say what the patch is for: --registration mutating/NAME"));
            }
            other => other,
        };
        let pair = Pair::new(&names, SystemTime::now(), DAY * self.days).map_err(CommandError::input)?;
        if let Some(folder) = &self.out {
            pair.write(folder, self.force).map_err(refused)?;
            tell_of_files(folder, &names, &pair);
        }
        match (data, &self.registration) {
            (Some(Output::Secret), _) => self.print_secret(&pair, service.as_ref(), &names)?,
            (Some(Output::Patch), Some(registration)) => print_patch(&pair, registration, self.hooks)?,
            _ => self.tell_what_next(&names),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn namespaced(&self, name: &str) -> Result<NamespacedName, CommandError> {
        NamespacedName::parse_in(name, self.namespace.as_deref())
            .map_err(|error| CommandError::input(format_args!("{error}, or give --namespace")))
    }

    fn names(&self, service: Option<&NamespacedName>) -> Vec<String> {
        let service = service.into_iter().flat_map(|NamespacedName { namespace, name }| {
            let short = format!("{name}.{namespace}.svc");
            let long = format!("{short}.{}", self.cluster_domain);
            [short, long]
        });
        service.chain(self.dns.iter().cloned()).collect()
    }

    fn print_secret(
        &self,
        pair: &Pair,
        service: Option<&NamespacedName>,
        names: &[String],
    ) -> Result<(), CommandError> {
        let beside =
            service.map_or_else(|| "webhook-tls".to_owned(), |service| format!("{}-tls", service.name));
        let given = self.secret.as_deref().unwrap_or(&beside);
        let namespace = self.namespace.as_deref().or(service.map(|service| service.namespace.as_str()));
        let (namespace, name) = match (NamespacedName::parse_in(given, namespace), namespace) {
            (Ok(secret), _) => (Some(secret.namespace), secret.name),
            (Err(_), None) if !given.contains('/') => (None, given.to_owned()),
            (Err(error), _) => return Err(CommandError::input(error)),
        };
        let field = |name: &str, text: &str| (name.to_owned(), ByteString(text.as_bytes().to_vec()));
        let secret = Secret {
            metadata: ObjectMeta { name: Some(name), namespace, ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(BTreeMap::from([
                field("tls.crt", pair.chain()),
                field("tls.key", pair.key()),
                field("ca.crt", pair.ca_bundle()),
            ])),
            ..Secret::default()
        };
        let yaml = serde_saphyr::to_string(&secret).map_err(CommandError::running)?;
        say(format_args!("a certificate for {}, valid until {}", names.join(", "), date(pair.not_after())));
        print(&yaml)
    }

    fn tell_what_next(&self, names: &[String]) {
        let Some(folder) = &self.out else { return };
        let folder = folder.display();
        let name = names.first().map_or("NAME", String::as_str);
        say(format_args!(
            "next: start the server with them (vestibule serve --identity mounted:{folder} --mounted-certificate \
             server.crt --mounted-key server.key), and register {folder}/ca.crt as caBundle (-o patch);\nthen: vestibule \
             certs check HOST:PORT --ca {folder}/ca.crt --dns {name}"
        ));
    }
}

fn tell_of_files(folder: &Path, names: &[String], pair: &Pair) {
    let folder = folder.display();
    say(format_args!("wrote {folder}/ca.crt      the CA, for caBundle; its key was erased"));
    say(format_args!(
        "wrote {folder}/server.crt  for {}, valid until {}",
        names.join(", "),
        date(pair.not_after())
    ));
    say(format_args!("wrote {folder}/server.key  readable by you only"));
}

fn print_patch(pair: &Pair, registration: &RegistrationName, hooks: u16) -> Result<(), CommandError> {
    let bundle = ByteString(pair.ca_bundle().as_bytes().to_vec());
    let paths: Vec<String> = match registration.kind {
        RegistrationKind::CustomResource => vec!["/spec/conversion/webhook/clientConfig/caBundle".to_owned()],
        RegistrationKind::ApiService => vec!["/spec/caBundle".to_owned()],
        _ => (0..hooks).map(|hook| format!("/webhooks/{hook}/clientConfig/caBundle")).collect(),
    };
    let operations: Vec<_> =
        paths.into_iter().map(|path| json!({ "op": "add", "path": path, "value": bundle })).collect();
    let resource = match registration.kind {
        RegistrationKind::Mutating => "mutatingwebhookconfiguration",
        RegistrationKind::Validating => "validatingwebhookconfiguration",
        RegistrationKind::CustomResource => "customresourcedefinition",
        _ => "apiservice",
    };
    let name = &registration.name;
    say(format_args!("apply it: kubectl patch {resource} {name} --type=json --patch-file=FILE"));
    print(&format!("{}\n", json!(operations)))
}

fn refused(error: PairError) -> CommandError {
    match error {
        PairError::Exists { .. } => {
            CommandError::input(format_args!("{error}; --force replaces all three files"))
        }
        other => CommandError::input(other),
    }
}
