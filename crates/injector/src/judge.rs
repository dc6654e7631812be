//! Whether a ConfigMap with rules may be stored: what is wrong with it is read in its author's terminal.

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::value::RawValue;
use vestibule::{Denial, Fault, FaultKind, Handler, HandlerFuture, Request, Verdict};

use crate::configuration::{CONFIG_LABEL, Compiler, Finding, Judgement, Keeper, Patience, prefix, sources};
use crate::deadline::within;

/// How many findings are shown, and how many are named to programs.
const MOST_SHOWN: usize = 5;
const MOST_CAUSES: usize = 50;
/// How many remarks become warnings: a terminal is small.
const MOST_WARNINGS: usize = 5;
/// What is stored without a proof does no harm: it is proved before it comes into force.
const UNPROVED: &str =
    "time ran out before all rules were proved: `vestibule lint` does it; what is wrong will not be in force";

/// Judges a ConfigMap together with all the others.
pub(crate) struct Judge {
    pub(crate) namespace: String,
    /// Without one, nothing is known of the others, and nobody is called.
    pub(crate) keeper: Option<Arc<Keeper<Compiler>>>,
}

impl Handler for Judge {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        // What is left is for the reading before, and for the answer.
        Box::pin(self.judge(request, within(deadline, 0.75)))
    }
}

impl Judge {
    async fn judge(&self, request: &Request<'_>, until: Instant) -> Verdict {
        let (Some(keeper), Some(object)) = (&self.keeper, request.object) else { return Verdict::allowed() };
        if request.namespace.as_deref() != Some(&*self.namespace) || request.resource.resource != "configmaps"
        {
            return Verdict::allowed();
        }
        let Ok(config_map) = read(object) else {
            return Fault::new(FaultKind::Undecodable, "the ConfigMap cannot be read").into();
        };
        let former = request.old_object.and_then(|old| read(old).ok());
        // Without the label its rules are gone, which is nobody's business to refuse.
        if !has_rules(&config_map) || former.is_some_and(|former| says_the_same(&former, &config_map)) {
            return Verdict::allowed();
        }
        let name = request.display_name().unwrap_or_default();
        let by = sources(&self.namespace, &name, &config_map);
        let own = prefix(&self.namespace, &name);
        let (keeper, replaced) = (Arc::clone(keeper), own.clone());
        // Proving takes its time, and pods are waiting.
        let judged = tokio::task::spawn_blocking(move || {
            keeper.judge(|source| source.starts_with(&replaced), &by, &Patience::until(until))
        });
        match judged.await {
            Ok(judgement) => {
                verdict(&judgement, |source| Some(field(&config_map, source.strip_prefix(&own)?)))
            }
            // A panic may quote anything.
            Err(_) => Fault::new(FaultKind::Panic, "the ConfigMap cannot be judged").into(),
        }
    }
}

fn read(object: &RawValue) -> serde_json::Result<ConfigMap> {
    serde_json::from_str(object.get())
}

fn has_rules(config_map: &ConfigMap) -> bool {
    let label = config_map.metadata.labels.as_ref().and_then(|labels| labels.get(CONFIG_LABEL));
    label.is_some_and(|value| value == "true")
}

/// Whether the rules stay as they are: what is wrong with them already must not hold up other changes.
fn says_the_same(former: &ConfigMap, now: &ConfigMap) -> bool {
    has_rules(former) && former.data == now.data && former.binary_data == now.binary_data
}

/// Where the text of this key is.
fn field(config_map: &ConfigMap, key: &str) -> String {
    let is_binary = config_map.binary_data.as_ref().is_some_and(|binary| binary.contains_key(key));
    format!("{}[{key}]", if is_binary { "binaryData" } else { "data" })
}

/// `field` knows where the sources of this ConfigMap are; of others it knows nothing.
fn verdict(judgement: &Judgement, field: impl Fn(&str) -> Option<String>) -> Verdict {
    let mut verdict = match judgement.errors.len() {
        0 => Verdict::allowed(),
        _ => denial(judgement, field).into(),
    };
    if judgement.errors.is_empty() && !judgement.is_whole {
        verdict.warnings.push(UNPROVED);
    }
    for remark in judgement.remarks.iter().take(MOST_WARNINGS) {
        verdict.warnings.push(&remark.headline());
    }
    let more = judgement.remarks.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        verdict.warnings.push(&format!("and {more} more remarks: `vestibule lint` shows them"));
    }
    verdict
}

fn denial(judgement: &Judgement, field: impl Fn(&str) -> Option<String>) -> Denial {
    let mut denial = Denial::new(message(judgement));
    for error in judgement.errors.iter().take(MOST_CAUSES) {
        let field = error.source().and_then(&field).unwrap_or_else(|| "data".to_owned());
        denial = denial.field(field, cause(error));
    }
    denial
}

fn message(Judgement { errors, is_whole, .. }: &Judgement) -> String {
    let number = errors.len();
    let word = if number == 1 { "error" } else { "errors" };
    let mut message = format!("{number} {word} in these rules; those in force stay in force\n");
    for error in errors.iter().take(MOST_SHOWN) {
        message.push_str(&format!("\n{error}\n"));
    }
    if number > MOST_SHOWN {
        message.push_str(&format!("\nand {} more: `vestibule lint` shows them\n", number - MOST_SHOWN));
    }
    if !is_whole {
        message.push_str("\nand what else is wrong was not found out in time: `vestibule lint` shows it\n");
    }
    message.truncate(message.trim_end().len());
    message
}

/// `14:9: VST0121: ... (did you mean ...)`.
fn cause(error: &Finding) -> String {
    let Some(diagnostic) = error.diagnostic() else { return error.headline() };
    let (at, code, message) = (diagnostic.position(), diagnostic.code().id, diagnostic.message());
    match diagnostic.help() {
        Some(help) => format!("{at}: {code}: {message} ({help})"),
        None => format!("{at}: {code}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits would else be told nothing: the API server stores what nobody answers for.
    #[test]
    fn what_was_not_proved_in_time_is_said() {
        let judgement = |errors| Judgement { errors, remarks: Vec::new(), is_whole: false };
        let allowed = verdict(&judgement(Vec::new()), |_| None);
        assert_eq!(allowed.warnings.iter().collect::<Vec<_>>(), [UNPROVED]);
        let refused = judgement(vec![Finding::Whole("wrong".to_owned())]);
        assert!(message(&refused).ends_with("not found out in time: `vestibule lint` shows it"));
        assert!(verdict(&refused, |_| None).warnings.is_empty());
    }
}
