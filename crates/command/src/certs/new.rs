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
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName};

use super::pair::Pair;
use super::time::date;
use super::{object_name, print};
use crate::shell_quote::program;
use crate::{CommandError, say, shell_quoted};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes a certificate for a server, its key, and a CA that signs it: ca.crt, server.crt, server.key.
///
/// The CA signs this one certificate; its key is erased at once, so that no other certificate can be signed that your
/// cluster trusts. Both are valid from an hour ago, for --days. Nothing renews them: `serve --identity self` does that
/// by itself.
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
    /// Also print this on stdout: a Secret of type kubernetes.io/tls, or a JSON patch that sets `caBundle`.
    #[arg(long, short, value_enum)]
    output: Option<Output>,
    /// The Secret's name, with `-o secret`. Otherwise the Service's with `-tls`, or `webhook-tls`.
    #[arg(long, value_name = "[NS/]NAME")]
    secret: Option<String>,
    /// The registration to patch, with `-o patch`: mutating/NAME, validating/NAME, crd/NAME or apiservice/NAME.
    #[arg(long, value_name = "KIND/NAME")]
    registration: Option<RegistrationName>,
    /// How many hooks the registration has, with `-o patch`: each gets the bundle.
    #[arg(long, default_value_t = 1, requires = "registration")]
    #[arg(value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    hooks: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A Secret of type kubernetes.io/tls, as YAML
    Secret,
    /// A JSON patch for a webhook registration
    Patch,
}

/// The data on stdout.
enum Printed<'a> {
    Secret(Box<ObjectMeta>),
    Patch(&'a RegistrationName),
}

impl Arguments {
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        let service = self.service.as_deref().map(|name| self.namespaced(name)).transpose()?;
        let names = self.names(service.as_ref());
        // Before anything is made.
        let printed = self.printed(service.as_ref())?;
        let pair = Pair::new(&names, SystemTime::now(), DAY * self.days).map_err(CommandError::input)?;
        if let Some(folder) = &self.out {
            pair.write(folder, self.force)?;
            report_files(folder, &names, &pair);
        }
        match printed {
            Some(Printed::Secret(metadata)) => print_secret(&pair, *metadata, &names)?,
            Some(Printed::Patch(registration)) => print_patch(&pair, registration, self.hooks)?,
            None => self.say_next_steps(&names),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn printed(&self, service: Option<&NamespacedName>) -> Result<Option<Printed<'_>>, CommandError> {
        let flags = [
            ("--secret", self.secret.is_some(), Output::Secret, "-o secret"),
            ("--registration", self.registration.is_some(), Output::Patch, "-o patch"),
        ];
        if let Some((flag, .., output)) =
            flags.into_iter().find(|(_, given, output, _)| *given && self.output != Some(*output))
        {
            return Err(CommandError::input(format_args!("{flag} is for `{output}`")));
        }
        match (self.output, &self.registration) {
            (None, _) => Ok(None),
            (Some(Output::Secret), _) => Ok(Some(Printed::Secret(Box::new(self.secret_metadata(service)?)))),
            (Some(Output::Patch), _) if self.out.is_none() => Err(CommandError::input(
                "a patch alone would lose the key: say where certificate and key go, --out DIR",
            )),
            (Some(Output::Patch), None) => {
                Err(CommandError::input("say what the patch is for: --registration mutating/NAME"))
            }
            (Some(Output::Patch), Some(registration)) => Ok(Some(Printed::Patch(registration))),
        }
    }

    fn namespaced(&self, name: &str) -> Result<NamespacedName, CommandError> {
        // As with `serve`, a Service may come with its port.
        let name = name.split_once(':').map_or(name, |(name, _)| name);
        match (name.contains('/'), &self.namespace) {
            (false, None) => Err(CommandError::input(format_args!(
                "where is the Service {name}? Write NAMESPACE/{name}, or give --namespace"
            ))),
            (_, namespace) => object_name(name, namespace.as_deref()),
        }
    }

