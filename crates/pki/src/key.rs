//! Reads private keys in PKCS#8, SEC1 and PKCS#1, and writes PKCS#8.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair,
};
use rcgen::KeyPair;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_cert::der::pem::{LineEnding, encode_string};
use zeroize::Zeroizing;

/// The first private key of a PEM text, as PKCS#8; it may come as SEC1 or PKCS#1 too. [`None`] if there is none that
/// can be read.
pub(crate) fn read(pem: &str) -> Option<Zeroizing<PrivateKeyDer<'static>>> {
    let key = Zeroizing::new(PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()?);
    let pkcs8 = match &*key {
        PrivateKeyDer::Pkcs8(_) => return Some(key),
        PrivateKeyDer::Sec1(key) => {
            let curves = [
                &ECDSA_P256_SHA256_ASN1_SIGNING,
                &ECDSA_P384_SHA384_ASN1_SIGNING,
                &ECDSA_P521_SHA512_ASN1_SIGNING,
            ];
            let der = key.secret_sec1_der();
            let pair =
                curves.into_iter().find_map(|curve| EcdsaKeyPair::from_private_key_der(curve, der).ok())?;
            pair.to_pkcs8v1().ok()?.as_ref().to_vec()
        }
        PrivateKeyDer::Pkcs1(key) => {
            let pair = rsa::KeyPair::from_der(key.secret_pkcs1_der()).ok()?;
            let der: Pkcs8V1Der<'_> = pair.as_der().ok()?;
            der.as_ref().to_vec()
        }
        _ => return None,
    };
    Some(Zeroizing::new(PrivatePkcs8KeyDer::from(pkcs8).into()))
}

/// For signing, and to compare with a certificate.
pub(crate) fn pair(key: &PrivateKeyDer<'_>) -> Option<Zeroizing<KeyPair>> {
    KeyPair::try_from(key).ok().map(Zeroizing::new)
}

/// PKCS#8 in PEM. No copy of it is left behind: the text is written once, at its full length.
pub(crate) fn pem(pkcs8: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(encode_string("PRIVATE KEY", LineEnding::LF, pkcs8).unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests {
    use rcgen::{
        PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData,
        SignatureAlgorithm,
    };
    use x509_cert::der::Decode;
    use x509_cert::der::asn1::AnyRef;

    use super::*;

    /// The key inside PKCS#8: its version, its algorithm, then an octet string.
    pub(crate) fn inner(pkcs8: &[u8]) -> &[u8] {
        let mut rest = AnyRef::from_der(pkcs8).unwrap().value();
        for _ in 0..2 {
            rest = AnyRef::from_der_partial(rest).unwrap().1;
        }
        AnyRef::from_der_partial(rest).unwrap().0.value()
    }

    fn in_form(
        label: &str,
        algorithm: &'static SignatureAlgorithm,
    ) -> (Zeroizing<PrivateKeyDer<'static>>, Vec<u8>) {
        let pair = KeyPair::generate_for(algorithm).unwrap();
        let der = pair.serialize_der();
        let der = if label == "PRIVATE KEY" { &der[..] } else { inner(&der) };
        let pem = encode_string(label, LineEnding::CRLF, der).unwrap();
        (read(&format!("some words\n{pem}")).unwrap(), pair.subject_public_key_info())
    }

    #[test]
    fn every_form_becomes_pkcs8() {
        for (label, algorithm) in [
            ("PRIVATE KEY", &PKCS_ECDSA_P256_SHA256),
            ("PRIVATE KEY", &PKCS_ED25519),
            ("PRIVATE KEY", &PKCS_RSA_SHA256),
            ("EC PRIVATE KEY", &PKCS_ECDSA_P256_SHA256),
            ("EC PRIVATE KEY", &PKCS_ECDSA_P384_SHA384),
            ("RSA PRIVATE KEY", &PKCS_RSA_SHA256),
        ] {
            let (key, public) = in_form(label, algorithm);
            assert!(matches!(*key, PrivateKeyDer::Pkcs8(_)), "{label}");
            assert_eq!(pair(&key).unwrap().subject_public_key_info(), public, "{label}");
        }
    }
}
