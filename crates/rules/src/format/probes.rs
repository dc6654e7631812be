//! `rewriteProbes`.

use super::{Kind, Table, field, text};

pub(crate) const PROBES_PATH: &str = "/app-health";

pub(crate) static REWRITE_PROBES: Table = Table {
    what: "`rewriteProbes`",
    example: "{container: proxy, port: 15020, env: ISTIO_KUBE_APP_PROBERS}",
    fields: &[
        text("container", "The container that answers. Its own probes stay as they are.").required(),
        field("port", Kind::Integer(1, 65535), "The port at which it answers the kubelet, over HTTP.")
            .required(),
        text("env", "The variable of that container that gets the original probes as JSON, by path.")
            .required(),
        text(
            "path",
            "The start of the path of rewritten probes: `PATH/CONTAINER/livez`, `readyz` or `startupz`.",
        )
        .default(PROBES_PATH),
    ],
};
