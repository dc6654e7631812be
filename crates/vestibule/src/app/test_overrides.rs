//! Changes that the test kit makes to an app before serving it.

use std::sync::Arc;

use vestibule_admission::Handler;

use super::App;

impl App {
    /// Limits all hooks to namespaces with this label, since other tests share the API server.
    pub fn confine(&mut self, label: &str, value: &str) {
        for registered in &mut self.hooks {
            let labels = registered.entry.on.namespaces.match_labels.get_or_insert_default();
            labels.insert(label.to_owned(), value.to_owned());
        }
    }

    /// Wraps the handler of every hook; `wrap` gets the hook's name too.
    pub fn wrap_handlers<H: Handler>(
        &mut self,
        wrap: impl Fn(&str, Arc<dyn Handler>) -> H + Send + Sync + 'static,
    ) {
        let wrap = Arc::new(wrap);
        for registered in &mut self.hooks {
            let (make, name) = (Arc::clone(&registered.make), registered.entry.name.clone());
            let wrap = Arc::clone(&wrap);
            registered.make =
                Arc::new(move |environment| make(environment).around(|handler| wrap(&name, handler)));
        }
    }
}
