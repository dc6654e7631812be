//! The hooks that validate ConfigMaps with rules, Injections, InjectorSettings and NamespacedInjections, so that `kubectl apply` shows the errors in them.

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;
use vestibule::admission::{Denial, Fault, FaultKind, Handler, HandlerFuture, Request, Verdict};
use vestibule_rules::CustomResource;

use crate::configuration::config_maps::{prefix, sources};
use crate::configuration::finding::Finding;
use crate::configuration::proof_deadline::ProofDeadline;
use crate::configuration::reloader::{Reloader, Validation};
use crate::configuration::rule_object;
use crate::configuration::{CONFIG_LABEL, Configuration};
use crate::deadline::share_of_remaining;

/// The number of errors in the message.
const MAX_SHOWN: usize = 5;
/// The number of errors in `status.details.causes`, which programs read.
const MAX_CAUSES: usize = 50;
/// The number of remarks that become warnings.
const MAX_WARNINGS: usize = 5;
/// Rules that are stored without a proof do no harm: they are proved before they come into force.
const UNPROVED: &str =
    "time ran out before all rules were proved: `vestibule lint` does it; what is wrong will not be in force";

/// Validates a ConfigMap or an object together with all others.
#[derive(Clone)]
pub(crate) struct RuleValidator {
    pub(crate) namespace: String,
    /// The reloader that knows the other ConfigMaps; [`None`] where no cluster is followed and the hooks are never called.
    pub(crate) reloader: Option<Arc<Reloader>>,
    /// One validation of cluster rules and one of rules of namespaces run at a time, so that teams hold up neither administrators nor
    /// the calls for pods.
    running: [Arc<Semaphore>; 2],
}

impl Handler for RuleValidator {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        // The rest of the time is for the answer.
        Box::pin(self.validate(request, share_of_remaining(deadline, 0.75)))
    }
}

impl RuleValidator {
    /// The validator, if the rules come from a cluster.
    pub(crate) fn of(configuration: &Configuration) -> Option<Self> {
        let namespace = configuration.config_maps()?.to_owned();
        let running = std::array::from_fn(|_| Arc::new(Semaphore::new(1)));
        Some(Self { namespace, reloader: configuration.reloader.clone(), running })
    }

    async fn validate(&self, request: &Request<'_>, until: Instant) -> Verdict {
        let (Some(reloader), Some(object)) = (&self.reloader, request.object) else {
            return Verdict::allowed();
        };
        let named = |it: &CustomResource| it.plural() == request.resource.resource;
        if let Some(resource) = CustomResource::ALL.into_iter().find(named) {
            return self.of_object(reloader, resource, request, until).await;
        }
        if request.namespace.as_deref() != Some(&*self.namespace) || request.resource.resource != "configmaps"
        {
            return Verdict::allowed();
        }
        let Ok(config_map) = read(object) else {
            return Fault::new(FaultKind::Undecodable, "the ConfigMap cannot be read").into();
        };
        let former = request.old_object.and_then(|old| read(old).ok());
        // Rules may always be taken away. Errors that are stored already must not block other changes of the object.
        if !has_rules(&config_map) || former.is_some_and(|former| has_same_rules(&former, &config_map)) {
            return Verdict::allowed();
        }
        let name = request.display_name().unwrap_or_default();
        let by = sources(&self.namespace, &name, &config_map);
        let own = prefix(&self.namespace, &name);
        let replaced = own.clone();
        let validate = move |reloader: &Reloader, deadline: &ProofDeadline| {
            reloader.validate(|source| source.starts_with(&replaced), &by, deadline)
        };
        let validated = self.validated(false, reloader, until, validate).await;
        validated.map_or_else(Verdict::from, |validation| {
            verdict(&validation, |error| Some(field(&config_map, error.source()?.strip_prefix(&own)?)))
        })
    }

    /// The verdict about an object of [`CustomResource`].
    async fn of_object(
        &self,
        reloader: &Arc<Reloader>,
        resource: CustomResource,
        request: &Request<'_>,
        until: Instant,
    ) -> Verdict {
        let Some(object) = request.object else { return Verdict::allowed() };
        let name = request.display_name().unwrap_or_default();
        let namespace = request.namespace.as_deref();
        let spec = |object| {
            rule_object::spec(object)
                .map(|spec| rule_object::source(resource, namespace, &name, spec.as_deref()))
        };
        let Ok(new) = spec(object) else {
            return Fault::new(FaultKind::Undecodable, "the object cannot be read").into();
        };
        // Errors that are stored already must not block other changes of the object.
        if request.old_object.is_some_and(|old| spec(old).is_ok_and(|old| old == new)) {
            return Verdict::allowed();
        }
        let (replaced, own) = (new.name.clone(), new.name.clone());
        let validate = move |reloader: &Reloader, deadline: &ProofDeadline| match resource.is_namespaced() {
            true => reloader.validate_namespaced(&new, deadline),
            false => reloader.validate(|source| source == replaced, &[new], deadline),
        };
        let validated = self.validated(resource.is_namespaced(), reloader, until, validate).await;
        validated.map_or_else(Verdict::from, |validation| {
            verdict(&validation, |error| {
                let is_own = error.source() == Some(&*own);
                // Without a diagnostic, the whole `spec` was not read.
                let field = || error.diagnostic().map_or_else(|| "spec".to_owned(), |it| it.field().0);
                is_own.then(field)
            })
        })
    }