    fn names(&self, service: Option<&NamespacedName>) -> Vec<String> {
        let service = service.into_iter().flat_map(|service| service.dns_names(&self.cluster_domain));
        service.chain(self.dns.iter().cloned()).collect()
    }

    fn secret_metadata(&self, service: Option<&NamespacedName>) -> Result<ObjectMeta, CommandError> {
        let namespace = service.map(|service| service.namespace.as_str());
        let (name, namespace) = match (&self.secret, service) {
            (Some(secret), _) => (secret.clone(), namespace.or(self.namespace.as_deref())),
            (None, Some(service)) => (format!("{}-tls", service.name), namespace),
            (None, None) => ("webhook-tls".to_owned(), self.namespace.as_deref()),
        };
        // Without a namespace, `kubectl apply` decides it.
        let is_placed = namespace.is_some() || name.contains('/');
        let secret = object_name(&name, namespace.or(Some("default")))?;
        let namespace = is_placed.then_some(secret.namespace);
        Ok(ObjectMeta { name: Some(secret.name), namespace, ..ObjectMeta::default() })
    }

    fn say_next_steps(&self, names: &[String]) {
        let Some(folder) = &self.out else { return };
        let (folder, name) = (shell_quoted(folder.as_os_str()), names.first().map_or("NAME", String::as_str));
        say(format_args!(
            "next: {program} serve ... --identity mounted:{folder} --mounted-certificate server.crt --mounted-key server.key\n\
             and:  {program} certs check HOST:PORT --ca {folder}/ca.crt --dns {name}\nThe CA goes into every \
             `caBundle`, as `base64 -w0 {folder}/ca.crt` prints it; `-o patch` does it in one step.",
            program = program()
        ));
    }
}

fn print_secret(pair: &Pair, metadata: ObjectMeta, names: &[String]) -> Result<(), CommandError> {
    let field = |name: &str, text: &str| (name.to_owned(), ByteString(text.as_bytes().to_vec()));
    let secret = Secret {
        metadata,
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(BTreeMap::from([
            field("tls.crt", &pair.chain),
            field("tls.key", &pair.key),
            field("ca.crt", &pair.ca_bundle),
        ])),
        ..Secret::default()
    };
    let yaml = serde_saphyr::to_string(&secret).map_err(CommandError::running)?;
    say(format_args!("a certificate for {}, valid until {}", names.join(", "), date(pair.not_after)));
    print(&yaml)
}

fn report_files(folder: &Path, names: &[String], pair: &Pair) {
    let folder = folder.display();
    say(format_args!("wrote {folder}/ca.crt      the CA, for caBundle; its key was erased"));
    say(format_args!(
        "wrote {folder}/server.crt  for {}, valid until {}",
        names.join(", "),
        date(pair.not_after)
    ));
    say(format_args!("wrote {folder}/server.key  readable by you only"));
}

fn print_patch(pair: &Pair, registration: &RegistrationName, hooks: u16) -> Result<(), CommandError> {
    let bundle = ByteString(pair.ca_bundle.as_bytes().to_vec());
    let paths: Vec<String> = match registration.kind {
        RegistrationKind::CustomResource => vec!["/spec/conversion/webhook/clientConfig/caBundle".to_owned()],
        RegistrationKind::ApiService => vec!["/spec/caBundle".to_owned()],
        _ => (0..hooks).map(|hook| format!("/webhooks/{hook}/clientConfig/caBundle")).collect(),
    };
    let operations: Vec<_> =
        paths.into_iter().map(|path| json!({ "op": "add", "path": path, "value": bundle })).collect();
    let resource = registration.kind.resource().kind.to_lowercase();
    let name = &registration.name;
    say(format_args!("apply it: kubectl patch {resource} {name} --type=json --patch-file=FILE"));
    print(&format!("{}\n", json!(operations)))
}
