//! The loops as written for wide vectors, in assembly: the instructions are then the same
//! whatever compiler made them, and so is what is measured.

use std::arch::asm;

use super::tile::{COLUMNS, ROWS};

/// Loads or stores three vectors of one column of C, and goes on to the next column.
#[rustfmt::skip]
macro_rules! load {
    ($second:literal, $third:literal; $c0:literal, $c1:literal, $c2:literal) => {
        concat!(
            "vmovupd ", $c0, ", [{place}]\n",
            "vmovupd ", $c1, ", [{place} + ", $second, "]\n",
            "vmovupd ", $c2, ", [{place} + ", $third, "]\n",
            "add {place}, {c_stride}\n",
        )
    };
}
#[rustfmt::skip]
macro_rules! store {
    ($second:literal, $third:literal; $c0:literal, $c1:literal, $c2:literal) => {
        concat!(
            "vmovupd [{place}], ", $c0, "\n",
            "vmovupd [{place} + ", $second, "], ", $c1, "\n",
            "vmovupd [{place} + ", $third, "], ", $c2, "\n",
            "add {place}, {c_stride}\n",
        )
    };
}

/// Takes the product of a column of A and one number of B out of a column of C.
#[rustfmt::skip]
macro_rules! take {
    ($at:literal, $a0:literal, $a1:literal, $a2:literal, $b:literal,
     $c0:literal, $c1:literal, $c2:literal) => {
        concat!(
            "vbroadcastsd ", $b, ", qword ptr [{b} + ", $at, "]\n",
            "vfnmadd231pd ", $c0, ", ", $a0, ", ", $b, "\n",
            "vfnmadd231pd ", $c1, ", ", $a1, ", ", $b, "\n",
            "vfnmadd231pd ", $c2, ", ", $a2, ", ", $b, "\n",
        )
    };
}

/// Twenty-four rows are three vectors, eight columns of them 24 registers.
pub unsafe fn multiply_avx512(
    depth: usize,
    a: *const f64,
    a_stride: usize,
    b: *const f64,
    c: *mut f64,
    c_stride: usize,
) {
    asm!(
        load!("64", "128"; "zmm8", "zmm9", "zmm10"),
        load!("64", "128"; "zmm11", "zmm12", "zmm13"),
        load!("64", "128"; "zmm14", "zmm15", "zmm16"),
        load!("64", "128"; "zmm17", "zmm18", "zmm19"),
        load!("64", "128"; "zmm20", "zmm21", "zmm22"),
        load!("64", "128"; "zmm23", "zmm24", "zmm25"),
        load!("64", "128"; "zmm26", "zmm27", "zmm28"),
        load!("64", "128"; "zmm29", "zmm30", "zmm31"),
        ".p2align 4",
        "2:",
        "vmovupd zmm0, [{a}]",
        "vmovupd zmm1, [{a} + 64]",
        "vmovupd zmm2, [{a} + 128]",
        take!("0", "zmm0", "zmm1", "zmm2", "zmm3", "zmm8", "zmm9", "zmm10"),
        take!("8", "zmm0", "zmm1", "zmm2", "zmm4", "zmm11", "zmm12", "zmm13"),
        take!("16", "zmm0", "zmm1", "zmm2", "zmm5", "zmm14", "zmm15", "zmm16"),
        take!("24", "zmm0", "zmm1", "zmm2", "zmm6", "zmm17", "zmm18", "zmm19"),
        take!("32", "zmm0", "zmm1", "zmm2", "zmm7", "zmm20", "zmm21", "zmm22"),
        take!("40", "zmm0", "zmm1", "zmm2", "zmm3", "zmm23", "zmm24", "zmm25"),
        take!("48", "zmm0", "zmm1", "zmm2", "zmm4", "zmm26", "zmm27", "zmm28"),
        take!("56", "zmm0", "zmm1", "zmm2", "zmm5", "zmm29", "zmm30", "zmm31"),
        "add {a}, {a_stride}",
        "add {b}, 64",
        "dec {depth}",
        "jnz 2b",
        "mov {place}, {c}",
        store!("64", "128"; "zmm8", "zmm9", "zmm10"),
        store!("64", "128"; "zmm11", "zmm12", "zmm13"),
        store!("64", "128"; "zmm14", "zmm15", "zmm16"),
        store!("64", "128"; "zmm17", "zmm18", "zmm19"),
        store!("64", "128"; "zmm20", "zmm21", "zmm22"),
        store!("64", "128"; "zmm23", "zmm24", "zmm25"),
        store!("64", "128"; "zmm26", "zmm27", "zmm28"),
        store!("64", "128"; "zmm29", "zmm30", "zmm31"),
        "vzeroupper",
        a = inout(reg) a => _,
        b = inout(reg) b => _,
        place = inout(reg) c => _,
        c = in(reg) c,
        depth = inout(reg) depth => _,
        a_stride = in(reg) a_stride * 8,
        c_stride = in(reg) c_stride * 8,
        out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
        out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
        out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
        out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
        out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
        out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
        out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
        out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
        options(nostack),
    );
}

