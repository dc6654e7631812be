//! `serve`: the hooks over HTTPS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use vestibule_identity::{Settings, Source};

use super::CommandError;
use super::client_auth_arguments::ClientAuthArguments;
use super::cluster_arguments::ClusterArguments;
use super::duration::duration;
use super::limit_arguments::LimitArguments;
use super::or_off::{OrOff, or_off};
use super::rotation_arguments::{MountedArguments, RotationArguments};
use crate::log_arguments::LogArguments;
use crate::logs::Logs;
use crate::terminated::terminated;
use crate::traces::{self, TraceArguments};
use vestibule::server::TlsVersion;
use vestibule::tooling::{CertificateCounters, https_port, plain_port, registers};
use vestibule::{App, Bound, Options, ServeError, Target};

/// The addresses and the certificate of the server.
#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// The HTTPS port, on every address [default: 10250]
    #[arg(long, env = "VESTIBULE_PORT", conflicts_with = "listen", value_parser = value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The address of the HTTPS port, where that is not every one.
    #[arg(long, env = "VESTIBULE_LISTEN", value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// The address of the plain port for probes and metrics, or `off` [default: port 9090 of the address that --listen
    /// names, else [::]:9090]
    #[arg(long, env = "VESTIBULE_METRICS_LISTEN", value_name = "ADDR:PORT|off", value_parser = address_or_off)]
    metrics_listen: Option<OrOff<SocketAddr>>,
    /// The source of the certificate: `self` keeps a CA ring on the cluster, mounted:DIR follows files in DIR,
    /// local:DIR keeps a CA in DIR and makes one there if need be.
    #[arg(
        long,
        env = "VESTIBULE_IDENTITY",
        value_name = "self|mounted:DIR|local:DIR",
        default_value = "self"
    )]
    identity: Source,
    /// A name that the certificate is for; may be given several times.
    #[arg(long, env = "VESTIBULE_DNS", value_delimiter = ',', value_name = "NAME")]
    dns: Vec<String>,
    /// The Service in front of the webhook, with :PORT where that is not 443; its names are added to the certificate.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "[NS/]NAME[:PORT]")]
    service: Option<String>,
    /// The URL of a process outside the cluster, in place of a Service; the certificate is for HOST.
    #[arg(long, env = "VESTIBULE_URL", value_name = "https://HOST:PORT", value_parser = Target::url, conflicts_with = "service")]
    url: Option<Target>,
    /// Outside the cluster: register the --service nevertheless, once a call of the API server to it arrives in this
    /// process.
    #[arg(long, env = "VESTIBULE_REGISTER_OUTSIDE_CLUSTER")]
    register_outside_cluster: bool,
    /// The DNS domain of the cluster, for the Service's long name [default: cluster.local]
    #[arg(long, env = "VESTIBULE_CLUSTER_DOMAIN", value_name = "DOMAIN")]
    cluster_domain: Option<String>,
    /// The oldest TLS to accept: 1.2 or 1.3.
    #[arg(long, env = "VESTIBULE_TLS_MIN", default_value = "1.2", value_name = "VERSION", value_parser = tls_version)]
    tls_min: TlsVersion,
    /// After SIGTERM, how long to go on taking connections while endpoints learn of it.
    #[arg(long, env = "VESTIBULE_DRAIN_DELAY", value_name = "DURATION", default_value = "10s", value_parser = duration)]
    drain_delay: Duration,
    /// After SIGTERM, how long to wait at most for connections to end.
    #[arg(long, env = "VESTIBULE_DRAIN_TIMEOUT", value_name = "DURATION", default_value = "95s", value_parser = duration)]
    drain_timeout: Duration,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    rotation: RotationArguments,
    #[command(flatten)]
    mounted: MountedArguments,
    #[command(flatten)]
    clients: ClientAuthArguments,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    logs: LogArguments,
    #[command(flatten)]
    traces: TraceArguments,
}

impl ServeArguments {
    /// Serves `app` until SIGTERM has drained it or SIGINT ends it.
    ///
    /// # Errors
    /// The app or the identity is not in order, or an address cannot be bound.
    pub async fn serve(&self, app: App) -> Result<(), CommandError> {
        let target = self.target(&app)?;
        let followed = app.clone();
        let following = self.cluster.follow_log_levels(&followed, target.as_ref(), self.keeps_a_ring());
        let mut terminated = pin!(terminated());
        let served = async {
            let bound = tokio::select! {
                bound = self.bind(app, |_| {}, |_| {}) => bound?,
                () = &mut terminated => {
                    tracing::info!("stopped: SIGTERM during the start");
                    return Ok(());
                }
            };
            let shutdown = bound.shutdown();
            let drained = async {
                terminated.await;
                shutdown.drain();
                std::future::pending().await
            };
            tokio::select! {
                served = bound.serve_until_signalled() => served.map_err(CommandError::running),
                never = following => match never {},
                never = drained => match never {},
            }
        }
        .await;
        traces::finish().await;
        Logs::finish();
        served
    }

