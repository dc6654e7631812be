use std::sync::Mutex;
use std::time::SystemTime;

use vestibule_identity::{Local, Status};

use super::*;

#[derive(Default)]
struct Changing(Mutex<Option<Arc<Leaf>>>);

impl Changing {
    fn renew(&self) -> Weak<Leaf> {
        let leaf = Local::in_memory(&["hook"], SystemTime::now()).unwrap().present().unwrap();
        let weak = Arc::downgrade(&leaf);
        *self.0.lock().unwrap() = Some(leaf);
        weak
    }
}

impl Identity for Changing {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.0.lock().unwrap().clone()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        None
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

#[test]
fn a_leaf_is_parsed_once() {
    let identity = Arc::new(Changing::default());
    let presented = CertificateSource::new(identity.clone());
    assert!(presented.present().is_none());
    identity.renew();
    let first = presented.present().unwrap();
    assert!(Arc::ptr_eq(&first, &presented.present().unwrap()));
    identity.renew();
    assert!(!Arc::ptr_eq(&first, &presented.present().unwrap()));
}

#[test]
fn a_replaced_leaf_is_dropped() {
    let identity = Arc::new(Changing::default());
    let presented = CertificateSource::new(identity.clone());
    let first = identity.renew();
    assert!(presented.present().is_some() && presented.missing().is_none());
    identity.renew();
    assert!(first.upgrade().is_none());
}

#[test]
fn a_missing_certificate_is_reported_at_once() {
    let identity = Arc::new(Changing::default());
    let presented = CertificateSource::new(identity.clone());
    identity.renew();
    assert_eq!(presented.missing(), None);
    *identity.0.lock().unwrap() = None;
    assert_eq!(presented.missing().as_deref(), Some("certificate"));
}