/// Four tiles of twelve rows and four columns, each in twelve registers.
pub unsafe fn multiply_avx2(
    depth: usize,
    a: *const f64,
    a_stride: usize,
    b: *const f64,
    c: *mut f64,
    c_stride: usize,
) {
    for column in (0..COLUMNS).step_by(4) {
        for row in (0..ROWS).step_by(12) {
            let c = c.add(row + column * c_stride);
            asm!(
                load!("32", "64"; "ymm4", "ymm5", "ymm6"),
                load!("32", "64"; "ymm7", "ymm8", "ymm9"),
                load!("32", "64"; "ymm10", "ymm11", "ymm12"),
                load!("32", "64"; "ymm13", "ymm14", "ymm15"),
                ".p2align 4",
                "2:",
                "vmovupd ymm0, [{a}]",
                "vmovupd ymm1, [{a} + 32]",
                "vmovupd ymm2, [{a} + 64]",
                take!("0", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6"),
                take!("8", "ymm0", "ymm1", "ymm2", "ymm3", "ymm7", "ymm8", "ymm9"),
                take!("16", "ymm0", "ymm1", "ymm2", "ymm3", "ymm10", "ymm11", "ymm12"),
                take!("24", "ymm0", "ymm1", "ymm2", "ymm3", "ymm13", "ymm14", "ymm15"),
                "add {a}, {a_stride}",
                "add {b}, 64",
                "dec {depth}",
                "jnz 2b",
                "mov {place}, {c}",
                store!("32", "64"; "ymm4", "ymm5", "ymm6"),
                store!("32", "64"; "ymm7", "ymm8", "ymm9"),
                store!("32", "64"; "ymm10", "ymm11", "ymm12"),
                store!("32", "64"; "ymm13", "ymm14", "ymm15"),
                "vzeroupper",
                a = inout(reg) a.add(row) => _,
                b = inout(reg) b.add(column) => _,
                place = inout(reg) c => _,
                c = in(reg) c,
                depth = inout(reg) depth => _,
                a_stride = in(reg) a_stride * 8,
                c_stride = in(reg) c_stride * 8,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack),
            );
        }
    }
}

/// Takes the product of a number of L and a row out of another row.
#[rustfmt::skip]
macro_rules! reduce {
    ($row:literal, $at:literal, $by:literal) => {
        concat!("vfnmadd231pd ", $row, ", ", $by, ", qword ptr [{l} + ", $at, "]{{1to8}}\n")
    };
}

/// Eight rows at a time: first by the rows above them, then by one another.
pub unsafe fn solve_avx512(depth: usize, l: *const f64, stride: usize, strip: *mut f64) {
    for row in (0..depth).step_by(8) {
        asm!(
            "vmovupd zmm0, [{x}]",
            "vmovupd zmm1, [{x} + 64]",
            "vmovupd zmm2, [{x} + 128]",
            "vmovupd zmm3, [{x} + 192]",
            "vmovupd zmm4, [{x} + 256]",
            "vmovupd zmm5, [{x} + 320]",
            "vmovupd zmm6, [{x} + 384]",
            "vmovupd zmm7, [{x} + 448]",
            "test {rows}, {rows}",
            "jz 3f",
            ".p2align 4",
            "2:",
            "vmovupd zmm8, [{y}]",
            reduce!("zmm0", "0", "zmm8"),
            reduce!("zmm1", "8", "zmm8"),
            reduce!("zmm2", "16", "zmm8"),
            reduce!("zmm3", "24", "zmm8"),
            reduce!("zmm4", "32", "zmm8"),
            reduce!("zmm5", "40", "zmm8"),
            reduce!("zmm6", "48", "zmm8"),
            reduce!("zmm7", "56", "zmm8"),
            "add {l}, {stride}",
            "add {y}, 64",
            "dec {rows}",
            "jnz 2b",
            "3:",
            reduce!("zmm1", "8", "zmm0"),
            reduce!("zmm2", "16", "zmm0"),
            reduce!("zmm3", "24", "zmm0"),
            reduce!("zmm4", "32", "zmm0"),
            reduce!("zmm5", "40", "zmm0"),
            reduce!("zmm6", "48", "zmm0"),
            reduce!("zmm7", "56", "zmm0"),
            "add {l}, {stride}",
            reduce!("zmm2", "16", "zmm1"),
            reduce!("zmm3", "24", "zmm1"),
            reduce!("zmm4", "32", "zmm1"),
            reduce!("zmm5", "40", "zmm1"),
            reduce!("zmm6", "48", "zmm1"),
            reduce!("zmm7", "56", "zmm1"),
            "add {l}, {stride}",
            reduce!("zmm3", "24", "zmm2"),
            reduce!("zmm4", "32", "zmm2"),
            reduce!("zmm5", "40", "zmm2"),
            reduce!("zmm6", "48", "zmm2"),
            reduce!("zmm7", "56", "zmm2"),
            "add {l}, {stride}",
            reduce!("zmm4", "32", "zmm3"),
            reduce!("zmm5", "40", "zmm3"),
            reduce!("zmm6", "48", "zmm3"),
            reduce!("zmm7", "56", "zmm3"),
            "add {l}, {stride}",
            reduce!("zmm5", "40", "zmm4"),
            reduce!("zmm6", "48", "zmm4"),
            reduce!("zmm7", "56", "zmm4"),
            "add {l}, {stride}",
            reduce!("zmm6", "48", "zmm5"),
            reduce!("zmm7", "56", "zmm5"),
            "add {l}, {stride}",
            reduce!("zmm7", "56", "zmm6"),
            "vmovupd [{x}], zmm0",
            "vmovupd [{x} + 64], zmm1",
            "vmovupd [{x} + 128], zmm2",
            "vmovupd [{x} + 192], zmm3",
            "vmovupd [{x} + 256], zmm4",
            "vmovupd [{x} + 320], zmm5",
            "vmovupd [{x} + 384], zmm6",
            "vmovupd [{x} + 448], zmm7",
            "vzeroupper",
            x = in(reg) strip.add(row * COLUMNS),
            y = inout(reg) strip => _,
            l = inout(reg) l.add(row) => _,
            rows = inout(reg) row => _,
            stride = in(reg) stride * 8,
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
            out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
            out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
            out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
            options(nostack),
        );
    }
}
