//! Attributes: words that programs attach to communicators, datatypes and windows (MPI-5.0 section 7.7).
//!
//! Callbacks are foreign code: they may call anything, attributes of the same object included. So no list is borrowed
//! while one runs, and every change looks its place up afterwards.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::{ErrorClass, Result};

/// What an attribute holds: a word, and what it means to who has set it. C stores pointers; Fortran stores integers,
/// and C reads those through a pointer (MPI-5.0 section 19.3.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeValue {
    word: Cell<usize>,
    kind: AttributeKind,
}

impl AttributeValue {
    /// That word, of that kind.
    pub fn new(word: usize, kind: AttributeKind) -> Self {
        AttributeValue { word: Cell::new(word), kind }
    }

    /// The word.
    pub fn word(&self) -> usize {
        self.word.get()
    }

    /// What it is.
    pub fn kind(&self) -> AttributeKind {
        self.kind
    }

    /// Where the word lies. A program that gets this address may write there, too.
    pub fn place(&self) -> *mut usize {
        self.word.as_ptr()
    }
}

/// Who has set an attribute's value, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeKind {
    /// A pointer, from C.
    Pointer,
    /// An address-sized integer, from Fortran.
    Address,
    /// An integer of default size, from Fortran's deprecated calls.
    Integer,
}

/// Decides what a duplicate gets for an attribute of the original: a value, or (`None`) nothing.
pub type CopyFunction<O> = dyn Fn(&O, &AttributeValue) -> Result<Option<AttributeValue>>;
/// Is told that an attribute goes.
pub type DeleteFunction<O> = dyn Fn(&O, &AttributeValue) -> Result<()>;

/// What names an attribute of objects of the type `O` (MPI-5.0 section 7.7.2). Clones are the same keyval; it lives as
/// long as a clone or an attribute with it, so freeing it (dropping the clones) while attributes live is harmless; who
/// still wants to reach these keeps a [`WeakKeyval`].
#[doc = example!(1
    "use rwmpi::{AttributeKind, AttributeValue, Attributes, CopyFunction, DeleteFunction, Keyval, WeakKeyval};"
    "// A duplicate gets a larger one."
    "let copy: Box<CopyFunction<&str>> ="
    "    Box::new(|_, value| Ok(Some(AttributeValue::new(value.word() + 1, value.kind()))));"
    "let delete: Box<DeleteFunction<&str>> = Box::new(|name, value| {"
    "    println!(\"{name} loses {}, which was at {:p}\", value.word(), value.place());"
    "    Ok(())"
    "});"
    "let (keyval, copied) = (Keyval::new(Some(copy), Some(delete)), Keyval::new(Keyval::copy_as_is(), None));"
    "assert!(keyval != copied);"
    "let (first, second) = (Attributes::default(), Attributes::default());"
    "first.set(&\"first\", &keyval, AttributeValue::new(7, AttributeKind::Address))?;"
    "first.copy_to(&\"first\", &second, &\"second\")?;"
    "assert_eq!(second.get(&keyval).map(|value| value.word()), Some(8));"
    "assert!(first.delete(&\"first\", &keyval)?);"
    "// Freed, but one attribute is left."
    "let freed: WeakKeyval<&str> = keyval.downgrade();"
    "drop(keyval);"
    "assert!(freed.upgrade().is_some_and(|keyval| second.get(&keyval).is_some()));"
    "second.delete_all(&\"second\")?;"
    "assert!(freed.upgrade().is_none());"
)]
pub struct Keyval<O> {
    functions: Rc<Functions<O>>,
}

struct Functions<O> {
    /// `None`: duplicates do not get the attribute.
    copy: Option<Box<CopyFunction<O>>>,
    delete: Option<Box<DeleteFunction<O>>>,
}

impl<O> Clone for Keyval<O> {
    fn clone(&self) -> Self {
        Keyval { functions: self.functions.clone() }
    }
}

impl<O> PartialEq for Keyval<O> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.functions, &other.functions)
    }
}

impl<O> Keyval<O> {
    /// A new one (MPI_Comm_create_keyval and its likes). Without `copy`, duplicates do not get the attribute
    /// (MPI_COMM_NULL_COPY_FN); without `delete`, it goes silently (MPI_COMM_NULL_DELETE_FN).
    #[doc(alias("MPI_Comm_create_keyval", "MPI_COMM_NULL_COPY_FN", "MPI_COMM_NULL_DELETE_FN"))]
    pub fn new(copy: Option<Box<CopyFunction<O>>>, delete: Option<Box<DeleteFunction<O>>>) -> Self {
        Keyval { functions: Rc::new(Functions { copy, delete }) }
    }

