"""What `perf script` prints, and which kind of work it is."""

from tools.bench.profile import native_samples

OUTPUT = """\
python 4711/4712
\tffffffff81231234 futex_wait ([kernel.kallsyms])
\tffffffff821ef691 __x64_sys_futex ([kernel.kallsyms])
\tffffffff81000130 entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])
\t           d4ad7 __futex_abstimed_wait (/usr/lib/x86_64-linux-gnu/libc.so.6)

tokio-rt worker 4711/4713
\t          2bb344 [unknown] (/x/granian/_granian.cpython-311-x86_64-linux-gnu.so)

python 4711/4712
\t          24f7b0 take_gil (/opt/lib/libpython3.11.so.1.0)
\t               8 [unknown] ([unknown])

postgres 99/99
\tffffffff81231234 copy_user ([kernel.kallsyms])
\tffffffff821ef691 __x64_sys_recvfrom ([kernel.kallsyms])

postgres 99/99
\tffffffff821f5127 exc_page_fault ([kernel.kallsyms])
"""


def test_samples_are_counted_by_process_and_kind() -> None:
    counted = native_samples.counted(native_samples.parse(OUTPUT), {4711: "web 1", 99: "postgres"})

    assert counted == {
        ("web 1", "kernel: locks of threads (futex)"): 1,
        ("web 1", "HTTP server (Rust)"): 1,
        ("web 1", "GIL"): 1,
        ("postgres", "kernel: sockets and polling"): 1,
        ("postgres", "kernel: page faults"): 1,
    }


def test_threads_never_seen_in_the_interpreter_are_without_python() -> None:
    samples = list(native_samples.parse(OUTPUT))

    assert native_samples.without_python(samples) == {4711: 1, 99: 2}


def test_garbage_collector_is_told_from_the_interpreter() -> None:
    library = "/opt/lib/libpython3.11.so.1.0"

    assert native_samples.kind([("gc_collect_main", library)]) == "garbage collector"
    assert native_samples.kind([("_PyEval_EvalFrameDefault", library)]) == "Python interpreter"
