//! System calls that a confined process may not make, as a seccomp filter.
//!
//! The list holds what is forbidden, because what runtimes of all languages need is not known. It covers
//! what the file system rules do not: sockets, other processes, memory that no limit counts, attributes of
//! files, and interfaces of the kernel that a strategy has no use for.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::confine::ConfineError;

/// Refused whatever the arguments.
const FORBIDDEN: &[c_long] = &[
    // The network, and sockets of other programs; a pair of sockets reaches no other program.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Memory that the limit on data does not count.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    // Attributes of files.
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    // The system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_lookup_dcookie,
    libc::SYS_vhangup,
];

/// Refused too; newer architectures do not have them.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[c_long] = &[];

/// `fchmodat2`, too new for the library of constants; the same number everywhere.
const FCHMODAT2: i64 = 452;

/// System calls of the x32 interface have this bit; the kernel takes them from every program if it has it.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

fn wrong(error: impl std::fmt::Display) -> ConfineError {
    ConfineError::Seccomp(error.to_string())
}

/// A rule that holds if an argument has exactly `value` in the bits of `mask`.
fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, ConfineError> {
    let (length, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask));
    let condition = SeccompCondition::new(argument, length, operator, value).map_err(wrong)?;
    SeccompRule::new(vec![condition]).map_err(wrong)
}

/// A rule that holds if an argument is not 0.
fn not_zero(argument: u8) -> Result<SeccompRule, ConfineError> {
    let (length, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Ne);
    let condition = SeccompCondition::new(argument, length, operator, 0).map_err(wrong)?;
    SeccompRule::new(vec![condition]).map_err(wrong)
}

/// Forbids the system calls above for this thread and everything that it becomes.
pub(crate) fn forbid() -> Result<(), ConfineError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let all = FORBIDDEN.iter().chain(FORBIDDEN_HERE);
    for call in all.copied().chain([FCHMODAT2]) {
        rules.insert(call, Vec::new());
    }
    // Threads may be made, processes may not.
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(libc::SYS_clone, vec![masked(0, thread, 0)?]);
    // Shared anonymous memory and stacks that grow are not counted as data.
    let both = u64::from((libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs());
    let grows = u64::from(libc::MAP_GROWSDOWN.unsigned_abs());
    let mapped = [masked(3, both, both)?, masked(3, grows, grows)?];
    rules.insert(libc::SYS_mmap, mapped.into());
    // Only its own limits.
    rules.insert(libc::SYS_prlimit64, vec![not_zero(0)?]);
    #[cfg(target_arch = "x86_64")]
    {
        let known: Vec<_> = rules.keys().copied().collect();
        let own = 512..=547;
        rules.extend(
            known
                .into_iter()
                .chain(own)
                .map(|call| (call | X32, Vec::new())),
        );
    }
    apply(rules, libc::EPERM)?;
    // What is not there is tried in another way, by which threads are distinguished from processes.
    apply([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<(), ConfineError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(wrong)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(wrong)?;
    let program: seccompiler::BpfProgram = filter.try_into().map_err(wrong)?;
    seccompiler::apply_filter(&program).map_err(wrong)
}
