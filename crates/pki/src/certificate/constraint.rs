//! The names that a CA may sign.

use std::net::IpAddr;

use x509_cert::ext::pkix::NameConstraints;
use x509_cert::ext::pkix::constraints::name::GeneralSubtree;
use x509_cert::ext::pkix::name::GeneralName;

use super::Certificate;

impl Certificate {
    /// Whether name constraints (RFC 5280 4.2.1.10) leave this DNS name or IP address to the CA. Constraints of
    /// addresses are taken to forbid every address: our CAs have none.
    pub(crate) fn permits(&self, name: &str) -> bool {
        let Ok(found) = self.0.tbs_certificate().get_extension::<NameConstraints>() else { return false };
        let Some((_, constraints)) = found else { return true };
        let permitted = constraints.permitted_subtrees.unwrap_or_default();
        let excluded = constraints.excluded_subtrees.unwrap_or_default();
        if name.parse::<IpAddr>().is_ok() {
            let mut subtrees = permitted.iter().chain(&excluded);
            return !subtrees.any(|subtree| matches!(subtree.base, GeneralName::IpAddress(_)));
        }
        let mut domains = permitted.iter().filter_map(domain).peekable();
        let inside = domains.peek().is_none() || domains.any(|domain| is_within(name, domain));
        inside && !excluded.iter().filter_map(domain).any(|domain| is_within(name, domain))
    }

    /// The domains that it is confined to; none if it may sign for all.
    pub(crate) fn domains(&self) -> Vec<String> {
        let found = self.0.tbs_certificate().get_extension::<NameConstraints>().ok().flatten();
        let permitted = found.and_then(|(_, constraints)| constraints.permitted_subtrees);
        permitted.iter().flatten().filter_map(domain).map(str::to_owned).collect()
    }
}

fn domain(subtree: &GeneralSubtree) -> Option<&str> {
    match &subtree.base {
        GeneralName::DnsName(domain) => Some(domain.as_str()),
        _ => None,
    }
}

/// A domain is within itself; `.domain` has only what is below it.
fn is_within(name: &str, domain: &str) -> bool {
    let (name, domain) = (name.to_ascii_lowercase(), domain.to_ascii_lowercase());
    match name.strip_suffix(&domain) {
        Some("") => true,
        Some(rest) => domain.is_empty() || domain.starts_with('.') || rest.ends_with('.'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, CidrSubnet, GeneralSubtree, KeyPair, NameConstraints};

    use super::*;

    fn permits(subtree: GeneralSubtree, name: &str) -> bool {
        let mut params = CertificateParams::default();
        params.name_constraints =
            Some(NameConstraints { permitted_subtrees: vec![subtree], excluded_subtrees: Vec::new() });
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        Certificate::read(certificate.der()).unwrap().permits(name)
    }

    #[test]
    fn a_domain_permits_the_names_below_it() {
        for (domain, name, expected) in [
            ("demo.svc", "demo.svc", true),
            ("demo.svc", "hooks.Demo.svc", true),
            ("demo.svc", "another-demo.svc", false),
            (".demo.svc", "hooks.demo.svc", true),
            (".demo.svc", "demo.svc", false),
        ] {
            assert_eq!(
                permits(GeneralSubtree::DnsName(domain.to_owned()), name),
                expected,
                "{domain} {name}"
            );
        }
    }

    #[test]
    fn a_constraint_of_addresses_permits_no_address_and_every_dns_name() {
        let subnet = || GeneralSubtree::IpAddress(CidrSubnet::V4([10, 0, 0, 0], [255, 0, 0, 0]));
        assert!(!permits(subnet(), "10.0.0.1") && permits(subnet(), "hooks.demo.svc"));
    }
}
