//! Reads `rewriteProbes`.

use super::reader::Reader;
use crate::diagnostic::WRONG_VALUE;
use crate::format::{PROBES_PATH, REWRITE_PROBES};
use crate::rule::{Clause, ProbeRewrite};
use crate::syntax;
use crate::yaml::Node;

/// `rewriteProbes`; `None` if it is absent or a required field of it is.
pub(super) fn rewrite_probes(reader: &mut Reader, spec: &Node) -> Option<ProbeRewrite> {
    let node = spec.get("rewriteProbes")?;
    reader.fields(node, &REWRITE_PROBES);
    let clause = Clause::new("rewriteProbes", node.at());
    let (container, variable, port) = (node.text("container")?, node.text("env")?, node.integer("port")?);
    let path = node.text("path").unwrap_or(PROBES_PATH);
    let at = |field: &str| node.get(field).map_or(node.at(), Node::at);
    reader.check_format(syntax::name(container), "no container can have this name", at("container"));
    reader.check_format(syntax::variable(variable), "no variable can have this name", at("env"));
    let is_segment = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    if !path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_segment)) {
        let help = format!(
            "such as `{PROBES_PATH}`: letters, digits, `-`, `.`, `_` and `~` between slashes, none at the end"
        );
        reader.error(&WRONG_VALUE, at("path"), format!("`path` cannot be `{path}`"), help);
    }
    let [container, path, variable] = [container, path, variable].map(str::to_owned);
    Some(ProbeRewrite { clause, container, port, path, variable })
}
