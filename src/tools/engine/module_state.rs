//! State that tool modules keep for a session; the context does not know its types.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One value per type, created when a module first asks for it.
#[derive(Default)]
pub struct ModuleState(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl ModuleState {
    /// The session's `T`. Modules declare a type of their own for this; changes to it need a lock inside.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // The key is the type of the value, so this cannot fail; the default avoids a panic.
        Arc::clone(value).downcast().unwrap_or_default()
    }

    /// Replaces the session's `T`. Whoever got it before keeps the old one, so this is for a state that nobody shares yet.
    pub fn set<T: Send + Sync + 'static>(&mut self, value: T) {
        let values = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        values.insert(TypeId::of::<T>(), Arc::new(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Calls(AtomicU32);

    #[derive(Default)]
    struct Pages(AtomicU32);

    #[test]
    fn each_type_has_one_value_in_a_session() {
        let state = ModuleState::default();
        state.get::<Calls>().0.fetch_add(1, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| state.get::<Calls>().0.fetch_add(1, Ordering::SeqCst));
            }
        });
        assert_eq!(state.get::<Calls>().0.load(Ordering::SeqCst), 5);
        assert_eq!(state.get::<Pages>().0.load(Ordering::SeqCst), 0);
        let other = ModuleState::default();
        assert_eq!(other.get::<Calls>().0.load(Ordering::SeqCst), 0);
    }
}
