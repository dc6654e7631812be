//! Objects of one type by namespace and name, and by index.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::api::ObjectMeta;
use tokio::sync::watch;

use super::looked_up::LookedUp;

/// The keys of an object in an index.
pub(super) type IndexKeys<T> = Arc<dyn Fn(&T) -> Vec<String> + Send + Sync>;

/// Written by one watch and read by every request.
pub(super) struct Store<T> {
    indices: BTreeMap<String, IndexKeys<T>>,
    changes: watch::Sender<()>,
    state: RwLock<State<T>>,
}

struct State<T> {
    synced: bool,
    /// Why the first list is not read yet, or why the watch has ended.
    trouble: Option<String>,
    objects: Objects<T>,
    /// The objects of a list that is still being read.
    listed: Objects<T>,
}

/// Objects in the order of namespaces and names.
struct Objects<T> {
    by_name: BTreeMap<ObjectKey, Entry<T>>,
    by_index: BTreeMap<IndexKey, BTreeMap<ObjectKey, Arc<T>>>,
}

struct Entry<T> {
    object: Arc<T>,
    keys: Vec<IndexKey>,
}

/// The namespace, empty for cluster-scoped kinds, and the name.
type ObjectKey = (String, String);
/// The index and a key in it.
type IndexKey = (String, String);

impl<T: LookedUp> Store<T> {
    pub(super) fn new(indices: BTreeMap<String, IndexKeys<T>>) -> Self {
        let state =
            State { synced: false, trouble: None, objects: Objects::default(), listed: Objects::default() };
        Self { indices, changes: watch::Sender::new(()), state: RwLock::new(state) }
    }

    /// Why the store cannot be used; the reason may be empty. [`None`] once the first list was read.
    pub(super) fn missing(&self) -> Option<String> {
        let state = self.read();
        (!state.synced).then(|| state.trouble.clone().unwrap_or_default())
    }

    pub(super) fn len(&self) -> usize {
        self.read().objects.by_name.len()
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let key = (namespace.to_owned(), name.to_owned());
        Some(Arc::clone(&self.read().objects.by_name.get(&key)?.object))
    }

    /// The objects of one namespace, or of all.
    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Arc<T>> {
        let state = self.read();
        let first = (namespace.unwrap_or_default().to_owned(), String::new());
        let from = state.objects.by_name.range(first..);
        let here = from.take_while(|((place, _), _)| namespace.is_none_or(|namespace| namespace == place));
        here.map(|(_, entry)| Arc::clone(&entry.object)).collect()
    }

    /// [`None`] if there is no such index.
    pub(super) fn by_index(&self, index: &str, key: &str, namespace: Option<&str>) -> Option<Vec<Arc<T>>> {
        self.indices.get(index)?;
        let state = self.read();
        let found = state.objects.by_index.get(&(index.to_owned(), key.to_owned()));
        let here = |((place, _), object): (&ObjectKey, &Arc<T>)| {
            namespace.is_none_or(|namespace| namespace == place).then(|| Arc::clone(object))
        };
        Some(found.into_iter().flatten().filter_map(here).collect())
    }

    /// Receives a message after each change of the objects.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn put(&self, object: Arc<T>) {
        let keys = self.keys(&object);
        self.write().objects.put(object, keys);
        self.changes.send_replace(());
    }

    pub(super) fn remove(&self, object: &ObjectMeta) {
        self.write().objects.remove(&key(object));
        self.changes.send_replace(());
    }

    /// Starts a list. The previous objects stay until it is complete.
    pub(super) fn begin_list(&self) {
        self.write().listed = Objects::default();
    }

    pub(super) fn listed(&self, object: Arc<T>) {
        let keys = self.keys(&object);
        self.write().listed.put(object, keys);
    }

    /// Completes a list: objects that are not in it are removed.
    pub(super) fn end_list(&self) {
        let gone = {
            let mut state = self.write();
            (state.synced, state.trouble) = (true, None);
            let listed = std::mem::take(&mut state.listed);
            std::mem::replace(&mut state.objects, listed)
        };
        // Dropped outside the lock: readers need not wait for it.
        drop(gone);
        self.changes.send_replace(());
    }

    /// Stores why the first list is not read yet.
    pub(super) fn trouble(&self, words: &str) {
        self.write().trouble = Some(words.to_owned());
    }

    /// Marks the store as unusable: its watch has ended.
    pub(super) fn abandon(&self, why: &str) {
        let mut state = self.write();
        (state.synced, state.trouble) = (false, Some(why.to_owned()));
    }

    /// Called without the lock: the functions are the author's, and may block or panic.
    fn keys(&self, object: &T) -> Vec<IndexKey> {
        let keys = |(index, keys): (&String, &IndexKeys<T>)| {
            keys(object).into_iter().map(|key| (index.clone(), key)).collect::<Vec<_>>()
        };
        self.indices.iter().flat_map(keys).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, State<T>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<T>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: LookedUp> Objects<T> {
    fn put(&mut self, object: Arc<T>, keys: Vec<IndexKey>) {
        let name = key(object.meta());
        self.remove(&name);
        for key in &keys {
            self.by_index.entry(key.clone()).or_default().insert(name.clone(), Arc::clone(&object));
        }
        self.by_name.insert(name, Entry { object, keys });
    }

    fn remove(&mut self, name: &ObjectKey) {
        let Some(entry) = self.by_name.remove(name) else { return };
        for key in entry.keys {
            if let Some(found) = self.by_index.get_mut(&key) {
                found.remove(name);
                if found.is_empty() {
                    self.by_index.remove(&key);
                }
            }
        }
    }
}

fn key(object: &ObjectMeta) -> ObjectKey {
    (object.namespace.clone().unwrap_or_default(), object.name.clone().unwrap_or_default())
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), by_index: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn config_map(name: &str) -> Arc<ConfigMap> {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Arc::new(ConfigMap { metadata, ..ConfigMap::default() })
    }

    #[test]
    fn an_incomplete_list_removes_no_object_and_is_no_change() {
        let store = Store::new(BTreeMap::new());
        let mut changes = store.changes();
        store.begin_list();
        store.listed(config_map("a"));
        assert_eq!((store.missing().is_some(), store.len()), (true, 0));
        store.end_list();
        store.put(config_map("b"));
        assert_eq!((store.missing(), store.len()), (None, 2));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        // The watch ends, and the objects are listed again.
        store.begin_list();
        store.listed(config_map("b"));
        assert_eq!((store.len(), changes.has_changed().unwrap()), (2, false));
        store.end_list();
        assert_eq!((store.len(), changes.has_changed().unwrap()), (1, true));
    }
}
