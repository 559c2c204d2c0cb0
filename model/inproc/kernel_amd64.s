#include "textflag.h"

// Both kernels keep eight sums of eight int32 lanes in Y0-Y7: Y0-Y3 for the
// first row of w, Y4-Y7 for the second. One turn of the loop takes 16 numbers
// of each row. VPMADDWD multiplies int16 pairs and adds the two products into
// int32, exactly.

#define STEP(xptr, acc0, acc1) \
	VMOVDQU xptr, Y10            \
	VPMADDWD Y8, Y10, Y11        \
	VPADDD Y11, acc0, acc0       \
	VPMADDWD Y9, Y10, Y11        \
	VPADDD Y11, acc1, acc1

// Sums the lanes of four accumulators into the four int32 of lo.
#define FOLD(a, b, c, d, lo, tmp) \
	VPHADDD b, a, a              \
	VPHADDD d, c, c              \
	VPHADDD c, a, a              \
	VEXTRACTI128 $1, a, tmp      \
	VPADDD tmp, lo, lo

#define ROWS \
	MOVQ x+0(FP), SI             \
	MOVQ xs+8(FP), AX            \
	MOVQ k+32(FP), CX            \
	MOVQ out+40(FP), DX          \
	SHLQ $1, AX                  \
	LEAQ (SI)(AX*1), R8          \
	LEAQ (SI)(AX*2), R9          \
	LEAQ (R8)(AX*2), R10         \
	VPXOR Y0, Y0, Y0             \
	VPXOR Y1, Y1, Y1             \
	VPXOR Y2, Y2, Y2             \
	VPXOR Y3, Y3, Y3             \
	VPXOR Y4, Y4, Y4             \
	VPXOR Y5, Y5, Y5             \
	VPXOR Y6, Y6, Y6             \
	VPXOR Y7, Y7, Y7             \
	XORQ BX, BX

#define DONE \
	FOLD(Y0, Y1, Y2, Y3, X0, X8) \
	FOLD(Y4, Y5, Y6, Y7, X4, X9) \
	VMOVDQU X0, (DX)             \
	VMOVDQU X4, 16(DX)           \
	VZEROUPPER                   \
	RET

// func dot8AVX2(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)
TEXT ·dot8AVX2(SB), NOSPLIT, $0-48
	ROWS
	MOVQ w+16(FP), DI
	MOVQ ws+24(FP), R11
	ADDQ DI, R11

loop8:
	VPMOVSXBW (DI)(BX*1), Y8
	VPMOVSXBW (R11)(BX*1), Y9
	STEP((SI)(BX*2), Y0, Y4)
	STEP((R8)(BX*2), Y1, Y5)
	STEP((R9)(BX*2), Y2, Y6)
	STEP((R10)(BX*2), Y3, Y7)
	ADDQ $16, BX
	CMPQ BX, CX
	JLT  loop8
	DONE

// func dot16AVX2(x *int16, xs int, w *int16, ws int, k int, out *[8]int32)
TEXT ·dot16AVX2(SB), NOSPLIT, $0-48
	ROWS
	MOVQ w+16(FP), DI
	MOVQ ws+24(FP), R11
	LEAQ (DI)(R11*2), R11

loop16:
	VMOVDQU (DI)(BX*2), Y8
	VMOVDQU (R11)(BX*2), Y9
	STEP((SI)(BX*2), Y0, Y4)
	STEP((R8)(BX*2), Y1, Y5)
	STEP((R9)(BX*2), Y2, Y6)
	STEP((R10)(BX*2), Y3, Y7)
	ADDQ $16, BX
	CMPQ BX, CX
	JLT  loop16
	DONE

DATA absMask<>+0(SB)/4, $0x7fffffff
GLOBL absMask<>(SB), RODATA|NOPTR, $4
DATA roundMagic<>+0(SB)/4, $12582912.0
GLOBL roundMagic<>(SB), RODATA|NOPTR, $4

// func largestAVX2(x *float32, n int) float32
TEXT ·largestAVX2(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VPBROADCASTD absMask<>(SB), Y3
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

loopL:
	VANDPS (SI), Y3, Y4
	VANDPS 32(SI), Y3, Y5
	VMAXPS Y4, Y0, Y0
	VMAXPS Y5, Y1, Y1
	ADDQ $64, SI
	SUBQ $16, CX
	JG   loopL
	VMAXPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VMAXPS X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VMAXPS X1, X0, X0
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

// func roundAVX2(q *int16, x *float32, n int, by float32)
TEXT ·roundAVX2(SB), NOSPLIT, $0-28
	MOVQ q+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS by+24(FP), Y2
	VBROADCASTSS roundMagic<>(SB), Y3

loopR:
	VMULPS (SI), Y2, Y0
	VMULPS 32(SI), Y2, Y1
	VADDPS Y3, Y0, Y0
	VADDPS Y3, Y1, Y1
	VPSUBD Y3, Y0, Y0 // what remains above the magic number's bits is the integer
	VPSUBD Y3, Y1, Y1
	VPACKSSDW Y1, Y0, Y0
	VPERMQ $0xD8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $64, SI
	SUBQ $16, CX
	JG   loopR
	VZEROUPPER
	RET

// The same products where the machine has VNNI: VPDPWSSD multiplies, adds the
// pair and adds to the sum in one instruction, 32 numbers at a time.

#define STEP512(xptr, acc0, acc1) \
	VMOVDQU64 xptr, Z10          \
	VPDPWSSD Z8, Z10, acc0       \
	VPDPWSSD Z9, Z10, acc1

#define HALVE(z, y, tmp) \
	VEXTRACTI64X4 $1, z, tmp     \
	VPADDD tmp, y, y

#define DONE512 \
	HALVE(Z0, Y0, Y8)            \
	HALVE(Z1, Y1, Y9)            \
	HALVE(Z2, Y2, Y10)           \
	HALVE(Z3, Y3, Y11)           \
	HALVE(Z4, Y4, Y8)            \
	HALVE(Z5, Y5, Y9)            \
	HALVE(Z6, Y6, Y10)           \
	HALVE(Z7, Y7, Y11)           \
	DONE

// func dot8VNNI(x *int16, xs int, w *int8, ws int, k int, out *[8]int32)
TEXT ·dot8VNNI(SB), NOSPLIT, $0-48
	ROWS
	MOVQ w+16(FP), DI
	MOVQ ws+24(FP), R11
	ADDQ DI, R11

loop8v:
	VPMOVSXBW (DI)(BX*1), Z8
	VPMOVSXBW (R11)(BX*1), Z9
	STEP512((SI)(BX*2), Z0, Z4)
	STEP512((R8)(BX*2), Z1, Z5)
	STEP512((R9)(BX*2), Z2, Z6)
	STEP512((R10)(BX*2), Z3, Z7)
	ADDQ $32, BX
	CMPQ BX, CX
	JLT  loop8v
	DONE512
