//! Info objects (MPI-5.0 chapter 10). They are there before MPI_Init and after MPI_Finalize, and for every thread
//! (section 11.4.1).

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rwmpi_core::{Error, ErrorClass, Info, Result};

use crate::argument::{Out, Text, TextList, TextOut, c_int};
use crate::error::Outcome;
use crate::handle_table::{Kind, Table};
use crate::interface::Abi;
use crate::number::count;
use crate::rank::{blame_nobody, peek};

static INFOS: LazyLock<Mutex<Table<Info>>> = LazyLock::new(|| Mutex::new(Table::new(Kind::Info)));

fn infos() -> MutexGuard<'static, Table<Info>> {
    INFOS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_info(what: String) -> Error {
    Error::new(ErrorClass::Info, what)
}

fn no_such_info<A: Abi>(code: u32) -> Error {
    no_info(match code == A::INFO_NULL {
        true => "the info object is MPI_INFO_NULL".to_string(),
        false => format!("{code:#x} is no info object: it was freed or never was one"),
    })
}

/// Looks at the info object with that handle. `look` must not use another.
fn with_info<A: Abi, R>(handle: A::Handle, look: impl FnOnce(&Info) -> Result<R>) -> Result<R> {
    blame_nobody();
    let code = A::code(handle);
    if code == A::INFO_ENV {
        return look(&environment::<A>());
    }
    infos().with(code, look).unwrap_or_else(|| Err(no_such_info::<A>(code)))
}

/// Changes the info object with that handle: MPI_INFO_ENV can't be.
fn change_info<A: Abi>(handle: A::Handle, change: impl FnOnce(&mut Info) -> Outcome) -> Outcome {
    blame_nobody();
    let code = A::code(handle);
    if code == A::INFO_ENV {
        return Err(no_info("MPI_INFO_ENV can't be changed".to_string()));
    }
    let infos = infos();
    let mut info = infos.take(code).ok_or_else(|| no_such_info::<A>(code))?;
    let outcome = change(&mut info);
    infos.restore(code, info);
    outcome
}

/// A handle for a new info object.
pub(crate) fn add_info<A: Abi>(info: Info) -> Result<A::Handle> {
    infos().insert(info).map(A::handle)
}

