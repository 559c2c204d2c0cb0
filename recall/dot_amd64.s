#include "textflag.h"

// func rowsAVX2(q *int16, rows *int8, k, n int, out *int32)
//
// One turn of the inner loop takes 16 numbers: int8 widened to int16, pairs
// multiplied and added into int32, exactly.
TEXT ·rowsAVX2(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ k+16(FP), CX
	MOVQ n+24(FP), BX
	MOVQ out+32(FP), DX

row:
	TESTQ BX, BX
	JE    done
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

column:
	VPMOVSXBW (DI)(AX*1), Y1
	VPMADDWD  (SI)(AX*2), Y1, Y1
	VPADDD    Y1, Y0, Y0
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       column
	ADDQ      CX, DI

	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (DX)
	ADDQ         $4, DX
	DECQ         BX
	JMP          row

done:
	VZEROUPPER
	RET
