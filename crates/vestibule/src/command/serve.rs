//! `serve`: the hooks over HTTPS.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use clap::Args;
use vestibule_identity::Source;

use super::CommandError;
use crate::{App, Options, ServeError, Target, TlsVersion};

/// Where to listen, and what to present.
#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// The address of the HTTPS port.
    #[arg(long, env = "VESTIBULE_LISTEN", default_value_t = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 10250)))]
    listen: SocketAddr,
    /// The address of the plain port for probes and metrics, or `off`.
    #[arg(long, env = "VESTIBULE_METRICS_LISTEN", default_value = "0.0.0.0:9090", value_name = "ADDR|off")]
    #[arg(value_parser = address_or_off)]
    metrics_listen: AddressOrOff,
    /// Where the certificate comes from: local:DIR keeps a CA in DIR and makes one there if need be.
    #[arg(long, env = "VESTIBULE_IDENTITY", value_name = "SOURCE")]
    identity: Source,
    /// A name that the certificate is for; may be given several times.
    #[arg(long, value_name = "NAME")]
    dns: Vec<String>,
    /// The Service in front of the webhook; its names are added to the certificate.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "NS/NAME", value_parser = Target::service)]
    service: Option<Target>,
    /// The oldest TLS to accept: 1.2 or 1.3.
    #[arg(long, env = "VESTIBULE_TLS_MIN", default_value = "1.2", value_name = "VERSION", value_parser = tls_version)]
    tls_min: TlsVersion,
    /// After SIGTERM, how long to go on taking connections while endpoints learn of it.
    #[arg(long, env = "VESTIBULE_DRAIN_DELAY", default_value = "10s", value_parser = duration)]
    drain_delay: Duration,
    /// After SIGTERM, how long to wait at most for connections to end.
    #[arg(long, env = "VESTIBULE_DRAIN_TIMEOUT", default_value = "95s", value_parser = duration)]
    drain_timeout: Duration,
}

#[derive(Clone, Copy, Debug)]
struct AddressOrOff(Option<SocketAddr>);

impl ServeArguments {
    /// Serves `app` until SIGTERM has drained it or SIGINT ends it.
    ///
    /// # Errors
    /// The app or the identity is not in order, or an address cannot be bound.
    pub async fn serve(&self, app: App) -> Result<(), CommandError> {
        // Before a CA is made for it.
        app.check().map_err(CommandError::input)?;
        let identity = self.identity.open(&self.names(), SystemTime::now()).map_err(CommandError::input)?;
        let mut options = Options::new(self.listen, identity);
        options.settings.probes = self.metrics_listen.0;
        options.settings.tls_min = self.tls_min;
        options.settings.drain_delay = self.drain_delay;
        options.settings.drain_timeout = self.drain_timeout;
        let bound = app.bind(options).await.map_err(|error| match error {
            ServeError::Bind(_) => CommandError::running(format_args!(
                "{error}; --listen and --metrics-listen take other addresses"
            )),
            other => CommandError::running(other),
        })?;
        bound.serve_until_signalled().await.map_err(CommandError::running)
    }

    /// Without a name of its own, the certificate is for the address listened on, as a laptop needs it.
    fn names(&self) -> Vec<String> {
        let mut names = self.dns.clone();
        names.extend(self.service.iter().flat_map(Target::dns_names));
        if names.is_empty() {
            names.push("localhost".to_owned());
            let ip = self.listen.ip();
            let ip = if ip.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { ip };
            names.push(ip.to_string());
        }
        names
    }
}

fn address_or_off(text: &str) -> Result<AddressOrOff, String> {
    if text == "off" {
        return Ok(AddressOrOff(None));
    }
    text.parse()
        .map(|address| AddressOrOff(Some(address)))
        .map_err(|_| "write ADDRESS:PORT or `off`".to_owned())
}

fn tls_version(text: &str) -> Result<TlsVersion, String> {
    match text {
        "1.2" => Ok(TlsVersion::V1_2),
        "1.3" => Ok(TlsVersion::V1_3),
        _ => Err("write 1.2 or 1.3".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|duration| duration.try_into().ok());
    parsed.ok_or_else(|| "write a duration such as `10s` or `1m30s`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("-1s").is_err());
        assert!(duration("10").is_err());
    }

    #[test]
    fn tls_is_1_2_or_1_3() {
        assert_eq!(tls_version("1.3"), Ok(TlsVersion::V1_3));
        assert!(tls_version("1.1").is_err());
    }

    #[test]
    fn the_plain_port_can_be_turned_off() {
        assert!(address_or_off("off").unwrap().0.is_none());
        assert_eq!(address_or_off("127.0.0.1:0").unwrap().0.unwrap().port(), 0);
        assert!(address_or_off("9090").is_err());
    }
}