/// The levels of thread support, with their names in info objects.
pub(crate) fn thread_levels<A: Abi>() -> [(c_int, &'static str); 4] {
    [
        (A::THREAD_SINGLE, "MPI_THREAD_SINGLE"),
        (A::THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
        (A::THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
        (A::THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
    ]
}

/// What MPI_INFO_ENV says.
fn environment<A: Abi>() -> Info {
    let Ok(rank) = peek() else { return Info::environment(None, None) };
    let given = rank.thread_level.get();
    let level = thread_levels::<A>().into_iter().find(|level| level.0 == given).map(|level| level.1);
    Info::environment(rank.universe.borrow().as_ref().map(|universe| universe.world().size()), level)
}

/// The hints that a call was given, of which MPI_INFO_NULL are none.
pub(crate) fn hints<A: Abi>(handle: A::Handle) -> Result<Info> {
    match A::code(handle) {
        code if code == A::INFO_NULL => Ok(Info::new()),
        code if code == A::INFO_ENV => Ok(environment::<A>()),
        code => infos().get(code).ok_or_else(|| no_such_info::<A>(code)),
    }
}

/// Leaves a value in the info object that a call was given, if it can take one.
pub(crate) fn leave<A: Abi>(handle: A::Handle, key: &str, value: &str) -> Outcome {
    match A::code(handle) {
        code if code == A::INFO_NULL || code == A::INFO_ENV => Ok(()),
        _ => change_info::<A>(handle, |info| info.set(key, value)),
    }
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
    blame_nobody();
    made.set(add_info::<A>(Info::new())?)
}

/// MPI_Info_create_env (MPI-5.0 section 11.2.2): what MPI_INFO_ENV says, as far as it is known before MPI_Init, so that
/// it is the same at all times.
pub fn info_create_env<A: Abi>(_count: c_int, _arguments: TextList, made: Out<A::Handle>) -> Outcome {
    blame_nobody();
    static FIRST: LazyLock<Info> = LazyLock::new(|| Info::environment(None, None));
    made.set(add_info::<A>(FIRST.clone())?)
}

/// MPI_Info_dup (MPI-5.0 chapter 10).
pub fn info_dup<A: Abi>(info: A::Handle, made: Out<A::Handle>) -> Outcome {
    let copy = with_info::<A, _>(info, |info| Ok(info.clone()))?;
    made.set(add_info::<A>(copy)?)
}

/// MPI_Info_free (MPI-5.0 chapter 10).
pub fn info_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let info = handle.get()?;
    change_info::<A>(info, |_| Ok(()))?;
    infos().remove(A::code(info));
    handle.set(A::handle(A::INFO_NULL))
}

/// MPI_Info_set (MPI-5.0 chapter 10).
pub fn info_set<A: Abi>(info: A::Handle, key: Text, value: Text) -> Outcome {
    change_info::<A>(info, |info| info.set(&key_of::<A>(key)?, &value.get()?))
}

/// MPI_Info_delete (MPI-5.0 chapter 10).
pub fn info_delete<A: Abi>(info: A::Handle, key: Text) -> Outcome {
    change_info::<A>(info, |info| info.delete(&key_of::<A>(key)?))
}

/// The value of a key, if it has one.
fn value_of<A: Abi>(info: A::Handle, key: Text) -> Result<Option<String>> {
    with_info::<A, _>(info, |info| Ok(info.get(&key_of::<A>(key)?)?.map(str::to_owned)))
}

/// MPI_Info_get_string (MPI-5.0 chapter 10).
pub fn info_get_string<A: Abi>(
    info: A::Handle,
    key: Text,
    len: Out<c_int>,
    value: TextOut,
    flag: Out<c_int>,
) -> Outcome {
    let Some(found) = value_of::<A>(info, key)? else { return flag.set(0) };
    let room = count("the length of the buffer", len.get()?)?;
    if room > 0 {
        value.set(&found, room)?;
    }
    len.set(found.len() as c_int + 1)?;
    flag.set(1)
}

/// MPI_Info_get (MPI-2.0; deprecated in MPI-4.0).
pub fn info_get<A: Abi>(info: A::Handle, key: Text, len: c_int, value: TextOut, flag: Out<c_int>) -> Outcome {
    let found = value_of::<A>(info, key)?;
    let room = count("the length of the buffer", len)?;
    let Some(found) = found else { return flag.set(0) };
    value.set(&found, room + 1)?;
    flag.set(1)
}

/// MPI_Info_get_valuelen (MPI-2.0; deprecated in MPI-4.0).
pub fn info_get_valuelen<A: Abi>(info: A::Handle, key: Text, len: Out<c_int>, flag: Out<c_int>) -> Outcome {
    let Some(found) = value_of::<A>(info, key)? else { return flag.set(0) };
    len.set(found.len() as c_int)?;
    flag.set(1)
}

/// MPI_Info_get_nkeys (MPI-5.0 chapter 10).
pub fn info_get_nkeys<A: Abi>(info: A::Handle, keys: Out<c_int>) -> Outcome {
    keys.set(with_info::<A, _>(info, |info| Ok(info.len() as c_int))?)
}

/// MPI_Info_get_nthkey (MPI-5.0 chapter 10).
pub fn info_get_nthkey<A: Abi>(info: A::Handle, place: c_int, key: TextOut) -> Outcome {
    let place = count("the number of the key", place);
    let found = with_info::<A, _>(info, |info| Ok(info.key(place?)?.to_owned()))?;
    key.set(&found, A::MAX_INFO_KEY as usize)?;
    Ok(())
}
