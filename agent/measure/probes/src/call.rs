//! What a call of a procedure costs, by the number and kind of its arguments.
//!
//! Nothing can be elided, since the callee hands its arguments to assembly, nor specialised,
//! since the caller does not know their values.

use std::hint::black_box;

use crate::affinity::pin;
use crate::empty_loop::empty;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::timing::windows;

const fn cost(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[Axis {
            name: "arguments",
            unit: "1",
            meaning: "arguments that are passed, by the C calling convention",
        }],
        listed: true,
        better: Better::Lower,
        margin: 0.1,
    }
}

pub const PROBE: Probe = Probe {
    name: "call",
    title: "calls of procedures",
    question: "What does a call cost, and what does an argument add?",
    source: Some("SYSMEASURE, procedure call overhead; lmbench lat_proc procedure"),
    metrics: &[
        cost(
            "call.int",
            "a call with 64-bit integers (on x86 from the seventh on by the stack) and the return, \
             beyond an empty loop; least of windows",
        ),
        cost(
            "call.float",
            "the same with floating-point numbers of single precision; least of windows",
        ),
        cost(
            "call.double",
            "the same with floating-point numbers of double precision; least of windows",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.2),
        whole: Some(0.4),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// A loop that calls so often.
type Calls = fn(u64);

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let kinds = [
        ("call.int", INT),
        ("call.float", FLOAT),
        ("call.double", DOUBLE),
    ];
    let timed = 1 + kinds.iter().map(|(_, kind)| kind.len()).sum::<usize>();
    let budget = round.budget_ns() / timed as i64;
    let nothing = windows(budget, empty).least;
    for (metric, kind) in kinds {
        for (arguments, calls) in kind.iter().enumerate() {
            let taken = windows(budget, calls).least;
            round.read_at(metric, &[arguments as i64], taken - nothing);
        }
    }
    Ok(())
}

/// A procedure and the loop that calls it.
///
/// Seen in the machine code of a release for x86-64 (objdump -d): a `call` in a loop that is not
/// unrolled, with each argument loaded anew: integers from registers into rdi, rsi, rdx, rcx, r8
/// and r9, the seventh from memory onto the stack (where the loop's counter is then as well, for
/// want of registers), others from memory into xmm0 to xmm6. In the callee nothing but `ret`, and
/// before it the load of what is on the stack. The three without arguments are one function.
macro_rules! calls {
    ($type:ty, $class:ident $(, $argument:ident)*) => {{
        #[inline(never)]
        extern "C" fn callee($($argument: $type),*) {
            // Only a comment names the registers, so it does not matter how they are written.
            #[allow(asm_sub_register)]
            // SAFETY: there is nothing in it but a comment.
            unsafe {
                std::arch::asm!(
                    concat!("" $(, "/* {", stringify!($argument), "} */")*),
                    $($argument = in($class) $argument,)*
                    options(nomem, nostack, preserves_flags),
                );
            }
        }
        fn caller(calls: u64) {
            $(let $argument: $type = black_box(1 as $type);)*
            for _ in 0..calls {
                callee($($argument),*);
            }
        }
        caller as Calls
    }};
}

macro_rules! up_to_seven {
    ($type:ty, $class:ident) => {
        &[
            calls!($type, $class),
            calls!($type, $class, a),
            calls!($type, $class, a, b),
            calls!($type, $class, a, b, c),
            calls!($type, $class, a, b, c, d),
            calls!($type, $class, a, b, c, d, e),
            calls!($type, $class, a, b, c, d, e, f),
            calls!($type, $class, a, b, c, d, e, f, g),
        ]
    };
}

const INT: &[Calls] = up_to_seven!(i64, reg);
#[cfg(target_arch = "x86_64")]
const FLOAT: &[Calls] = up_to_seven!(f32, xmm_reg);
#[cfg(target_arch = "x86_64")]
const DOUBLE: &[Calls] = up_to_seven!(f64, xmm_reg);
#[cfg(target_arch = "aarch64")]
const FLOAT: &[Calls] = up_to_seven!(f32, vreg);
#[cfg(target_arch = "aarch64")]
const DOUBLE: &[Calls] = up_to_seven!(f64, vreg);
/// Registers of other architectures have names that are not known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLOAT: &[Calls] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const DOUBLE: &[Calls] = &[];