    /// A copy function that hands the value on as it is (MPI_COMM_DUP_FN).
    #[doc(alias = "MPI_COMM_DUP_FN")]
    pub fn copy_as_is() -> Option<Box<CopyFunction<O>>> {
        Some(Box::new(|_, value| Ok(Some(value.clone()))))
    }

    /// What names it without keeping it alive.
    pub fn downgrade(&self) -> WeakKeyval<O> {
        WeakKeyval { functions: Rc::downgrade(&self.functions) }
    }
}

/// A keyval that was freed: it is there as long as attributes have it.
pub struct WeakKeyval<O> {
    functions: Weak<Functions<O>>,
}

impl<O> Clone for WeakKeyval<O> {
    fn clone(&self) -> Self {
        WeakKeyval { functions: self.functions.clone() }
    }
}

impl<O> WeakKeyval<O> {
    /// The keyval, if any attribute still has it.
    pub fn upgrade(&self) -> Option<Keyval<O>> {
        self.functions.upgrade().map(|functions| Keyval { functions })
    }
}

/// The attributes of one object, in the order in which they were set.
pub struct Attributes<O> {
    list: RefCell<Vec<(Keyval<O>, Rc<AttributeValue>)>>,
}

impl<O> Default for Attributes<O> {
    fn default() -> Self {
        Attributes { list: RefCell::default() }
    }
}

impl<O> Attributes<O> {
    /// The value that was set for `keyval`. It stays where it is until the attribute is deleted or set again, so its
    /// address may be handed out.
    pub fn get(&self, keyval: &Keyval<O>) -> Option<Rc<AttributeValue>> {
        self.list.borrow().iter().find(|(known, _)| known == keyval).map(|(_, value)| value.clone())
    }

    /// Sets a value, after the one that was there has been deleted.
    ///
    /// # Errors
    /// What the delete function says; the old value then stays.
    pub fn set(&self, object: &O, keyval: &Keyval<O>, value: AttributeValue) -> Result<()> {
        self.delete(object, keyval)?;
        self.list.borrow_mut().push((keyval.clone(), Rc::new(value)));
        Ok(())
    }

    /// Removes the attribute; false if there was none.
    ///
    /// # Errors
    /// What the delete function says; the attribute then stays, unless the function was left before its end
    /// ([`ErrorClass::Unwound`]): it is not called for one attribute twice.
    pub fn delete(&self, object: &O, keyval: &Keyval<O>) -> Result<bool> {
        let Some(value) = self.get(keyval) else { return Ok(false) };
        let delete = keyval.functions.delete.as_ref();
        let deleted = delete.map_or(Ok(()), |delete| delete(object, &value)).map(|()| true);
        if deleted.as_ref().err().is_none_or(|error| error.class() == ErrorClass::Unwound) {
            self.list.borrow_mut().retain(|(known, kept)| !(known == keyval && Rc::ptr_eq(kept, &value)));
        }
        deleted
    }

    /// Removes all, the last first (MPI-5.0 sections 7.4.3 and 11.2.4).
    ///
    /// # Errors
    /// What a delete function says; its attribute and the earlier ones then stay.
    pub fn delete_all(&self, object: &O) -> Result<()> {
        let keyvals: Vec<Keyval<O>> = self.list.borrow().iter().map(|(keyval, _)| keyval.clone()).collect();
        keyvals.iter().rev().try_for_each(|keyval| self.delete(object, keyval).map(drop))
    }

