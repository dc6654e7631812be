//! The answer to a review, as people and programs read it.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_admission::{Answer, Decision, Outcome, Request, Verdict};
use vestibule_patch::{Document, Operation};

use crate::colour::{Palette, Style};
use crate::terminal_escape::escape;
use crate::{CommandError, diff, yaml};
use vestibule::tooling::HookEntry;

/// Everything there is to say about one call.
pub(super) struct Report<'r> {
    pub(super) entry: &'r HookEntry,
    pub(super) request: &'r Request<'r>,
    /// As the handler gave it.
    pub(super) verdict: &'r Verdict,
    pub(super) answer: &'r Answer,
    pub(super) took: Duration,
}

impl Report<'_> {
    pub(super) fn text(&self, palette: Palette) -> Result<String, CommandError> {
        let mut text = String::new();
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        line(palette.paint(Style::Heading, self.title()));
        let style = match self.answer.decision {
            Decision::Allowed | Decision::Mutated(_) => Style::Added,
            _ => Style::Removed,
        };
        let took = format!("in {:.1} ms", self.took.as_secs_f64() * 1e3);
        line(format!("{} {}", palette.paint(style, self.decision()), palette.paint(Style::Faint, took)));
        if let Outcome::Denied(denial) = &self.verdict.outcome {
            line(format!("  {}", escape(&denial.message)));
            for cause in &denial.causes {
                line(format!("  {}: {}", escape(&cause.field), escape(&cause.message)));
            }
        } else if self.answer.status != 200 {
            line(format!("  {}", escape(&String::from_utf8_lossy(&self.answer.body))));
        }
        if !self.operations().is_empty() {
            let (before, after) = self.objects()?;
            line(diff::unified(&yaml(&before)?, &yaml(&after)?, palette).trim_end().to_owned());
        }
        if !self.entry.on.rules.iter().any(|rule| rule.is_for(self.request)) {
            let Request { operation, .. } = self.request;
            line(format!(
                "note: the API server does not ask it for {operation} of {}",
                resource(self.request)
            ));
        }
        let answer = self.response();
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            line(format!("warning: {}", escape(warning.as_str().unwrap_or_default())));
        }
        for (key, value) in answer["auditAnnotations"].as_object().into_iter().flatten() {
            line(format!("audit: {}: {}", escape(key), escape(value.as_str().unwrap_or_default())));
        }
        Ok(text)
    }

    pub(super) fn json(&self) -> Result<String, CommandError> {
        let mut report = json!({
            "hook": self.entry.name,
            "decision": self.answer.decision.as_str(),
            "status": self.answer.status,
            "seconds": self.took.as_secs_f64(),
            "patch": self.operations(),
        });
        match serde_json::from_slice::<Value>(&self.answer.body) {
            Ok(review) => report["review"] = review,
            Err(_) => report["message"] = json!(String::from_utf8_lossy(&self.answer.body)),
        }
        serde_json::to_string_pretty(&report).map(|text| text + "\n").map_err(CommandError::running)
    }

    /// The patch that is sent: none if the check of the answer refuses the handler's.
    fn operations(&self) -> &[Operation] {
        match (&self.verdict.outcome, self.answer.decision) {
            (Outcome::Mutated(patch), Decision::Mutated(_)) => patch,
            _ => &[],
        }
    }

    /// `mutate label: CREATE of pods, shop/web`
    fn title(&self) -> String {
        let Request { operation, namespace, name, .. } = self.request;
        let verb = self.entry.kind.verb();
        let mut title = format!("{verb} {}: {operation} of {}", self.entry.name, resource(self.request));
        let generated = self.request.generate_name().map(|prefix| format!("{prefix}*****"));
        let name = name.as_deref().map(str::to_owned).or(generated);
        let words = [namespace.as_deref().map(str::to_owned), name];
        let words: Vec<_> = words.into_iter().flatten().map(|word| escape(&word)).collect();
        if !words.is_empty() {
            let _written = write!(title, ", {}", words.join("/"));
        }
        title
    }

    fn decision(&self) -> String {
        match self.answer.decision {
            Decision::Allowed => "allowed".to_owned(),
            Decision::Mutated(1) => "mutated by 1 operation".to_owned(),
            Decision::Mutated(count) => format!("mutated by {count} operations"),
            Decision::Denied(code) => format!("denied with {code}"),
            Decision::Fault(kind) if self.answer.status == 200 => {
                format!("denied: a fault ({})", kind.as_str())
            }
            Decision::Fault(kind) => {
                let policy = self.entry.failure_policy().as_str();
                format!("a fault ({}): failurePolicy {policy} decides", kind.as_str())
            }
            Decision::NotReady => "not ready: the API server asks again".to_owned(),
            other => other.as_str().to_owned(),
        }
    }

    /// Before and after the patch.
    fn objects(&self) -> Result<(Value, Value), CommandError> {
        let json = self.request.object.map_or("null", |object| object.get());
        let parsed = |json: &str| serde_json::from_str(json).map_err(CommandError::running);
        let mut document = Document::parse(json).map_err(CommandError::running)?;
        document.apply_all(self.operations()).map_err(CommandError::running)?;
        Ok((parsed(json)?, parsed(&document.to_json())?))
    }

    fn response(&self) -> Value {
        let review = serde_json::from_slice::<Value>(&self.answer.body).unwrap_or_default();
        review["response"].clone()
    }
}

/// `pods`, `deployments.apps/scale`
pub(super) fn resource(request: &Request<'_>) -> String {
    let mut text = escape(&request.resource.resource);
    for (mark, part) in [(".", &*request.resource.group), ("/", request.subresource.as_deref().unwrap_or(""))]
    {
        if !part.is_empty() {
            text.push_str(mark);
            text.push_str(&escape(part));
        }
    }
    text
}