    /// Runs `validate` on a thread of its own, since proofs block their thread, as soon as no other of its kind runs.
    async fn validated(
        &self,
        is_namespaced: bool,
        reloader: &Arc<Reloader>,
        until: Instant,
        validate: impl FnOnce(&Reloader, &ProofDeadline) -> Validation + Send + 'static,
    ) -> Result<Validation, Fault> {
        let running = Arc::clone(&self.running[usize::from(is_namespaced)]);
        let Ok(Ok(permit)) = timeout_at(until.into(), running.acquire_owned()).await else {
            return Ok(Validation { errors: Vec::new(), remarks: Vec::new(), is_complete: false });
        };
        let reloader = Arc::clone(reloader);
        let validate = move || {
            // A proof whose call was given up keeps the others waiting until it ends.
            let _permit = permit;
            validate(&reloader, &ProofDeadline::at(until))
        };
        // The message of a panic may hold values, so it is left out.
        let panicked = |_| Fault::new(FaultKind::Panic, "the rules cannot be validated");
        tokio::task::spawn_blocking(validate).await.map_err(panicked)
    }
}

fn read(object: &RawValue) -> serde_json::Result<ConfigMap> {
    serde_json::from_str(object.get())
}

fn has_rules(config_map: &ConfigMap) -> bool {
    let label = config_map.metadata.labels.as_ref().and_then(|labels| labels.get(CONFIG_LABEL));
    label.is_some_and(|value| value == "true")
}

fn has_same_rules(former: &ConfigMap, now: &ConfigMap) -> bool {
    has_rules(former) && former.data == now.data && former.binary_data == now.binary_data
}

/// The field of the ConfigMap that holds this key.
fn field(config_map: &ConfigMap, key: &str) -> String {
    let is_binary = config_map.binary_data.as_ref().is_some_and(|binary| binary.contains_key(key));
    format!("{}[{key}]", if is_binary { "binaryData" } else { "data" })
}

/// `field` gives the field of this object that an error is about, and [`None`] for errors in other objects.
fn verdict(validation: &Validation, field: impl Fn(&Finding) -> Option<String>) -> Verdict {
    let mut verdict = match validation.errors.len() {
        0 => Verdict::allowed(),
        _ => denial(validation, field).into(),
    };
    if validation.errors.is_empty() && !validation.is_complete {
        verdict.warnings.push(UNPROVED);
    }
    for remark in validation.remarks.iter().take(MAX_WARNINGS) {
        verdict.warnings.push(&remark.headline());
    }
    let more = validation.remarks.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        verdict.warnings.push(&format!("and {more} more remarks: `vestibule lint` shows them"));
    }
    verdict
}

fn denial(validation: &Validation, field: impl Fn(&Finding) -> Option<String>) -> Denial {
    let mut denial = Denial::new(message(validation));
    for error in validation.errors.iter().take(MAX_CAUSES) {
        let field = field(error).unwrap_or_else(|| "data".to_owned());
        denial = denial.field(field, cause(error));
    }
    denial
}

fn message(Validation { errors, is_complete, .. }: &Validation) -> String {
    let number = errors.len();
    let word = if number == 1 { "error" } else { "errors" };
    let mut message = format!("{number} {word} in these rules; those in force stay in force\n");
    for error in errors.iter().take(MAX_SHOWN) {
        message.push_str(&format!("\n{error}\n"));
    }
    if number > MAX_SHOWN {
        message.push_str(&format!("\nand {} more: `vestibule lint` shows them\n", number - MAX_SHOWN));
    }
    if !is_complete {
        message.push_str("\ntime ran out, so there may be more errors: `vestibule lint` shows them\n");
    }
    message.truncate(message.trim_end().len());
    message
}

/// `14:9: VST0121: ... (did you mean ...)`; about an object, which has no lines, from the code on.
fn cause(error: &Finding) -> String {
    let Some(diagnostic) = error.diagnostic() else { return error.headline() };
    let (at, code, message) = (diagnostic.position(), diagnostic.code().id, diagnostic.message());
    let place =
        if CustomResource::is_source(diagnostic.source()) { String::new() } else { format!("{at}: ") };
    match diagnostic.help() {
        Some(help) => format!("{place}{code}: {message} ({help})"),
        None => format!("{place}{code}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::configuration::compiler::Compiler;

    /// Rules of one team, each a second of work, took the processors from calls for pods.
    #[tokio::test]
    async fn validations_of_a_kind_run_one_after_the_other() {
        let (reloader, _snapshots) = Reloader::new(Compiler::new(None), "rules");
        let running = [(); 2].map(|()| Arc::new(Semaphore::new(1)));
        let validator = RuleValidator { namespace: String::new(), reloader: None, running };
        let running = Arc::clone(&validator.running[1]).acquire_owned().await.unwrap();
        let validated = async |is_namespaced, within| {
            let validate =
                |reloader: &Reloader, deadline: &ProofDeadline| reloader.validate(|_| false, &[], deadline);
            validator.validated(is_namespaced, &reloader, Instant::now() + within, validate).await
        };
        let is_complete = async |is_namespaced, within| match validated(is_namespaced, within).await {
            Ok(validation) => validation.is_complete,
            Err(fault) => panic!("{fault:?}"),
        };
        let long = Duration::from_secs(60);
        assert!(!is_complete(true, Duration::ZERO).await && is_complete(false, long).await);
        drop(running);
        assert!(is_complete(true, long).await);
    }

    #[test]
    fn rules_that_were_not_proved_in_time_are_reported() {
        let validation = |errors| Validation { errors, remarks: Vec::new(), is_complete: false };
        let allowed = verdict(&validation(Vec::new()), |_| None);
        assert_eq!(allowed.warnings.iter().collect::<Vec<_>>(), [UNPROVED]);
        let refused = validation(vec![Finding::RuleSet("wrong".to_owned())]);
        assert!(message(&refused).ends_with("there may be more errors: `vestibule lint` shows them"));
        assert!(verdict(&refused, |_| None).warnings.is_empty());
    }
}
