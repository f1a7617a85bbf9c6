//! Descriptors in a process whose program closes what it does not know, and then gets the number for a file of its own.
//!
//! So ours lie high, where no program counts on a number. One that is used long after it was opened is first compared
//! with what it was, by device and inode. And what a process inherits is known by these two, never by its number alone;
//! it stays open under that number, closed by `exec`, so that the number is nobody else's as long as the program leaves
//! it alone.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

/// What our launcher says of the job's file, as [`handed_down`] does.
pub const JOB_FD: &str = "RWMPI_JOB_FD";
/// Ours are at least the first of these that the limit allows.
const LOWEST: [RawFd; 3] = [1000, 200, 3];

/// Device and inode.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(descriptor: impl AsFd) -> io::Result<Identity> {
    Ok(rustix::fs::fstat(descriptor).map(|data| (data.st_dev, data.st_ino))?)
}

/// Another descriptor of the same, high, and closed by `exec`.
///
/// # Errors
/// If there is none left.
pub(crate) fn high(descriptor: impl AsFd) -> io::Result<OwnedFd> {
    let mut error = io::ErrorKind::InvalidInput.into();
    for lowest in LOWEST {
        match fcntl_dupfd_cloexec(descriptor.as_fd(), lowest) {
            Ok(duplicate) => return Ok(duplicate),
            Err(refused) => error = refused.into(),
        }
    }
    Err(error)
}

/// The same under a high number, if there is one left.
pub fn raised(descriptor: OwnedFd) -> OwnedFd {
    high(&descriptor).unwrap_or(descriptor)
}

/// A descriptor that is used, and closed, only as long as it is what it was. If it was handed down, and the program has
/// closed it, it is opened again where its holder has it.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Always there, but while it is dropped.
    descriptor: Option<OwnedFd>,
    identity: Identity,
    handed_down: Option<HandedDown>,
    reopened: OnceLock<OwnedFd>,
}

impl Kept {
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Kept> {
        let identity = identity(&descriptor)?;
        Ok(Kept { descriptor: Some(descriptor), identity, handed_down: None, reopened: OnceLock::new() })
    }

    /// The same of one that a variable may have told of.
    pub(crate) fn inherited(descriptor: OwnedFd, said: Option<HandedDown>) -> io::Result<Kept> {
        let mut kept = Kept::new(descriptor)?;
        kept.handed_down = said.filter(|said| said.identity == kept.identity);
        Ok(kept)
    }

    /// What it was, if that can be had.
    pub(crate) fn current(&self) -> Option<BorrowedFd<'_>> {
        if self.is_the_same() {
            return Some(self.as_fd());
        }
        let is_right = |one: &OwnedFd| identity(one).is_ok_and(|now| now == self.identity);
        if let Some(reopened) = self.reopened.get() {
            return is_right(reopened).then(|| reopened.as_fd());
        }
        let reopened = self.handed_down.as_ref()?.reopen(OFlags::RDWR).ok()?;
        Some(self.reopened.get_or_init(|| reopened).as_fd())
    }

    /// What it was.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// As if the program had closed it, and got its number for `other`.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, other: OwnedFd) {
        self.descriptor = Some(other);
    }

    /// Whether it still is what it was.
    pub(crate) fn is_the_same(&self) -> bool {
        identity(self).is_ok_and(|now| now == self.identity)
    }
}

impl AsFd for Kept {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_ref().expect("it is not being dropped").as_fd()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.is_the_same() {
            // The program has closed it; what has its number now is the program's.
            let _ = self.descriptor.take().map(IntoRawFd::into_raw_fd);
        }
        let is_ours = |one: &OwnedFd| identity(one).is_ok_and(|now| now == self.identity);
        if let Some(closed) = self.reopened.take().filter(|one| !is_ours(one)) {
            let _ = closed.into_raw_fd();
        }
    }
}

