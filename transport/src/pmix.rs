//! PMIx, by which PRRTE, Open MPI's `mpirun` and Slurm tell processes who they are, and have them leave words for each
//! other.
//!
//! It is spoken by a library only, of which the launcher brings its own; so it is loaded when a process turns out to be
//! started so, best the very one that the launcher has loaded. Of its interface this knows what it needs: a handful of
//! functions, and the structures that these take.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::{env, fs, mem, ptr};

use nix::libc;

use crate::spawning::{self, Command};

/// Names the job; set by such a launcher only.
pub const NAMESPACE: &str = "PMIX_NAMESPACE";

const LIBRARY: &str = "libpmix.so.2";
/// Bytes of a name space, with its end.
const NAME: usize = 256;
/// Bytes of a key, with its end.
const KEY: usize = 512;
/// Where to start processes.
const HOSTS: &CStr = c"pmix.host";
/// The process that has had this job started.
const PARENT: &CStr = c"pmix.parent";
/// In place of a process's number: the job.
const ALL: u32 = u32::MAX - 1;
/// Types of values, `PMIX_STRING`, `PMIX_UINT32`, `PMIX_PROC`.
const STRING: u16 = 3;
const NUMBER: u16 = 14;
const PROCESS: u16 = 22;
/// `PMIX_GLOBAL`: for all processes.
const FOR_ALL: u8 = 3;

/// Why PMIx was of no help.
#[derive(Debug, thiserror::Error)]
pub enum PmixError {
    /// The library is not to be found.
    #[error(
        "this process was started by PMIx, whose library {LIBRARY} cannot be loaded (PMIX_PREFIX may say where it is installed): {0}"
    )]
    NoLibrary(String),
    /// A call failed.
    #[error("PMIx refuses {what}: {why} (status {status})")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// Its number for why.
        status: c_int,
        /// Its words for that.
        why: String,
    },
}

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    namespace: [c_char; NAME],
    number: u32,
}

/// `pmix_value_t`, whose union has 24 bytes and begins with a pointer or a number.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

const _: () = assert!(size_of::<Value>() == 32);

/// `pmix_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    key: [c_char; KEY],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Info>() == 552);

/// `pmix_app_t`: a program to start. All that it points to is from `malloc`, as the library adds to it.
#[repr(C)]
struct App {
    program: *mut c_char,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
    folder: *mut c_char,
    processes: c_int,
    infos: *mut Info,
    info_count: usize,
}

