//! What tidy holds the project to, as data. Whoever changes a line here changes a decision: say why in the commit.

/// Which of the workspace's packages each one may use. A package that is not named here may not exist.
pub const LAYERS: &[(&str, &[&str])] = &[
    ("rwmpi-transport", &[]),
    ("rwmpi-protocol", &[]),
    // What it writes into programs names rwmpi; itself it knows nothing.
    ("rwmpi-derive", &[]),
    // Messages between peers; it knows no communicator.
    ("rwmpi-engine", &["rwmpi-protocol", "rwmpi-transport"]),
    // What all communicators of a rank share.
    ("rwmpi-rank", &["rwmpi-engine", "rwmpi-protocol", "rwmpi-transport"]),
    // Algorithms of collectives, among the ranks of a team.
    ("rwmpi-collective", &["rwmpi-rank", "rwmpi-engine", "rwmpi-protocol", "rwmpi-transport"]),
    (
        "rwmpi-core",
        &["rwmpi-collective", "rwmpi-rank", "rwmpi-engine", "rwmpi-protocol", "rwmpi-transport", "rwmpi-derive"],
    ),
    // Files, on what every program may use of MPI.
    ("rwmpi-io", &["rwmpi-core"]),
    ("rwmpi-launcher", &["rwmpi-transport", "rwmpi-core"]),
    // What the launcher has done by another program, which knows it by what the two say to each other.
    ("rwmpi-console", &[]),
    ("rwmpi-heap", &["rwmpi-transport"]),
    ("rwmpi-heap-preload", &["rwmpi-heap"]),
    ("rwmpi", &["rwmpi-core", "rwmpi-heap", "rwmpi-io", "rwmpi-launcher"]),
    ("rwmpi-abi-table", &[]),
    ("rwmpi-interface", &["rwmpi-abi-table"]),
    ("rwmpi-abi", &["rwmpi-core", "rwmpi-io", "rwmpi-interface"]),
    ("rwmpi-standard", &["rwmpi-abi", "rwmpi-abi-table"]),
    ("rwmpi-mpich", &["rwmpi-abi", "rwmpi-abi-table"]),
    ("rwmpi-fortran", &["rwmpi-interface"]),
    ("rwmpi-fortran-standard", &["rwmpi-interface", "rwmpi-fortran", "rwmpi-abi-table"]),
    ("rwmpi-fortran-mpich", &["rwmpi-interface", "rwmpi-fortran", "rwmpi-abi-table"]),
    ("rwmpi-wrappers", &[]),
    // Pages in a browser, for tests.
    ("page-check", &[]),
    ("npb", &["rwmpi", "rwmpi-launcher", "page-check"]),
    ("mpi-bench", &["rwmpi", "rwmpi-launcher"]),
    ("rwmpi-model", &["rwmpi-protocol"]),
    (
        "rwmpi-tests",
        &[
            "rwmpi",
            "rwmpi-model",
            "rwmpi-core",
            "rwmpi-heap",
            "rwmpi-protocol",
            "rwmpi-transport",
            "rwmpi-launcher",
            "npb",
            "mpi-bench",
            "rwmpi-abi-table",
            "page-check",
        ],
    ),
    ("xtask", &["rwmpi-abi-table", "page-check"]),
];

/// How many of the uppermost modules of each package use each other in circles: a number that only falls.
pub const MODULES_IN_CIRCLES: &[(&str, usize)] = &[
    ("transport/src", 0),
    ("mpi-core/protocol/src", 0),
    ("mpi-core/engine/src", 0),
    ("mpi-core/rank/src", 0),
    ("mpi-core/collective/src", 15),
    ("mpi-core/src", 0),
    ("mpi-core/io/src", 0),
    ("mpi-abi/src", 0),
    ("launcher/src", 0),
    ("npb-ports/src", 0),
    ("bench/src", 0),
    ("xtask/src", 0),
];

/// What the launcher may take from the layer that knows MPI: the sentences for a rank's present call and for what it
/// waits for, what it has noted, the protocol's and progress's names, and the table of lengths, which is one for the
/// whole job.
pub const LAUNCHER_MAY_USE_OF_CORE: &[&str] = &[
    "describe_activity",
    "describe_wait",
    "profile",
    "read_answer",
    "Answer",
    "Partner",
    "Wait",
    "Protocol",
    "Progress",
    "tuning",
];

