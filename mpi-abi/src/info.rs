//! Info objects (MPI-5.0 chapter 10).

use std::cell::RefCell;
use std::rc::Rc;

use rwmpi_core::{Error, ErrorClass, Info, Result};

use crate::argument::{Out, Text, TextOut, c_char, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::number::count;
use crate::rank::{Rank, rank};

fn no_info(what: String) -> Error {
    Error::new(ErrorClass::Info, what)
}

impl Rank {
    /// The info object with that handle, for looking at it.
    fn info_object<A: Abi>(&self, handle: A::Handle) -> Result<Rc<RefCell<Info>>> {
        let code = A::code(handle);
        if code == A::INFO_ENV {
            return Ok(Rc::new(RefCell::new(self.environment::<A>())));
        }
        self.infos.get(code).ok_or_else(|| {
            no_info(match code == A::INFO_NULL {
                true => "the info object is MPI_INFO_NULL".to_string(),
                false => format!("{code:#x} is no info object: it was freed or never was one"),
            })
        })
    }

    /// The hints that a call was given, of which MPI_INFO_NULL are none.
    pub(crate) fn hints<A: Abi>(&self, handle: A::Handle) -> Result<Info> {
        if A::code(handle) == A::INFO_NULL {
            return Ok(Info::new());
        }
        Ok(self.info_object::<A>(handle)?.borrow().clone())
    }

    /// A handle for a new info object.
    pub(crate) fn add_info<A: Abi>(&self, info: Info) -> A::Handle {
        A::handle(self.infos.insert(Rc::new(RefCell::new(info))))
    }

    /// What MPI_INFO_ENV says.
    fn environment<A: Abi>(&self) -> Info {
        let levels = [
            (A::THREAD_SINGLE, "MPI_THREAD_SINGLE"),
            (A::THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
            (A::THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
            (A::THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
        ];
        let given = self.thread_level.get();
        let level = levels.iter().find(|level| level.0 == given).map(|level| level.1);
        let ranks = self.universe.borrow().as_ref().map_or(1, |universe| universe.world().size());
        Info::environment(ranks, level)
    }
}

/// For changing it: MPI_INFO_ENV can't be.
fn own<A: Abi>(handle: A::Handle) -> Result<Rc<RefCell<Info>>> {
    if A::code(handle) == A::INFO_ENV {
        return Err(no_info("MPI_INFO_ENV can't be changed".to_string()));
    }
    rank()?.info_object::<A>(handle)
}

/// A key, which has to fit into what the interface gives keys.
fn key_of<A: Abi>(key: Text) -> Result<String> {
    let key = key.get()?;
    if key.len() >= A::MAX_INFO_KEY as usize {
        let what = format!("the info key has {} bytes; {} are allowed", key.len(), A::MAX_INFO_KEY - 1);
        return Err(Error::new(ErrorClass::InfoKey, what));
    }
    Ok(key)
}

/// MPI_Info_create (MPI-5.0 chapter 10).
pub fn info_create<A: Abi>(made: Out<A::Handle>) -> Outcome {
    made.set(rank()?.add_info::<A>(Info::new()))
}

/// MPI_Info_create_env (MPI-5.0 section 11.2.2): what MPI_INFO_ENV says.
pub fn info_create_env<A: Abi>(_count: c_int, _arguments: *mut *mut c_char, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    made.set(rank.add_info::<A>(rank.environment::<A>()))
}

/// MPI_Info_dup (MPI-5.0 chapter 10).
pub fn info_dup<A: Abi>(info: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let copy = rank.info_object::<A>(info)?.borrow().clone();
    made.set(rank.add_info::<A>(copy))
}

/// MPI_Info_free (MPI-5.0 chapter 10).
pub fn info_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let info = handle.get()?;
    own::<A>(info)?;
    rank()?.infos.remove(A::code(info));
    handle.set(A::handle(A::INFO_NULL))
}

/// MPI_Info_set (MPI-5.0 chapter 10).
pub fn info_set<A: Abi>(info: A::Handle, key: Text, value: Text) -> Outcome {
    own::<A>(info)?.borrow_mut().set(&key_of::<A>(key)?, &value.get()?)
}

/// MPI_Info_delete (MPI-5.0 chapter 10).
pub fn info_delete<A: Abi>(info: A::Handle, key: Text) -> Outcome {
    own::<A>(info)?.borrow_mut().delete(&key_of::<A>(key)?)
}

/// MPI_Info_get_string (MPI-5.0 chapter 10).
pub fn info_get_string<A: Abi>(
    info: A::Handle,
    key: Text,
    len: Out<c_int>,
    value: TextOut,
    flag: Out<c_int>,
) -> Outcome {
    let info = rank()?.info_object::<A>(info)?;
    let info = info.borrow();
    let Some(found) = info.get(&key_of::<A>(key)?)? else { return flag.set(0) };
    let room = count("the length of the buffer", len.get()?)?;
    if room > 0 {
        value.set(found, room)?;
    }
    len.set(found.len() as c_int + 1)?;
    flag.set(1)
}

/// MPI_Info_get (MPI-2.0; deprecated in MPI-4.0).
pub fn info_get<A: Abi>(info: A::Handle, key: Text, len: c_int, value: TextOut, flag: Out<c_int>) -> Outcome {
    let info = rank()?.info_object::<A>(info)?;
    let info = info.borrow();
    let room = count("the length of the buffer", len)?;
    let Some(found) = info.get(&key_of::<A>(key)?)? else { return flag.set(0) };
    value.set(found, room + 1)?;
    flag.set(1)
}

/// MPI_Info_get_valuelen (MPI-2.0; deprecated in MPI-4.0).
pub fn info_get_valuelen<A: Abi>(info: A::Handle, key: Text, len: Out<c_int>, flag: Out<c_int>) -> Outcome {
    let info = rank()?.info_object::<A>(info)?;
    let info = info.borrow();
    let Some(found) = info.get(&key_of::<A>(key)?)? else { return flag.set(0) };
    len.set(found.len() as c_int)?;
    flag.set(1)
}

/// MPI_Info_get_nkeys (MPI-5.0 chapter 10).
pub fn info_get_nkeys<A: Abi>(info: A::Handle, keys: Out<c_int>) -> Outcome {
    keys.set(rank()?.info_object::<A>(info)?.borrow().len() as c_int)
}

/// MPI_Info_get_nthkey (MPI-5.0 chapter 10).
pub fn info_get_nthkey<A: Abi>(info: A::Handle, place: c_int, key: TextOut) -> Outcome {
    let info = rank()?.info_object::<A>(info)?;
    let info = info.borrow();
    key.set(info.key(count("the number of the key", place)?)?, A::MAX_INFO_KEY as usize)?;
    Ok(())
}
