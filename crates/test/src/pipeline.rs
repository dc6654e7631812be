//! A call without a socket: from a review to kube-apiserver's judgement of the answer.

use std::time::Duration;

use tokio::time::Instant;
use vestibule_admission::Hook;
use vestibule_caller::{self as caller, Answer, judge};

use vestibule::admission::HookKind;
use vestibule::tooling::HookEntry;
use vestibule::{App, FailurePolicy};

/// One hook of an app, with both ends of a call to it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pipeline {
    hook: Hook,
    failure_policy: FailurePolicy,
    caller_hook: caller::Hook,
}

/// The answer, and the judgement of kube-apiserver.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) retry_after: Option<u32>,
    pub(super) text: String,
    pub(super) judged: caller::Outcome,
}

impl Pipeline {
    /// The hook at this index, called by `entry`.
    pub(super) fn of(app: &App, number: usize, entry: &HookEntry) -> Self {
        let environment = app.environment(None).unwrap_or_else(|error| panic!("{error}"));
        let registered = &app.hooks()[number];
        let hook = registered.hook(&environment);
        let qualified_name = entry.qualified_name(app.name());
        let caller_hook = match hook.kind() {
            HookKind::Mutating => caller::Hook::mutating(&qualified_name, &entry.path),
            HookKind::Validating => caller::Hook::validating(&qualified_name, &entry.path),
        };
        let timeout = Duration::from_secs(entry.on.timeout_seconds.into());
        Self { hook, failure_policy: entry.failure_policy(), caller_hook: caller_hook.timeout(timeout) }
    }

    pub(super) fn hook_name(&self) -> &str {
        self.hook.name()
    }

    pub(super) fn qualified_name(&self) -> &str {
        self.caller_hook.name()
    }

    pub(super) fn failure_policy(&self) -> FailurePolicy {
        self.failure_policy
    }

    /// One call, by the same steps and under the same deadline as a served one.
    pub(super) async fn run(&self, review: &caller::Review) -> Reply {
        let answer = self.answer(review).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let received = Answer {
            status: answer.status,
            content_type: Some(answer.content_type.to_owned()),
            body: answer.body,
        };
        Reply {
            status: received.status,
            retry_after: answer.retry_after_seconds,
            text,
            judged: judge(review, &self.caller_hook, &received),
        }
    }

    /// The same without `await`: on a thread of its own, because the test may run in any runtime.
    pub(super) fn run_blocking(&self, review: &caller::Review) -> Reply {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime for the call").block_on(self.run(review))
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    async fn answer(&self, review: &caller::Review) -> vestibule_admission::Answer {
        let target = self.caller_hook.request_target();
        let query = target.split_once('?').map(|(_, query)| query);
        let timeout = vestibule_server::timeout(query, self.caller_hook.budget());
        let budget = vestibule_server::budget(timeout);
        let review = parse(review);
        let deadline = Instant::now() + budget;
        let decision = self.hook.decide(&review.request, deadline.into_std());
        let verdict = tokio::time::timeout_at(deadline, decision).await;
        let verdict = verdict.unwrap_or_else(|_| self.hook.out_of_time(budget, timeout));
        self.hook.answer(&review, verdict)
    }
}

/// Reads the review as the server does.
pub(super) fn parse(review: &caller::Review) -> vestibule_admission::Review<'_> {
    let parsed = vestibule_admission::Review::parse(review.body());
    parsed.unwrap_or_else(|error| panic!("a review of the kit's own cannot be read: {error}"))
}
