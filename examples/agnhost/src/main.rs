//! Serves the paths: `agnhost --help`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Parser;
use vestibule::Options;
use vestibule::identity::{Mounted, MountedFiles, Settings};

/// The webhook of Kubernetes' own end-to-end tests.
#[derive(Parser)]
struct Arguments {
    /// The only command, named as in the original.
    #[arg(value_parser = ["webhook"])]
    command: Option<String>,
    /// The certificate in PEM, followed by its issuers.
    #[arg(long, value_name = "FILE")]
    tls_cert_file: PathBuf,
    /// The certificate's key in PEM.
    #[arg(long, value_name = "FILE")]
    tls_private_key_file: PathBuf,
    /// The HTTPS port.
    #[arg(long, default_value_t = 443)]
    port: u16,
    /// The image of the sidecar that /mutating-pods-sidecar adds.
    #[arg(long)]
    sidecar_image: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    vestibule_command::init_logs();
    let mut settings = Settings::default();
    settings.mounted = MountedFiles {
        certificate: arguments.tls_cert_file.to_string_lossy().into_owned(),
        key: arguments.tls_private_key_file.to_string_lossy().into_owned(),
        ..MountedFiles::default()
    };
    let identity = Mounted::start(Path::new("."), &settings)?;
    let mut options = Options::new(SocketAddr::from((Ipv4Addr::UNSPECIFIED, arguments.port)), identity);
    options.settings.probes_over_https = true;
    let image = arguments.sidecar_image.filter(|image| !image.is_empty());
    agnhost::app(image).bind(options).await?.serve_until_signalled().await?;
    vestibule_command::finish_logs();
    Ok(())
}
