//! A Prometheus of Debian's package, and its HTTP API.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use vestibule_testenv::{Child, until};

use crate::cluster::Cluster;
use crate::root;

/// The time for which an alert has to hold here, instead of minutes to days. Longer than the hold of a healthy rotation.
pub(crate) const FOR: &str = "15s";
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Prometheus. It ends with the environment.
pub(crate) struct Prometheus {
    client: Client,
    targets: PathBuf,
    began: f64,
    _process: Child,
}

/// A series: its labels, and times with values.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) labels: Value,
    pub(crate) samples: Vec<(f64, f64)>,
}

impl Prometheus {
    /// Starts it with the alerts of `deploy/alerts.yaml`, each with a short `for`.
    pub(crate) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let folder = cluster.environment.folder().join("prometheus");
        fs::create_dir(&folder)?;
        let alerts = fs::read_to_string(root().join("deploy/alerts.yaml"))?;
        let shortened = alerts.lines().map(|line| match line.trim_start().strip_prefix("for: ") {
            Some(written) => line.replace(written, FOR),
            None => line.to_owned(),
        });
        fs::write(folder.join("alerts.yaml"), shortened.collect::<Vec<_>>().join("\n"))?;
        let targets = folder.join("targets.json");
        write_targets(&targets, cluster)?;
        let kubeconfig: Value = serde_json::from_str(&fs::read_to_string(cluster.environment.kubeconfig())?)?;
        let token = kubeconfig["users"][0]["user"]["token"].as_str().context("a token")?;
        let server = cluster.environment.url().trim_start_matches("https://");
        let configuration = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [
                {"job_name": "replicas", "file_sd_configs": [{"files": ["targets.json"]}]},
                {
                    "job_name": "kubernetes-apiservers", "scheme": "https",
                    "authorization": {"credentials": token}, "tls_config": {"insecure_skip_verify": true},
                    "static_configs": [{"targets": [server]}],
                    // The others are thousands of series.
                    "metric_relabel_configs": [{
                        "source_labels": ["__name__"], "regex": "apiserver_admission_webhook_.*", "action": "keep",
                    }],
                },
            ],
        });
        fs::write(folder.join("prometheus.json"), configuration.to_string())?;

        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("prometheus");
        command.args(["--config.file=prometheus.json", "--storage.tsdb.path=data", "--log.level=warn"]);
        command.arg(format!("--web.listen-address=127.0.0.1:{port}")).current_dir(&folder);
        let process = cluster.environment.spawn("prometheus", &command)?;
        let client = Client::try_from(Config::new(format!("http://127.0.0.1:{port}").parse()?))?;
        let prometheus = Self { client, targets, began: unix_time(), _process: process };
        let answers = async || {
            let is_ready = prometheus.query("count(up) > 2").await;
            is_ready.is_ok_and(|series| !series.is_empty())
        };
        until("Prometheus having scraped all", PATIENCE, answers)
            .await
            .with_context(|| prometheus._process.log())?;
        Ok(prometheus)
    }

    /// Scrapes all replicas that run now.
    pub(crate) fn scrape(&self, cluster: &Cluster) -> anyhow::Result<()> {
        write_targets(&self.targets, cluster)
    }

    /// Seconds since it started.
    pub(crate) fn now(&self) -> f64 {
        unix_time() - self.began
    }

    /// The result of an expression now.
    pub(crate) async fn query(&self, expression: &str) -> anyhow::Result<Vec<Series>> {
        let answer = self.get(&format!("/api/v1/query?query={}", encoded(expression))).await?;
        self.series(&answer, "value")
    }

    /// The results of an expression for each second of the run.
    pub(crate) async fn query_run(&self, expression: &str) -> anyhow::Result<Vec<Series>> {
        let (from, to) = (self.began, unix_time());
        let uri = format!("/api/v1/query_range?query={}&start={from}&end={to}&step=1", encoded(expression));
        self.series(&self.get(&uri).await?, "values")
    }

    /// The version of the server.
    pub(crate) async fn version(&self) -> anyhow::Result<String> {
        let answer = self.get("/api/v1/status/buildinfo").await?;
        let version = answer["data"]["version"].as_str().context("a version")?;
        Ok(version.split('+').next().unwrap_or_default().to_owned())
    }

    async fn get(&self, uri: &str) -> anyhow::Result<Value> {
        let request = Request::get(uri).body(Vec::new())?;
        let answer: Value = self.client.request(request).await.with_context(|| uri.to_owned())?;
        ensure!(answer["status"] == "success", "{uri}: {answer}");
        Ok(answer)
    }

    fn series(&self, answer: &Value, member: &str) -> anyhow::Result<Vec<Series>> {
        let results = answer["data"]["result"].as_array().context("a result")?;
        let series = results.iter().map(|result| {
            let one = [result[member].clone()];
            let samples =
                if member == "value" { Some(&one[..]) } else { result[member].as_array().map(Vec::as_slice) };
            let samples = samples.unwrap_or_default().iter().filter_map(|sample| {
                let value: f64 = sample[1].as_str()?.parse().ok()?;
                value.is_finite().then_some((sample[0].as_f64()? - self.began, value))
            });
            Series { labels: result["metric"].clone(), samples: samples.collect() }
        });
        Ok(series.filter(|series| !series.samples.is_empty()).collect())
    }
}

fn write_targets(file: &std::path::Path, cluster: &Cluster) -> anyhow::Result<()> {
    let targets = cluster
        .jobs()
        .map(|(job, replica)| json!({"targets": [replica.probes.to_string()], "labels": {"job": job}}));
    let written = file.with_extension("new");
    fs::write(&written, Value::Array(targets.collect()).to_string())?;
    // Prometheus reads it at any time.
    Ok(fs::rename(written, file)?)
}

fn unix_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn encoded(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}