    /// Writes log lines of `app` to stderr from now on, as flags, variables and, while it serves, a ConfigMap say; otherwise
    /// as [`init_logs`](super::init_logs) does. With the feature `otel`, spans of calls go where flags say; that needs a
    /// Tokio runtime.
    ///
    /// # Errors
    /// Spans cannot be sent there, or the build has no feature `otel`.
    pub fn init_logs(&self, app: &str) -> Result<(), CommandError> {
        self.logs.init(traces::layers(&self.traces, app)?);
        Ok(())
    }

    /// Binds the addresses, after changes to the settings that flags make: a test kit needs shorter times than flags
    /// allow.
    ///
    /// # Errors
    /// The app or the identity is not in order, or an address cannot be bound.
    pub async fn bind(
        &self,
        app: App,
        change_settings: impl FnOnce(&mut Settings),
        change_options: impl FnOnce(&mut Options),
    ) -> Result<Bound, CommandError> {
        let mut app = self.cluster.at_paths(app)?;
        if let Some(logs) = Logs::of_this_process() {
            app = app.reports("log level", move || logs.in_force());
        }
        // No CA is made for an app that is not in order.
        app.check().map_err(CommandError::input)?;
        let certificates = CertificateCounters::default();
        let mut settings = self.settings(&app)?;
        let target = self.target(&app)?;
        let must_reach = match &target {
            Some(target) if !settings.desired.is_empty() => {
                self.cluster.must_reach(target, self.register_outside_cluster).await?
            }
            _ => None,
        };
        settings.observer = Some(Arc::new(certificates.clone()));
        change_settings(&mut settings);
        let registers = registers(&settings);
        let identity = self.identity.open(&settings, self.cluster.kubeconfig.as_deref()).await;
        let mut options = Options::new(self.listen(&app), identity.map_err(CommandError::input)?);
        options.certificates = certificates;
        options.clients = self.clients.settings(&app, target.as_ref())?;
        options.must_reach = must_reach;
        if app.needs_client() || options.clients.needs_client() || options.must_reach.is_some() {
            options.client = Some(self.cluster.client().await?);
        }
        options.settings.probes = self.metrics_listen(&app);
        options.settings.ask_elsewhere = registers;
        options.settings.tls_min = self.tls_min;
        options.settings.drain_delay = self.drain_delay;
        options.settings.drain_timeout = self.drain_timeout;
        self.limits.apply(&mut options.settings);
        options.before_exit = Some(Logs::finish);
        traces::observe(&mut options);
        change_options(&mut options);
        app.bind(options).await.map_err(|error| match error {
            ServeError::App(_) | ServeError::Clients(_) => CommandError::input(error),
            ServeError::Bind(_) => CommandError::running(format_args!(
                "{error}; --listen and --metrics-listen take other addresses"
            )),
            other => CommandError::running(other),
        })
    }

    /// The namespace of this process, if flags or the environment name it. A Service selects only pods of its own namespace, so the
    /// namespace of `--service` is one.
    pub fn namespace(&self) -> Option<&str> {
        let service = self.service.as_deref().and_then(|service| service.split_once('/'));
        self.cluster.namespace.as_deref().or(service.map(|(namespace, _)| namespace))
    }