    /// Asks the copy functions what `duplicate` gets of the attributes of `original`, which these are.
    ///
    /// # Errors
    /// What a copy function says; what had been copied is deleted again.
    pub fn copy_to(&self, original: &O, copies: &Attributes<O>, duplicate: &O) -> Result<()> {
        let list = self.list.borrow().clone();
        for (keyval, value) in list {
            let Some(copy) = &keyval.functions.copy else { continue };
            match copy(original, &value) {
                Ok(Some(value)) => copies.list.borrow_mut().push((keyval, Rc::new(value))),
                Ok(None) => {}
                Err(error) => {
                    // The copy function's error is the one to report.
                    let _ = copies.delete_all(duplicate);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    struct Object(&'static str, Attributes<Object>);

    type Log = Rc<RefCell<Vec<(&'static str, usize)>>>;

    fn object(name: &'static str) -> Object {
        Object(name, Attributes::default())
    }

    fn pointer(word: usize) -> AttributeValue {
        AttributeValue::new(word, AttributeKind::Pointer)
    }

    /// Copies values below 100 plus one, leaves out 100, fails above; deleting is logged, fails for 13, and is left
    /// before its end for 14.
    fn keyval(log: &Log) -> Keyval<Object> {
        let log = log.clone();
        let refused = || Error::new(ErrorClass::Other, "refused");
        Keyval::new(
            Some(Box::new(move |_, value| match value.word() {
                0..100 => Ok(Some(pointer(value.word() + 1))),
                100 => Ok(None),
                _ => Err(refused()),
            })),
            Some(Box::new(move |object: &Object, value| {
                log.borrow_mut().push((object.0, value.word()));
                match value.word() {
                    13 => Err(refused()),
                    14 => Err(Error::new(ErrorClass::Unwound, "thrown")),
                    _ => Ok(()),
                }
            })),
        )
    }

    fn word(object: &Object, keyval: &Keyval<Object>) -> Option<usize> {
        object.1.get(keyval).map(|value| value.word())
    }

    #[test]
    fn overwriting_deletes_the_old_value_first() {
        let log = Log::default();
        let (key, a) = (keyval(&log), object("a"));
        a.1.set(&a, &key, pointer(1)).unwrap();
        assert!(log.borrow().is_empty());
        a.1.set(&a, &key, pointer(13)).unwrap();
        assert_eq!(*log.borrow(), [("a", 1)]);
        assert!(a.1.set(&a, &key, pointer(2)).is_err());
        assert_eq!(word(&a, &key), Some(13));
        assert!(a.1.delete(&a, &key).is_err());
        assert_eq!(word(&a, &key), Some(13));
        assert!(!a.1.delete(&a, &keyval(&log)).unwrap());
    }

    #[test]
    fn a_delete_function_that_was_left_is_not_called_again() {
        let log = Log::default();
        let (key, a) = (keyval(&log), object("a"));
        a.1.set(&a, &key, pointer(14)).unwrap();
        assert_eq!(a.1.delete_all(&a).unwrap_err().class(), ErrorClass::Unwound);
        assert_eq!(word(&a, &key), None);
        a.1.delete_all(&a).unwrap();
        assert_eq!(*log.borrow(), [("a", 14)]);
    }

    #[test]
    fn duplicates_get_what_the_copy_functions_say() {
        let log = Log::default();
        let (a, b) = (object("a"), object("b"));
        let (copied, dropped) = (keyval(&log), keyval(&log));
        let (as_is, silent) = (Keyval::new(Keyval::copy_as_is(), None), Keyval::new(None, None));
        for (key, value) in [(&copied, 5), (&dropped, 100), (&as_is, 7), (&silent, 8)] {
            a.1.set(&a, key, pointer(value)).unwrap();
        }
        a.1.copy_to(&a, &b.1, &b).unwrap();
        let words = [&copied, &dropped, &as_is, &silent].map(|key| word(&b, key));
        assert_eq!(words, [Some(6), None, Some(7), None]);
        assert!(log.borrow().is_empty());
    }

    #[test]
    fn a_copy_that_fails_leaves_no_duplicate_behind() {
        let log = Log::default();
        let (a, b) = (object("a"), object("b"));
        for value in [5, 6, 101] {
            a.1.set(&a, &keyval(&log), pointer(value)).unwrap();
        }
        assert!(a.1.copy_to(&a, &b.1, &b).is_err());
        assert_eq!(*log.borrow(), [("b", 7), ("b", 6)]);
        assert!(b.1.list.borrow().is_empty());
    }

    #[test]
    fn all_go_in_reverse_order_even_when_their_keyvals_are_freed() {
        let log = Log::default();
        let a = object("a");
        let first = keyval(&log);
        a.1.set(&a, &first, pointer(1)).unwrap();
        a.1.set(&a, &keyval(&log), pointer(2)).unwrap();
        a.1.set(&a, &first, pointer(3)).unwrap();
        a.1.delete_all(&a).unwrap();
        assert_eq!(*log.borrow(), [("a", 1), ("a", 3), ("a", 2)]);
    }

    #[test]
    fn a_freed_keyval_is_there_until_its_last_attribute_is_gone() {
        let log = Log::default();
        let (a, b) = (object("a"), object("b"));
        let key = keyval(&log);
        a.1.set(&a, &key, pointer(1)).unwrap();
        a.1.copy_to(&a, &b.1, &b).unwrap();
        let freed = key.downgrade();
        drop(key);
        assert!(a.1.delete(&a, &freed.upgrade().unwrap()).unwrap());
        assert_eq!(word(&b, &freed.upgrade().unwrap()), Some(2));
        b.1.delete_all(&b).unwrap();
        assert!(freed.upgrade().is_none());
    }

    #[test]
    fn callbacks_may_change_the_attributes_of_the_same_object() {
        let a = Rc::new(object("a"));
        let other = Keyval::new(None, None);
        let key = {
            let other = other.clone();
            Keyval::new(None, Some(Box::new(move |object: &Object, _| object.1.set(object, &other, pointer(9)))))
        };
        a.1.set(&a, &key, pointer(1)).unwrap();
        a.1.delete_all(&a).unwrap();
        assert_eq!((word(&a, &key), word(&a, &other)), (None, Some(9)));
    }
}
