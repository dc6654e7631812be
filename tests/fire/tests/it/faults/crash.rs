//! Row 4: a replica dies before or after a write. Each step is begun by one that dies, and gone on with by the next.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use fire::{ROTATE, Replica};
use vestibule_pki::ring::AuthorityState;
use vestibule_testenv::Proxy;

use super::ground::{Ground, now, shared_or_skip, until};

const FATES: [&str; 2] = ["--die-before=1", "--die-after=1"];

/// The replica that serves hears nothing from the API server while others die at what there is to do: all of it is
/// theirs. A leaf outlives that.
#[tokio::test]
async fn whatever_write_a_replica_dies_at_others_go_on() {
    let Some(env) = shared_or_skip().await else { return };
    let ground = Ground::new(&env, &["--leaf=20", "--hold=6"]).await;
    let (proxy, way) = env.api_server().proxied().unwrap();
    let kubeconfig =
        way.service_account_kubeconfig(ground.cluster.home(), ground.cluster.account()).await.unwrap();
    let survivor = ground.cluster.start_unrouted(|command| {
        command.arg("--kubeconfig").arg(kubeconfig);
    });
    let survivor = survivor.await.unwrap();
    ground.cluster.route(&survivor).unwrap();
    ground.all_ready(std::slice::from_ref(&survivor)).await;
    let load = ground.load();
    let before = ground.steady().await;

    promotion(&ground, &proxy).await;
    let promoted = ground.ring().await.unwrap();
    assert_eq!(promoted.active().unwrap().id, before.next().unwrap().id);
    assert!(promoted.next().unwrap().held.is_some(), "the last of them held it");
    removal(&ground, &proxy).await;
    ground.steady().await;
    restoration(&ground, &proxy).await;

    until("the bundle is the ring's", 20, async || {
        let ring = ground.ring().await;
        ring.is_some() && Some(ground.trusted().await) == ring.map(|ring| ring.trusted())
    })
    .await;
    assert!(survivor.child().exited().is_none());
    ground.nothing_failed(load).await;
}

/// G2 and W2 of a first start: the next one takes the ring as it is.
#[tokio::test]
async fn a_first_start_goes_on_whatever_write_it_dies_at() {
    let Some(env) = shared_or_skip().await else { return };
    let ground = Ground::new(&env, &[]).await;
    die(&ground, FATES[0]).await;
    assert!(ground.ring().await.is_none(), "it died before");
    die(&ground, FATES[1]).await;
    let ring = ground.ring().await.expect("it died after");
    die(&ground, FATES[0]).await;
    assert!(ground.trusted().await.is_empty());
    die(&ground, FATES[1]).await;
    assert_eq!(ground.trusted().await, ring.trusted());

    let _replicas = ground.serve(2).await;
    let load = ground.load();
    let steady = ground.steady().await;
    assert_eq!((steady.generation, steady.trusted()), (1, ring.trusted()), "no other ring");
    ground.nothing_failed(load).await;
}

/// P1, W2 and H1.
async fn promotion(ground: &Ground<'_>, proxy: &Proxy) {
    proxy.hold();
    let before = ground.active().await;
    ground.annotate(ROTATE, "once").await;
    die(ground, FATES[0]).await;
    assert_eq!(ground.active().await, before, "it died before");
    die(ground, FATES[1]).await;
    let ring = ground.ring().await.unwrap();
    assert_ne!(Some(ring.active().unwrap().id), before, "it died after");
    assert_ne!(ground.trusted().await, ring.trusted());
    for fate in FATES {
        die(ground, fate).await;
    }
    assert_eq!(ground.trusted().await, ring.trusted());
    proxy.resume();
    until("the one that serves has switched", 15, async || {
        let book = ground.cluster.ledger().read();
        book.switches() > 0
    })
    .await;
    proxy.hold();
    for fate in FATES {
        die(ground, fate).await;
    }
    proxy.resume();
}

/// D1.
async fn removal(ground: &Ground<'_>, proxy: &Proxy) {
    let mut end = None;
    for ca in ground.ring().await.unwrap().authorities {
        if let AuthorityState::Retired { until } = ca.state {
            end = Some(until);
        }
    }
    let end = end.expect("a predecessor");
    until("its leaves have almost ended", 40, async || end.since(now()).as_secs() <= 2).await;
    proxy.hold();
    for fate in FATES {
        assert_eq!(ground.ring().await.unwrap().authorities.len(), 3);
        die(ground, fate).await;
    }
    assert_eq!(ground.ring().await.unwrap().authorities.len(), 2);
    proxy.resume();
}

/// G2: by those that remember the ring, and W2 by one that does not.
async fn restoration(ground: &Ground<'_>, proxy: &Proxy) {
    let mut doomed = Vec::new();
    for fate in FATES {
        let replica = ground.cluster.start_unrouted(|command| {
            command.arg(fate);
        });
        doomed.push(replica.await.unwrap());
    }
    for replica in &doomed {
        until("it remembers the ring", 20, async || is_ready(replica).await).await;
    }
    proxy.hold();
    let before = ground.ring().await.unwrap();
    ground.delete_secret().await;
    for replica in doomed {
        assert_eq!(replica.child().wait().await.unwrap(), ABORTED);
    }
    let restored = ground.ring().await.expect("one of them died after");
    assert!(restored.trusted().is_superset(&before.trusted()) && restored.generation > before.generation);
    for fate in FATES {
        die(ground, fate).await;
    }
    proxy.resume();
}

/// As a shell tells SIGABRT.
const ABORTED: i32 = 134;

/// A replica lives until its first write.
async fn die(ground: &Ground<'_>, fate: &str) {
    let doomed = ground.cluster.start_unrouted(|command| {
        command.arg(fate);
    });
    let doomed = doomed.await.unwrap();
    let status = doomed.child().wait().await.unwrap();
    assert_eq!(status, ABORTED, "{}", doomed.child().log());
}

async fn is_ready(replica: &Replica) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(replica.probes()).await?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: replica\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer.starts_with("HTTP/1.1 200"))
    };
    ask.await.unwrap_or(false)
}
