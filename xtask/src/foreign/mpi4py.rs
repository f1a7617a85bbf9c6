//! mpi4py's own test suite.
//!
//! Left out are tests of what this library does not have yet: files, one-sided communication, processes that come and
//! go, partitioned communication, and buffers of sessions. A test that skips itself for another reason than
//! [`MAY_BE_MISSING`] fails the run: MPICH skips none of them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output_with};

/// Modules all of whose tests need what is left out. Pools spawn their workers; what synchronizes processes is made of
/// windows.
const MODULES_LEFT_OUT: &str = "test_(io|file|rma|rma_nb|win|spawn|dynproc|p2p_buf_part|util_pool|util_sync)\\.py$";
/// Tests of these things in other modules.
const TESTS_LEFT_OUT: [&str; 11] = [
    "test_attributes.TestWinAttr.*",
    "test_errhandler.TestErrhandlerFile.*",
    "test_errhandler.TestErrhandlerWin.*",
    "test_exceptions.TestExcWin.*",
    "test_exceptions.TestExcWinNull.*",
    "test_handle.TestHandleFile.*",
    "test_handle.TestHandleWin.*",
    "test_msgspec.TestMessageRMA.*",
    "test_session.TestSession.testBuffering",
    "test_subclass.TestMyFile.*",
    "test_subclass.TestMyWin.*",
];
/// What a test may lack and so skip itself: processors and packages that are not for every machine, ranks, and
/// recovery after failures, which the standard does not have.
const MAY_BE_MISSING: [&str; 5] = ["cupy", "numba", "mpi-world-size<2", "comm.size==1", "mpi-comm_revoke"];
/// The version whose source has the tests.
const MPI4PY: &str = "mpi4py==4.1.2";
/// What its tests use besides.
const PACKAGES: [&str; 4] = ["numpy", "cffi", "dill", "pyyaml"];

/// Starts the test suite. Two places try to open a file and know only one way to be told that there are none: the
/// exception that mpi4py raises for functions that a library lacks.
const START: &str = r#"
import contextlib, functools, os, runpy, sys
from mpi4py import MPI

class NoFile(MPI.File):
    @classmethod
    def Open(cls, *arguments, **named):
        raise NotImplementedError

@contextlib.contextmanager
def no_files():
    real, MPI.File = MPI.File, NoFile
    try:
        yield
    finally:
        MPI.File = real

del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
import test_objmodel
with no_files():
    import test_subclass
safe_free = test_objmodel.TestObjModel.testSafeFreeCreated
test_objmodel.TestObjModel.testSafeFreeCreated = functools.wraps(safe_free)(no_files()(safe_free))
runpy.run_path(sys.argv[0], run_name="__main__")
"#;

/// Python with what is named.
fn packages() -> Vec<&'static str> {
    [&[MPI4PY][..], &PACKAGES[..]].concat()
}

/// Python with mpi4py for the ABI of MPICH.
pub fn python(cache: &Cache) -> Result<PathBuf> {
    cache.python("mpi4py", &packages(), |_| ())
}

/// Its tests at so many ranks.
pub fn mpi4py(cache: &Cache, interface: &'static str, ranks: usize) -> Result<()> {
    let tests = cache.python_source(MPI4PY)?.join("test/main.py");
    let folder = match interface {
        "MPICH ABI" => python(cache)?,
        _ => {
            let compiler = format!("{} -abi=standard", cache.wrapper("mpicc").display());
            let packages = [vec!["--no-binary", "mpi4py"], packages()].concat();
            cache.python("mpi4py-standard", &packages, |pip| {
                pip.env("MPICC", &compiler);
            })?
        }
    };
    let start = cache.scratch("mpi4py")?.join("start.py");
    fs::write(&start, START)?;
    let mut command = cache.mpiexec(ranks);
    command.arg(folder.join("bin/python")).arg(start).arg(tests).args(["-v", "-e", MODULES_LEFT_OUT]);
    TESTS_LEFT_OUT.iter().for_each(|tests| _ = command.args(["-x", tests]));
    if interface == "MPICH ABI" {
        command.env("MPI4PY_MPIABI", "mpich").env("MPI4PY_LIBMPI", cache.prefix().join("lib/libmpi.so.12"));
    }
    let text = output_with(&mut command, "\nOK")?;
    let skipped = text.split("skipped '").skip(1).filter_map(|rest| rest.split('\'').next());
    let unexpected: Vec<&str> = skipped.filter(|reason| !MAY_BE_MISSING.contains(reason)).collect();
    ensure!(unexpected.is_empty(), "tests were skipped because of {unexpected:?}");
    let counted = text.lines().find(|line| line.starts_with("Ran ")).context("the tests were not counted")?;
    println!("{counted}");
    Ok(())
}