type Init = unsafe extern "C" fn(*mut Proc, *const c_void, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Proc, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *const Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const c_void, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Proc, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int;
type Spawn = unsafe extern "C" fn(*const c_void, usize, *mut App, usize, *mut c_char) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library's functions.
#[derive(Clone, Copy, Debug)]
struct Library {
    init: Init,
    finalize: Finalize,
    abort: Abort,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    spawn: Spawn,
    error_string: ErrorString,
}

/// A process's connection to its launcher. A process has one.
#[derive(Debug)]
pub struct Pmix {
    library: Library,
    namespace: [c_char; NAME],
    me: usize,
}

impl Pmix {
    /// Introduces this process.
    ///
    /// # Errors
    /// If there is no library, or nobody whom it could reach.
    pub fn new() -> Result<Pmix, PmixError> {
        let library = Library::load()?;
        let mut me = Proc { namespace: [0; NAME], number: 0 };
        // SAFETY: `me` is a place for the result; no further information is passed.
        library.check("PMIx_Init", unsafe { (library.init)(&mut me, ptr::null(), 0) })?;
        Ok(Pmix { library, namespace: me.namespace, me: me.number as usize })
    }

    /// The number of this process in the job.
    pub fn me(&self) -> usize {
        self.me
    }

    /// How many processes the job has.
    ///
    /// # Errors
    /// If the launcher does not say.
    pub fn size(&self) -> Result<usize, PmixError> {
        let refused = PmixError::Refused { what: "the size of the job", status: 0, why: "it does not say".to_owned() };
        match self.value(ALL, c"pmix.job.size")? {
            Some(Found::Number(size)) => Ok(size as usize),
            _ => Err(refused),
        }
    }

    /// The processes of this node, ascending, if the launcher says so.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn here(&self) -> Result<Option<Vec<usize>>, PmixError> {
        let Some(Found::Text(list)) = self.value(ALL, c"pmix.lpeers")? else { return Ok(None) };
        let numbers: Option<Vec<usize>> = list.split(',').map(|number| number.trim().parse().ok()).collect();
        Ok(numbers.map(|mut numbers| {
            numbers.sort_unstable();
            numbers
        }))
    }

    /// Leaves a text for the others, who see it after the next [`Pmix::meet`].
    ///
    /// # Errors
    /// If the launcher does not take it.
    pub fn put(&mut self, key: &str, text: &str) -> Result<(), PmixError> {
        let [key, text] = [key, text].map(|text| CString::new(text).expect("keys and texts have no zero bytes"));
        let value = Value::text(text.as_ptr());
        // SAFETY: key and value are what the call reads, and live until it returns; it copies them.
        self.library.check("a value", unsafe { (self.library.put)(FOR_ALL, key.as_ptr(), &value) })
    }

    /// What process `from` has left under `key`, if anything.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn get(&mut self, from: usize, key: &str) -> Result<Option<String>, PmixError> {
        let key = CString::new(key).expect("keys have no zero bytes");
        Ok(match self.value(from as u32, &key)? {
            Some(Found::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// Waits until all processes of the job are here.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn meet(&mut self) -> Result<(), PmixError> {
        // SAFETY: the call has no arguments.
        self.library.check("to pass values on", unsafe { (self.library.commit)() })?;
        let all = Proc { namespace: self.namespace, number: ALL };
        // SAFETY: one process description, which lives until the call returns; no further information is passed.
        self.library.check("to wait for the others", unsafe { (self.library.fence)(&all, 1, ptr::null(), 0) })
    }

    /// Says that this process ends in good order.
    pub fn finish(&mut self) {
        // SAFETY: no further information is passed. Whoever does not hear it any more does not mind.
        let _ = unsafe { (self.library.finalize)(ptr::null(), 0) };
    }

    /// Has the launcher end the job.
    pub fn abort(&mut self, code: i32) {
        // SAFETY: the text is a constant; no processes are named, which means all.
        let _ = unsafe { (self.library.abort)(code, c"the program ended the job".as_ptr(), ptr::null(), 0) };
    }

    /// The name space of this process.
    pub fn namespace(&self) -> String {
        text_of(&self.namespace)
    }

    /// The name space of the process that has had this job started, if one has.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn parent(&self) -> Result<Option<String>, PmixError> {
        Ok(match self.value(self.me as u32, PARENT)? {
            Some(Found::Process(namespace)) => Some(namespace),
            _ => None,
        })
    }

    /// Has the launcher start these as a job of its own, with `setting` (`NAME=value`) in their environment.
    ///
    /// # Errors
    /// If it can't start all of them.
    pub fn spawn(&mut self, commands: &[Command], setting: &str) -> Result<(), PmixError> {
        let mut apps: Vec<App> = commands.iter().map(|command| App::new(command, setting)).collect();
        let mut name = [0; NAME];
        // SAFETY: the programs are as the call expects them and live until it returns; `name` is a place for the name
        // space of the new job; no information about the job as a whole is passed.
        let status = unsafe { (self.library.spawn)(ptr::null(), 0, apps.as_mut_ptr(), apps.len(), name.as_mut_ptr()) };
        self.library.check("to start processes", status)
    }

    fn value(&self, number: u32, key: &CStr) -> Result<Option<Found>, PmixError> {
        let of = Proc { namespace: self.namespace, number };
        let mut value: *mut Value = ptr::null_mut();
        // SAFETY: process and key live until the call returns; `value` is a place for the result.
        let status = unsafe { (self.library.get)(&of, key.as_ptr(), ptr::null(), 0, &mut value) };
        if status != 0 || value.is_null() {
            return Ok(None);
        }
        // SAFETY: a value of theirs has a type, and in a union, aligned as ours, at least eight bytes; the rest of ours
        // is not touched.
        let (kind, data) = unsafe { ((*value).kind, (&raw const (*value).data).cast::<u64>().read()) };
        let found = match kind {
            NUMBER => Some(Found::Number(data as u32)),
            PROCESS if data != 0 => {
                let process = data as *mut Proc;
                // SAFETY: in a value of this type the union is the address of a process.
                let namespace = text_of(unsafe { &(*process).namespace });
                // SAFETY: it was allocated for whoever has asked.
                unsafe { libc::free(process.cast()) };
                Some(Found::Process(namespace))
            }
            STRING if data != 0 => {
                let text = data as *mut c_char;
                // SAFETY: in a value of this type the union is the address of a text with a zero byte at its end.
                let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
                // SAFETY: the text was allocated for whoever has asked.
                unsafe { libc::free(text.cast()) };
                Some(Found::Text(copy))
            }
            _ => None,
        };
        // SAFETY: so was the value itself.
        unsafe { libc::free(value.cast()) };
        Ok(found)
    }
}

enum Found {
    Number(u32),
    Text(String),
    /// Its name space.
    Process(String),
}

/// The characters up to the first zero.
fn text_of(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|&character| character as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Value {
    fn text(text: *const c_char) -> Value {
        Value { kind: STRING, data: [text as u64, 0, 0] }
    }
}

impl App {
    fn new(command: &Command, setting: &str) -> App {
        let (hints, hosts) = (&command.hints, spawning::hosts(&command.hints));
        let arguments = [&command.program].into_iter().chain(&command.arguments);
        App {
            program: text(&command.program),
            arguments: texts(arguments.map(String::as_str)),
            environment: texts(spawning::environment(hints).chain([setting])),
            folder: spawning::directory(hints).map_or(ptr::null_mut(), text),
            processes: c_int::try_from(command.processes).unwrap_or(c_int::MAX),
            infos: hosts.map_or(ptr::null_mut(), Info::on_hosts),
            info_count: usize::from(hosts.is_some()),
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        for list in [self.arguments, self.environment] {
            // SAFETY: neither is null, each ends with a null pointer, and both with all their texts are from `malloc`
            // and nobody else's, also where the library has put another list in place of ours.
            unsafe {
                (0..)
                    .map(|at| *list.add(at))
                    .take_while(|text| !text.is_null())
                    .for_each(|text| libc::free(text.cast()));
                libc::free(list.cast());
            }
        }
        if !self.infos.is_null() {
            // SAFETY: there is one, whose value is a text, both from `malloc`; the library leaves it as it is.
            unsafe {
                libc::free((*self.infos).value.data[0] as *mut c_void);
                libc::free(self.infos.cast());
            }
        }
        // SAFETY: both are from `malloc`, or null, which `free` ignores.
        unsafe {
            libc::free(self.program.cast());
            libc::free(self.folder.cast());
        }
    }
}

impl Info {
    /// On which hosts, from `malloc`.
    fn on_hosts(hosts: &str) -> *mut Info {
        let mut key = [0; KEY];
        key.iter_mut().zip(HOSTS.to_bytes()).for_each(|(place, byte)| *place = *byte as c_char);
        from_malloc(&[Info { key, flags: 0, value: Value::text(text(hosts)) }])
    }
}

/// A text from `malloc`, up to its first zero byte.
fn text(text: &str) -> *mut c_char {
    let bytes = text.bytes().take_while(|&byte| byte != 0).chain([0]);
    from_malloc(&bytes.map(|byte| byte as c_char).collect::<Vec<_>>())
}

/// A list of texts from `malloc`, which ends with a null pointer.
fn texts<'a>(each: impl Iterator<Item = &'a str>) -> *mut *mut c_char {
    from_malloc(&each.map(text).chain([ptr::null_mut()]).collect::<Vec<_>>())
}

/// A copy from `malloc`.
fn from_malloc<T: Copy>(values: &[T]) -> *mut T {
    // SAFETY: the call has no conditions.
    let place = unsafe { libc::malloc(size_of_val(values)) }.cast::<T>();
    assert!(!place.is_null(), "there is no memory for what a launcher is told");
    // SAFETY: there is new memory for as many values, aligned for every type.
    unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    place
}

impl Library {
    fn check(&self, what: &'static str, status: c_int) -> Result<(), PmixError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the call takes any number, and gives a constant text or nothing.
        let why: Cow<'_, str> = unsafe {
            let text = (self.error_string)(status);
            if text.is_null() { "it does not say why".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(PmixError::Refused { what, status, why: why.into_owned() })
    }

    fn load() -> Result<Library, PmixError> {
        let mut handle = ptr::null_mut();
        for candidate in candidates() {
            let Ok(path) = CString::new(candidate.into_os_string().into_encoded_bytes()) else { continue };
            // SAFETY: loading runs code of the library, which is the launcher's own or installed on this machine.
            handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                break;
            }
        }
        if handle.is_null() {
            // SAFETY: the call has no conditions; what it gives is a text until the next call of its family.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(PmixError::NoLibrary(why.to_string_lossy().into_owned()));
        }
        let symbol = |name: &CStr| {
            // SAFETY: the handle is open, and never closed.
            let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if address.is_null() {
                Err(PmixError::NoLibrary(format!("it has no {}", name.to_string_lossy())))
            } else {
                Ok(address)
            }
        };
        // SAFETY: the addresses are of functions that have these types in all versions of PMIx from 2 on.
        unsafe {
            Ok(Library {
                init: mem::transmute::<*mut c_void, Init>(symbol(c"PMIx_Init")?),
                finalize: mem::transmute::<*mut c_void, Finalize>(symbol(c"PMIx_Finalize")?),
                abort: mem::transmute::<*mut c_void, Abort>(symbol(c"PMIx_Abort")?),
                put: mem::transmute::<*mut c_void, Put>(symbol(c"PMIx_Put")?),
                commit: mem::transmute::<*mut c_void, Commit>(symbol(c"PMIx_Commit")?),
                fence: mem::transmute::<*mut c_void, Fence>(symbol(c"PMIx_Fence")?),
                get: mem::transmute::<*mut c_void, Get>(symbol(c"PMIx_Get")?),
                spawn: mem::transmute::<*mut c_void, Spawn>(symbol(c"PMIx_Spawn")?),
                error_string: mem::transmute::<*mut c_void, ErrorString>(symbol(c"PMIx_Error_string")?),
            })
        }
    }
}

/// Where the library may be, the launcher's own first.
fn candidates() -> Vec<PathBuf> {
    let named = env::var_os("PMIX_PREFIX").map(|prefix| PathBuf::from(prefix).join("lib").join(LIBRARY));
    let maps = fs::read_to_string(format!("/proc/{}/maps", std::os::unix::process::parent_id())).unwrap_or_default();
    let of_parent = maps.lines().filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    let is_library =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libpmix.so"));
    named.into_iter().chain(of_parent.filter(is_library).take(1)).chain([LIBRARY.into()]).collect()
}