/// Words that belong to the layers above the transport.
pub const MPI_WORDS: &[&str] =
    &["rank", "ranks", "tag", "tags", "communicator", "communicators", "datatype", "datatypes"];

/// Where the transport may use one of them all the same: file and word. Each line says why.
pub const MPI_WORD_EXCEPTIONS: &[(&str, &str)] = &[
    // Says in its documentation which words the crate does not have.
    ("transport/src/lib.rs", "ranks"),
    ("transport/src/lib.rs", "tags"),
    ("transport/src/lib.rs", "communicators"),
    ("transport/src/lib.rs", "datatypes"),
    // The environment variable RWMPI_RANK, by which a program learns its number from the launcher.
    ("transport/src/lib.rs", "rank"),
    ("transport/src/environment.rs", "rank"),
    ("transport/src/membership.rs", "rank"),
    ("transport/src/settings.rs", "rank"),
];

/// Where the Rust API is, whose public items are shown in examples.
pub const API_FOLDERS: &[&str] =
    &["mpi-core/src/", "mpi-core/io/src/typed/", "src/", "launcher/src/launch.rs", "mpi-abi/heap/src/global.rs"];

/// What is public there for other packages of this project, and no program's business.
pub const WITHOUT_EXAMPLES: &[&str] = &[
    // MPI as front ends of other languages see it.
    "mpi-core/src/untyped/",
    "mpi-core/src/datatype/",
    "mpi-core/src/reduction/",
    "mpi-core/src/window/",
    "mpi-core/src/progress_thread.rs",
    // What fuzzers call.
    "mpi-core/src/fuzz.rs",
    // What the launcher makes sentences of.
    "mpi-core/rank/src/activity.rs",
    "mpi-core/rank/src/answer.rs",
    // What ranks note, for the launcher and for front ends of other languages.
    "mpi-core/rank/src/profile/",
    // What derives and macros write into programs.
    "mpi-core/src/message/form.rs",
    "mpi-core/src/message/plain.rs",
];

