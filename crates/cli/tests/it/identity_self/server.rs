//! The binary as a server with a CA ring.

use std::net::SocketAddr;
use std::path::Path;

use fire::rig;
use vestibule_testenv::{Child, Environment};

use crate::cluster;
use crate::fixture::{Folder, pod_environment};
use crate::wait;

pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    pub(super) probes: SocketAddr,
}

impl Server {
    pub(super) async fn start(
        environment: &Environment,
        folder: &Folder,
        kubeconfig: &Path,
        service: &str,
    ) -> Self {
        let mut command = folder.command(&format!(
            "serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --identity self \
             --service {service} --hold-cold 10s --hold 10s"
        ));
        command.arg("--kubeconfig").arg(kubeconfig).envs(pod_environment(kubeconfig));
        let child = environment.spawn("injector", &command).unwrap();
        let (address, probes) = cluster::addresses(&child).await;
        Self { child, address, probes }
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.child.log().lines().map(str::to_owned).collect()
    }

    pub(super) async fn get(&self, path: &str) -> String {
        rig::get(self.probes, path).await.unwrap()
    }

    pub(super) async fn shows(&self, metric: &str) -> bool {
        self.get("/metrics").await.lines().any(|line| line.starts_with(metric))
    }

    pub(super) async fn assert_shown(&self, metric: &str) {
        let page = self.get("/metrics").await;
        assert!(page.lines().any(|line| line.starts_with(metric)), "{metric} is not in {page}");
    }

    pub(super) async fn wait_until_shown(&self, metric: &str) {
        let is_shown = |page: &String| page.lines().any(|line| line.starts_with(metric));
        let shown = wait::until(async || self.get("/metrics").await, is_shown).await;
        shown.unwrap_or_else(|page| panic!("{metric} is not in {page}\n{}", self.child.log()));
    }
}