    /// The kubeconfig that a flag names.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.cluster.kubeconfig.as_deref()
    }

    /// Whether the certificate is of a CA ring, for which the process connects to the cluster.
    pub fn keeps_a_ring(&self) -> bool {
        self.identity == Source::SelfManaged
    }

    pub(super) fn listen(&self, app: &App) -> SocketAddr {
        let usual = || app.defaults().port.unwrap_or_else(|| https_port(app.defaults().host_network));
        self.listen.unwrap_or_else(|| everywhere(self.port.unwrap_or_else(usual)))
    }

    pub(super) fn metrics_listen(&self, app: &App) -> Option<SocketAddr> {
        // A webhook that listens on a loopback address has its probes there too.
        let named = self.listen.map(|listen| listen.ip()).filter(|ip| !ip.is_unspecified());
        let everywhere = everywhere(plain_port(app.defaults().host_network));
        let usual = || Some(named.map_or(everywhere, |ip| SocketAddr::new(ip, everywhere.port())));
        let configured = self.metrics_listen.map(|given| given.0).or(app.defaults().metrics_listen);
        configured.unwrap_or_else(usual)
    }

    /// The Service in front of the webhook. On a laptop the app's own default is ignored.
    fn service<'a>(&'a self, app: &'a App) -> Option<&'a str> {
        let usual = app.defaults().service.as_deref().filter(|_| !matches!(self.identity, Source::Local(_)));
        self.service.as_deref().or(usual)
    }

    fn target(&self, app: &App) -> Result<Option<Target>, CommandError> {
        if let Some(url) = &self.url {
            return Ok(Some(url.clone()));
        }
        self.service(app).map(|text| self.cluster.service(text)).transpose()
    }

    pub(super) fn settings(&self, app: &App) -> Result<Settings, CommandError> {
        self.mounted.refuse_without_files(&self.identity)?;
        let service = self.target(app)?;
        if service.as_ref().and_then(Target::service_name).is_none() && self.cluster_domain.is_some() {
            return Err(CommandError::input(
                "--cluster-domain is for the names of a --service, and there is none",
            ));
        }
        let mut settings = match &self.identity {
            Source::SelfManaged if service.is_none() && self.dns.is_empty() => {
                return Err(CommandError::input(
                    "the certificate has no host name: give --service NS/NAME, or --url https://HOST:PORT where \
                     the API server calls a URL; on a laptop, --identity local:DIR",
                ));
            }
            Source::SelfManaged => self.cluster.settings(app, service.as_ref())?,
            Source::Off => {
                return Err(CommandError::input(
                    "with `--identity off` there is no certificate, and nothing that could be served: it is for \
                     operators whose webhooks are switched off; take self, mounted:DIR or local:DIR",
                ));
            }
            _ => {
                self.cluster.refuse_without_a_ring(&self.identity)?;
                self.rotation.refuse_without_a_ring(&self.identity)?;
                let mut settings = Settings::default();
                settings.service = service.as_ref().and_then(Target::service_name);
                settings.names = self.url.iter().flat_map(Target::dns_names).collect();
                settings
            }
        };
        settings.names.extend(self.dns.iter().cloned());
        if let Some(domain) = &self.cluster_domain {
            settings.cluster_domain.clone_from(domain);
        }
        settings.mounted = self.mounted.files();
        if settings.all_names().is_empty() {
            settings.names = names_of_a_laptop(self.listen(app));
        }
        match &self.identity {
            Source::SelfManaged => self.rotation.apply(settings),
            _ => Ok(settings),
        }
    }
}

/// The IPv6 wildcard address takes IPv4 too, unless the system forbids it; pods of some clusters have IPv6 alone.
fn everywhere(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
}

fn names_of_a_laptop(listen: SocketAddr) -> Vec<String> {
    let ip = listen.ip();
    let ip = if ip.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { ip };
    vec!["localhost".to_owned(), ip.to_string()]
}

fn address_or_off(text: &str) -> Result<OrOff<SocketAddr>, String> {
    or_off(text, |text| text.parse().map_err(|_| "write ADDRESS:PORT or `off`".to_owned()))
}

fn tls_version(text: &str) -> Result<TlsVersion, String> {
    match text {
        "1.2" => Ok(TlsVersion::V1_2),
        "1.3" => Ok(TlsVersion::V1_3),
        _ => Err("write 1.2 or 1.3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_1_2_or_1_3() {
        assert_eq!(tls_version("1.3"), Ok(TlsVersion::V1_3));
        assert!(tls_version("1.1").is_err());
    }

    /// Regression: probes were open on every address beside `--listen 127.0.0.1:8443`.
    #[test]
    fn probes_listen_on_the_address_of_the_hooks() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            serve: ServeArguments,
        }
        let app = App::new("demo");
        for (flags, expected) in [
            ("", "[::]:9090"),
            ("--port 8443", "[::]:9090"),
            ("--listen 0.0.0.0:8443", "[::]:9090"),
            ("--listen 127.0.0.1:8443", "127.0.0.1:9090"),
            ("--listen [::1]:8443", "[::1]:9090"),
            ("--listen 127.0.0.1:8443 --metrics-listen 0.0.0.0:1", "0.0.0.0:1"),
        ] {
            let words = std::iter::once("serve").chain(flags.split_whitespace());
            let given = <Command as clap::Parser>::parse_from(words).serve;
            assert_eq!(given.metrics_listen(&app).unwrap().to_string(), expected, "{flags}");
        }
    }

    #[test]
    fn the_plain_port_can_be_turned_off() {
        assert!(address_or_off("off").unwrap().0.is_none());
        assert_eq!(address_or_off("127.0.0.1:0").unwrap().0.unwrap().port(), 0);
        assert!(address_or_off("9090").is_err());
    }
}