/// The only files with unsafe code. All others are safe Rust by the compiler's word.
pub const UNSAFE_FILES: &[&str] = &[
    // Memory that peers write into while a test looks on.
    "tests/src/conformance/support.rs",
    // Which network interface a descriptor is.
    "tests/src/bin/bad-cable.rs",
    // Elements in memory that the test vouches for.
    "tests/src/suites/untyped_collectives.rs",
    "tests/src/suites/windows.rs",
    // The physical limit, measured on a mapping without the library.
    "bench/src/floor.rs",
    // What happens between fork and exec, and what exec passes on.
    "launcher/src/dispositions.rs",
    "launcher/src/group.rs",
    "launcher/src/spawn.rs",
    // Where the typed API's borrows become spans.
    "mpi-core/src/buffer.rs",
    "mpi-core/engine/src/buffer.rs",
    "mpi-core/src/collective/packed.rs",
    "mpi-core/collective/src/team.rs",
    "mpi-core/src/scope.rs",
    "mpi-core/src/owned.rs",
    "mpi-core/src/untyped/collective/staged.rs",
    // Reducing one buffer into another.
    "mpi-core/collective/src/scratch.rs",
    // Buffers side by side as one.
    "mpi-core/collective/src/nodes.rs",
    "mpi-core/src/partitioned.rs",
    "mpi-core/src/persistent.rs",
    "mpi-core/src/point_to_point.rs",
    "mpi-core/src/point_to_point/packed_values.rs",
    // Values received in place, where all of it has been written.
    "mpi-core/src/message/form.rs",
    // Plain data as bytes, and back; and the implementation that its derive writes.
    "mpi-core/src/plain.rs",
    "mpi-core/derive/src/datatype.rs",
    // The exported functions, which wrap C's arguments; the bodies behind them are safe.
    "mpi-abi/mpich/src/compatibility.rs",
    "mpi-abi/mpich/src/extensions.rs",
    "mpi-abi/mpich/src/lib.rs",
    "mpi-abi/src/argument.rs",
    // The allocator of these libraries.
    "mpi-abi/src/memory.rs",
    "mpi-abi/src/attribute.rs",
    // The rank of the process, and the program's error handlers.
    "mpi-abi/src/rank/mod.rs",
    "mpi-abi/src/call/end.rs",
    // How the process ends, and what is called then.
    "mpi-abi/src/process.rs",
    // Which function of MPI is on the stack.
    "mpi-abi/src/caller.rs",
    // How an exception that leaves a function of the program is caught, and raised again.
    "mpi-abi/src/exception.rs",
    // The program's memory as elements, and its functions on them.
    "mpi-abi/src/datatype/pack.rs",
    "mpi-abi/src/operation.rs",
    // The program's functions for its own requests.
    "mpi-abi/src/generalized_request.rs",
    // Its functions for representations of data in files, in C and in Fortran.
    "mpi-abi/src/file/representation.rs",
    "mpi-abi/fortran/src/representation.rs",
    // Functions of tools.
    "mpi-abi/src/tools/event/callback.rs",
    // Where the promises of untyped callers become spans.
    "mpi-core/src/untyped/elements.rs",
    // Memory of the program that windows are made of.
    "mpi-core/src/window/create.rs",
    "mpi-core/src/window/dynamic.rs",
    // Memory of windows of Rust programs: raw while others may write there, slices while they can't.
    "mpi-core/src/one_sided/memory.rs",
    "mpi-core/src/one_sided/local.rs",
    // The kernel's way between files and memory, and words that a window reads and writes.
    "mpi-core/io/src/disk.rs",
    "mpi-core/io/src/span.rs",
    // Pages of a file, and a part of it in memory as elements.
    "mpi-core/io/src/pages.rs",
    "mpi-core/io/src/shown.rs",
    // Locks of ranges of a file.
    "mpi-core/io/src/sieved.rs",
    // What a thread that reads and writes files gets.
    "mpi-core/io/src/helper.rs",
    "mpi-core/io/src/word.rs",
    // Memory that ranks share to read and write files together.
    "mpi-core/io/src/collective/staging.rs",
    // Elements of Rust programs, which they lend for a call.
    "mpi-core/io/src/typed/mod.rs",
    // Elements in memory that tests of files vouch for.
    "mpi-core/io/src/tests.rs",
    // What becomes of the arguments of Fortran, which are addresses.
    "mpi-abi/fortran/src/attribute.rs",
    "mpi-abi/fortran/src/buffers.rs",
    "mpi-abi/fortran/src/common.rs",
    "mpi-abi/fortran/src/description.rs",
    "mpi-abi/fortran/src/handle.rs",
    "mpi-abi/fortran/src/integer.rs",
    "mpi-abi/fortran/src/neighborhood.rs",
    "mpi-abi/fortran/src/panic.rs",
    "mpi-abi/fortran/src/refusal.rs",
    "mpi-abi/fortran/src/request.rs",
    "mpi-abi/fortran/src/section.rs",
    "mpi-abi/fortran/src/text.rs",
    // Large blocks of memory in the shared file, and the allocator's interfaces to C and to Rust.
    "mpi-abi/heap/src/fork.rs",
    "mpi-abi/heap/src/global.rs",
    "mpi-abi/heap/src/heap.rs",
    "mpi-abi/heap/src/heirs.rs",
    "mpi-abi/heap/src/home.rs",
    "mpi-abi/heap/src/private.rs",
    "mpi-abi/heap/src/process.rs",
    "mpi-abi/heap/src/static_data.rs",
    "mpi-abi/heap/preload/src/exec.rs",
    "mpi-abi/heap/preload/src/lib.rs",
    "mpi-abi/heap/preload/src/next.rs",
    // Elements of datatypes in raw memory.
    "mpi-core/src/datatype/pack.rs",
    "mpi-core/src/datatype/tests.rs",
    "mpi-core/src/datatype/tests/examples.rs",
    "mpi-core/examples/packing.rs",
    // The same for reductions: functions of the program, and numbers that only inline assembly reaches.
    "mpi-core/src/reduction/applied.rs",
    // Loops that are compiled for several generations of processors.
    "mpi-core/src/reduction/arithmetic.rs",
    "mpi-core/src/reduction/extended.rs",
    "mpi-core/src/reduction/tests.rs",
    "mpi-core/src/reduction/user.rs",
    // A slice in the shared heap.
    "mpi-core/rank/src/shared_buffer.rs",
    // Descriptors that are inherited by number.
    "transport/src/descriptor.rs",
    "transport/src/environment.rs",
    // A handler for signals of faults, which the kernel and the unwinder call.
    "transport/src/faults.rs",
    // The functions of a library in C that launchers bring.
    "transport/src/pmix.rs",
    // The mapped file and what lies in it.
    "transport/src/segment.rs",
    "transport/src/mapping.rs",
    "transport/src/room.rs",
    // The same of the file of notes.
    "transport/src/records.rs",
    "transport/src/node.rs",
    "transport/src/node/copying.rs",
    "transport/src/node/fabric.rs",
    "transport/src/node/tests.rs",
    "transport/src/ring.rs",
    "transport/src/ring/cell.rs",
    "transport/src/ring/loom_model.rs",
    "transport/src/big_lock/loom_model.rs",
    "transport/src/ring/tests.rs",
    // Words at an address.
    "transport/src/atomic_word.rs",
    // The register that tells threads apart.
    "transport/src/thread_number.rs",
    // Copies of raw memory.
    "transport/src/remote_memory.rs",
    "transport/src/handover.rs",
    "transport/src/small_copy.rs",
    "transport/src/copy.rs",
    "transport/src/slice.rs",
    "transport/src/span.rs",
    // Bytes of peers, written back.
    "transport/src/lent.rs",
    // The processor's time stamps.
    "transport/src/clock.rs",
    // Spans and sockets.
    "transport/src/tcp/socket.rs",
    // Interrupting a thread of another process.
    "transport/src/signal.rs",
];

