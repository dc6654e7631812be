//! F12: replicas that reach no API server continue to serve with their certificate.

use std::time::{Duration, Instant};

use tokio::time::sleep;
use vestibule_testenv::Environment;

use super::Row;
use crate::rig::{beside, metric};
use crate::{ACCOUNT, Cluster, Load, Options};

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let seconds = if long { 600 } else { 60 };
    let environment = Environment::start().await?;
    // A leaf outlives the outage, as in a cluster.
    let options = Options::of(&["--leaf=1800", "--rate=60", "--api-servers=1"])?;
    let (proxy, way) = environment.api_server().proxied()?;
    let cluster = Cluster::prepare(&environment, &beside("replica")?, &options).await?;
    let kubeconfig = way.service_account_kubeconfig(cluster.home(), ACCOUNT).await?;
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let by_proxy = cluster.start_unrouted(|command| {
            command.arg("--kubeconfig").arg(&kubeconfig);
        });
        let replica = by_proxy.await?;
        cluster.route(&replica)?;
        replicas.push(replica);
    }
    cluster.service().wait_for_replicas(2).await?;
    let load = Load::start(cluster.clients()?, cluster.target(), options.rate, cluster.counters());
    sleep(Duration::from_secs(2)).await;
    proxy.cut();
    sleep(Duration::from_secs(seconds)).await;
    let tries = proxy.refused();
    let serving = cluster.service().routed().len();
    let mut youngest = f64::MAX;
    for replica in &replicas {
        youngest = youngest.min(metric(replica.probes(), "vestibule_ring_read_age_seconds ", &[]).await?);
    }
    proxy.resume();
    let began = Instant::now();
    // A watch is retried after up to 30 s.
    sleep(Duration::from_secs(40)).await;
    load.stop().await;
    let counts = cluster.counters().read();
    let row = Row::of("F12", format!("two replicas reach no API server for {seconds} s, 60 calls/s"));
    let row = row.seen(format!(
        "{} calls, {serving} replicas ready in the end, {tries} connections tried meanwhile, {} s watched after it, \
         the ring read {youngest:.0} s before the end at the latest",
        counts.calls,
        began.elapsed().as_secs()
    ));
    // Two replicas with two watches each retry after 1 s at first and 30 s at most, and read the ring as well.
    let most = 40 + seconds as usize * 2 / 5;
    let tells = youngest >= seconds as f64;
    // With fewer calls the row proves nothing.
    let called = counts.calls as f64 >= 0.9 * f64::from(options.rate) * seconds as f64;
    let held = counts.failed() == 0 && called && serving == 2 && (1..=most).contains(&tries) && tells;
    let figure = format!("{} failed, {tries} tries", counts.failed());
    Ok(vec![row.judged(figure, format!("0 failed, 1 to {most} tries"), held)])
}