/// What a process says to one that it starts about a descriptor which that one inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandedDown {
    number: RawFd,
    identity: Identity,
    /// The process that has it under the same number.
    holder: u32,
}

/// The value of a variable that tells a process which this one starts about a descriptor that it inherits.
///
/// # Errors
/// What the system says.
pub fn handed_down(descriptor: BorrowedFd<'_>) -> io::Result<String> {
    let (device, inode) = identity(descriptor)?;
    Ok(format!("{}:{device}:{inode}:{}", descriptor.as_raw_fd(), std::process::id()))
}

impl HandedDown {
    /// The job's file, if our launcher has handed it down.
    pub(crate) fn job() -> Option<HandedDown> {
        HandedDown::parse(&std::env::var(JOB_FD).ok()?)
    }

    pub(crate) fn parse(text: &str) -> Option<HandedDown> {
        let mut numbers = text.split(':').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (number, device, inode, holder) = (next()?, next()?, next()?, next()?);
        let (number, holder) = (number.try_into().ok()?, holder.try_into().ok()?);
        numbers.next().is_none().then_some(HandedDown { number, identity: (device, inode), holder })
    }

    /// Takes it over: gives another descriptor of it, high; no child inherits it from now on. If something between the
    /// two has closed it, it is opened again, as `flags` say, where the holder has it.
    ///
    /// # Errors
    /// If it can't be had.
    pub(crate) fn take(&self, flags: OFlags) -> io::Result<OwnedFd> {
        if let Some(own) = self.own() {
            return Ok(own);
        }
        self.reopen(flags)
    }

    /// Opens it where the holder has it.
    fn reopen(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{}", self.holder, self.number);
        let opened = raised(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?);
        match identity(&opened)? == self.identity {
            true => Ok(opened),
            false => Err(io::Error::other("it is something else there, too")),
        }
    }

    fn own(&self) -> Option<OwnedFd> {
        let inherited = by_number(self.number);
        // The duplicate can't become something else between the look and the use.
        let own = high(inherited).ok()?;
        if identity(&own).ok()? != self.identity {
            return None;
        }
        fcntl_setfd(inherited, FdFlags::CLOEXEC).ok()?;
        Some(own)
    }
}

/// Takes over the connection to a launcher that says no more than its number. It is taken once: then it is closed by
/// `exec`, as it can't have been before.
///
/// # Errors
/// Says what is wrong with it.
pub(crate) fn take_connection(number: usize) -> Result<OwnedFd, String> {
    let inherited = by_number(RawFd::try_from(number).map_err(|_| format!("{number} is no descriptor"))?);
    let flags = fcntl_getfd(inherited).map_err(|_| {
        format!("descriptor {number} is not open. A program that is not to be a process of the job is started without the variable")
    })?;
    if flags.contains(FdFlags::CLOEXEC) {
        return Err(format!("descriptor {number} is in use already: a process joins its job once"));
    }
    let own = high(inherited).map_err(|error| format!("descriptor {number}: {error}"))?;
    if !rustix::fs::fstat(&own).is_ok_and(|data| FileType::from_raw_mode(data.st_mode) == FileType::Socket) {
        return Err(format!("descriptor {number} is no connection to a launcher"));
    }
    fcntl_setfd(inherited, FdFlags::CLOEXEC).map_err(|error| format!("descriptor {number}: {error}"))?;
    Ok(own)
}

