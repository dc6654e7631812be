//! Redirects.

use http::Method;

/// The most redirects of one request.
const MAX_REDIRECTS: u32 = 9;

/// The target and method of the next request of a call.
pub(super) struct Redirects<'c> {
    authority: &'c str,
    target: String,
    method: Method,
    done: u32,
}

impl<'c> Redirects<'c> {
    pub(super) fn new(authority: &'c str, target: String) -> Self {
        Self { authority, target, method: Method::POST, done: 0 }
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) fn method(&self) -> Method {
        self.method.clone()
    }

    /// Follows the redirect of an answer; false if there is none to follow. As in Go's client, 307 and 308 send the review again, the
    /// others send a GET without it. A redirect to another server is not followed.
    pub(super) fn follow(&mut self, status: u16, location: Option<&str>) -> bool {
        let Some(target) = location.and_then(|location| self.target_of(location)) else { return false };
        match status {
            301..=303 => self.method = Method::GET,
            307 | 308 => {}
            _ => return false,
        }
        self.target = target;
        self.done += 1;
        self.done <= MAX_REDIRECTS
    }

    /// The path and query of a location on this server.
    fn target_of(&self, location: &str) -> Option<String> {
        let own = location.strip_prefix("https://").and_then(|rest| rest.strip_prefix(self.authority));
        let path = own.unwrap_or(location);
        (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_sent_again_by_307_and_forgotten_by_302() {
        let after = |status, location| {
            let mut redirects = Redirects::new("hook.shop.svc:443", "/a?timeout=1s".to_owned());
            redirects.follow(status, location).then(|| (redirects.method(), redirects.target().to_owned()))
        };
        let there = |method| Some((method, "/b?c".to_owned()));
        assert_eq!(after(307, Some("/b?c")), there(Method::POST));
        assert_eq!(after(302, Some("https://hook.shop.svc:443/b?c")), there(Method::GET));
        for (status, location) in [
            (302, None),
            (302, Some("//evil/")),
            (307, Some("https://other/")),
            (200, Some("/b")),
            (304, Some("/b")),
        ] {
            assert_eq!(after(status, location), None, "{status} {location:?}");
        }
    }

    #[test]
    fn nine_redirects_are_followed() {
        let mut redirects = Redirects::new("a:443", "/".to_owned());
        assert_eq!((0..20).filter(|_| redirects.follow(307, Some("/"))).count(), 9);
    }
}