/// Where atomics may be taken from the standard library. Everybody else takes them from the transport's `primitive`
/// module, which loom can replace: an atomic that loom cannot see is an interleaving that no test tries.
pub const ATOMICS_FILES: &[&str] = &[
    "transport/src/primitive.rs",
    // What is laid over the mapped file, or works on it: loom's atomics cannot lie there.
    "transport/src/arena.rs",
    "transport/src/atomic_word.rs",
    "transport/src/attach.rs",
    "transport/src/control.rs",
    "transport/src/element_lock.rs",
    // Between threads that fault at the same time.
    "transport/src/faults.rs",
    "transport/src/heap.rs",
    "transport/src/job.rs",
    "transport/src/layout.rs",
    "transport/src/mapping.rs",
    "transport/src/node.rs",
    "transport/src/node/fabric.rs",
    "transport/src/node/memory.rs",
    "transport/src/page_marks.rs",
    "transport/src/records.rs",
    "transport/src/remote_memory.rs",
    "transport/src/segment.rs",
    "transport/src/signal.rs",
    "transport/src/sleep.rs",
    "transport/src/wait.rs",
    // What a process has one of: its allocator. Between threads only the lock and words that say who has it.
    // A mark that the kernel takes from children.
    "mpi-abi/heap/src/home.rs",
    "mpi-abi/heap/src/process.rs",
    "mpi-abi/heap/preload/src/next.rs",
    // Where the allocator of the MPI libraries has its memory from: found out once.
    "mpi-abi/src/memory.rs",
    // A copy of marks of the mapped file.
    "mpi-abi/heap/src/fork.rs",
    // Whether the process is a rank: what any thread may ask.
    "mpi-abi/src/rank/mod.rs",
    // How many use the tool interface: likewise.
    "mpi-abi/src/tools/event/mod.rs",
    "mpi-abi/src/tools/mod.rs",
    // What a thread says that has part of a message, or reads and writes files: between threads of a process.
    "mpi-core/io/src/helper.rs",
    "mpi-core/src/partitioned.rs",
    // Measures without the library.
    "bench/src/floor.rs",
    // Whether the busy neighbours of a measurement are to end.
    "xtask/src/compare/scale.rs",
];

/// Packages that the library brings to a program, itself included.
pub const LIBRARY_PACKAGES_MAX: usize = 45;

/// Longest source file, in lines.
pub const FILE_LINES_MAX: usize = 600;

/// Last column of a comment.
pub const COMMENT_WIDTH_MAX: usize = 120;

/// Longest `ARCHITECTURE.md`, in words: what a newcomer reads in a quarter of an hour.
pub const MAP_WORDS_MAX: usize = 2000;

/// Top folders of absolute paths that exist on the writer's machine only.
pub const PRIVATE_FOLDERS: &[&str] = &["home", "root", "Users", "work"];