/// Another descriptor of a file that the program has opened.
///
/// # Errors
/// If it has opened none with that number.
pub(crate) fn of_program(number: RawFd) -> io::Result<OwnedFd> {
    match number {
        0.. => high(by_number(number)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// What has that number, if anything has. For calls that do no harm to whatever it is.
fn by_number(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: not -1, as numbers come from what has no sign. Whoever calls does with it only what is allowed if it is
    // not open, or changes meanwhile: system calls that fail then.
    unsafe { BorrowedFd::borrow_raw(number.max(0)) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::FromRawFd;

    use rustix::io::dup2;

    use super::*;

    fn file() -> OwnedFd {
        rustix::fs::memfd_create("some file", rustix::fs::MemfdFlags::CLOEXEC).unwrap()
    }

    #[test]
    fn what_is_handed_down_is_known_by_more_than_its_number() {
        let given = raised(file());
        let said = HandedDown::parse(&handed_down(given.as_fd()).unwrap()).unwrap();
        let taken = said.take(OFlags::RDWR).unwrap();
        assert_eq!(identity(&taken).unwrap(), identity(&given).unwrap());
        assert!(fcntl_getfd(&given).is_ok(), "it stays open under its number");

        // Another process has something else under that number, and closing it here changes nothing for the holder.
        let elsewhere = HandedDown { number: given.as_raw_fd(), holder: 1, ..said.clone() };
        assert!(elsewhere.take(OFlags::RDWR).is_ok(), "the own one is asked first");
        let stranger = HandedDown { number: said.number, identity: (said.identity.0, said.identity.1 + 1), ..said };
        assert!(stranger.take(OFlags::RDWR).is_err());
        for text in ["", "3", "3:1:2", "3:1:2:4:5", "-1:1:2:3", "3:a:2:4", "99999999999:1:2:3"] {
            assert_eq!(HandedDown::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_was_closed_on_the_way_is_opened_where_the_holder_has_it() {
        let given = file();
        let (device, inode) = identity(&given).unwrap();
        // The same process is the holder here; the number is one that only `/proc` is asked about.
        let said = HandedDown { number: given.as_raw_fd(), identity: (device, inode), holder: std::process::id() };
        let by_holder = HandedDown { identity: (device, inode + 1), ..said.clone() };
        assert!(by_holder.take(OFlags::RDWR).unwrap_err().to_string().contains("something else"));
        let path = format!("/proc/{}/fd/{}", said.holder, said.number);
        assert_eq!(identity(File::open(path).unwrap()).unwrap(), said.identity);
    }

    #[test]
    fn what_the_program_has_under_our_number_is_not_closed() {
        let kept = Kept::new(raised(file())).unwrap();
        assert!(kept.is_the_same());
        // SAFETY: this stands for a program that closes what it does not know; who is then the owner is what the test
        // is about.
        let mut number = unsafe { OwnedFd::from_raw_fd(kept.as_fd().as_raw_fd()) };
        dup2(file(), &mut number).unwrap();
        assert!(!kept.is_the_same());
        drop(kept);
        assert!(fcntl_getfd(&number).is_ok(), "it is the program's now");
    }

    #[test]
    fn what_the_program_has_closed_is_had_again_from_the_holder() {
        let held = raised(file());
        let said = HandedDown::parse(&handed_down(held.as_fd()).unwrap());
        let kept = Kept::inherited(high(&held).unwrap(), said.clone()).unwrap();
        let other = Kept::inherited(file(), said).unwrap();
        for kept in [&kept, &other] {
            assert!(kept.current().is_some());
            // SAFETY: as above.
            let mut number = unsafe { OwnedFd::from_raw_fd(kept.as_fd().as_raw_fd()) };
            dup2(file(), &mut number).unwrap();
            std::mem::forget(number);
        }
        for _ in 0..2 {
            assert_eq!(identity(kept.current().unwrap()).unwrap(), kept.identity());
            assert!(other.current().is_none(), "nobody has told of that one");
        }
    }

    #[test]
    fn a_connection_is_taken_once() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        fcntl_setfd(&ours, FdFlags::empty()).unwrap();
        let number = ours.as_raw_fd() as usize;
        assert!(take_connection(number).is_ok());
        assert!(take_connection(number).unwrap_err().contains("once"));
        let file = file();
        fcntl_setfd(&file, FdFlags::empty()).unwrap();
        assert!(take_connection(file.as_raw_fd() as usize).unwrap_err().contains("no connection"));
        assert!(take_connection(1 << 20).unwrap_err().contains("not open"));
    }
}
