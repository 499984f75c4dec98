#include "textflag.h"

// All do whole vectors, four at a time, and then once more the last vector of
// the row: doing a number twice changes nothing.

// func orWide(dst, a, b *uint64, n int)
TEXT ·orWide(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	LEAQ -4(CX), R8        // where the last vector begins
	XORQ AX, AX
	CMPQ CX, $16
	JLT  orOne
	LEAQ -16(CX), R9

orFour:
	VMOVDQU (SI)(AX*8), Y0
	VMOVDQU 32(SI)(AX*8), Y1
	VMOVDQU 64(SI)(AX*8), Y2
	VMOVDQU 96(SI)(AX*8), Y3
	VPOR    (DX)(AX*8), Y0, Y0
	VPOR    32(DX)(AX*8), Y1, Y1
	VPOR    64(DX)(AX*8), Y2, Y2
	VPOR    96(DX)(AX*8), Y3, Y3
	VMOVDQU Y0, (DI)(AX*8)
	VMOVDQU Y1, 32(DI)(AX*8)
	VMOVDQU Y2, 64(DI)(AX*8)
	VMOVDQU Y3, 96(DI)(AX*8)
	ADDQ    $16, AX
	CMPQ    AX, R9
	JLE     orFour

orOne:
	CMPQ    AX, R8
	JGE     orLast
	VMOVDQU (SI)(AX*8), Y0
	VPOR    (DX)(AX*8), Y0, Y0
	VMOVDQU Y0, (DI)(AX*8)
	ADDQ    $4, AX
	JMP     orOne

orLast:
	VMOVDQU (SI)(R8*8), Y0
	VPOR    (DX)(R8*8), Y0, Y0
	VMOVDQU Y0, (DI)(R8*8)
	VZEROUPPER
	RET

// func maxWide(dst, a *int32, n int)
TEXT ·maxWide(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ n+16(FP), CX
	LEAQ -8(CX), R8
	XORQ AX, AX
	CMPQ CX, $32
	JLT  maxOne
	LEAQ -32(CX), R9

maxFour:
	VMOVDQU (DI)(AX*4), Y0
	VMOVDQU 32(DI)(AX*4), Y1
	VMOVDQU 64(DI)(AX*4), Y2
	VMOVDQU 96(DI)(AX*4), Y3
	VPMAXSD (SI)(AX*4), Y0, Y0
	VPMAXSD 32(SI)(AX*4), Y1, Y1
	VPMAXSD 64(SI)(AX*4), Y2, Y2
	VPMAXSD 96(SI)(AX*4), Y3, Y3
	VMOVDQU Y0, (DI)(AX*4)
	VMOVDQU Y1, 32(DI)(AX*4)
	VMOVDQU Y2, 64(DI)(AX*4)
	VMOVDQU Y3, 96(DI)(AX*4)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLE     maxFour

maxOne:
	CMPQ    AX, R8
	JGE     maxLast
	VMOVDQU (DI)(AX*4), Y0
	VPMAXSD (SI)(AX*4), Y0, Y0
	VMOVDQU Y0, (DI)(AX*4)
	ADDQ    $8, AX
	JMP     maxOne

maxLast:
	VMOVDQU (DI)(R8*4), Y0
	VPMAXSD (SI)(R8*4), Y0, Y0
	VMOVDQU Y0, (DI)(R8*4)
	VZEROUPPER
	RET

// func newsWide(dst, a *uint64, n int) uint64
TEXT ·newsWide(SB), NOSPLIT, $0-32
	MOVQ  dst+0(FP), DI
	MOVQ  a+8(FP), SI
	MOVQ  n+16(FP), CX
	LEAQ  -4(CX), R8
	XORQ  AX, AX
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	CMPQ  CX, $8
	JLT   newsOne
	LEAQ  -8(CX), R9

newsTwo:
	VMOVDQU (DI)(AX*8), Y0
	VMOVDQU 32(DI)(AX*8), Y1
	VMOVDQU (SI)(AX*8), Y2
	VMOVDQU 32(SI)(AX*8), Y3
	VPANDN  Y2, Y0, Y6
	VPANDN  Y3, Y1, Y7
	VPOR    Y2, Y0, Y0
	VPOR    Y3, Y1, Y1
	VPOR    Y6, Y4, Y4
	VPOR    Y7, Y5, Y5
	VMOVDQU Y0, (DI)(AX*8)
	VMOVDQU Y1, 32(DI)(AX*8)
	ADDQ    $8, AX
	CMPQ    AX, R9
	JLE     newsTwo

newsOne:
	CMPQ    AX, R8
	JGE     newsLast
	VMOVDQU (DI)(AX*8), Y0
	VMOVDQU (SI)(AX*8), Y2
	VPANDN  Y2, Y0, Y6
	VPOR    Y2, Y0, Y0
	VPOR    Y6, Y4, Y4
	VMOVDQU Y0, (DI)(AX*8)
	ADDQ    $4, AX
	JMP     newsOne

newsLast:
	VMOVDQU (DI)(R8*8), Y0
	VMOVDQU (SI)(R8*8), Y2
	VPANDN  Y2, Y0, Y6
	VPOR    Y2, Y0, Y0
	VPOR    Y6, Y4, Y4
	VMOVDQU Y0, (DI)(R8*8)

	VPOR         Y5, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPOR         X5, X4, X4
	VPSHUFD      $0x4e, X4, X5
	VPOR         X5, X4, X4
	MOVQ         X4, AX
	MOVQ         AX, ret+24(FP)
	VZEROUPPER
	RET

// func maxRowsWide(dst, matrix, rows *int32, count, k int)
TEXT ·maxRowsWide(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ matrix+8(FP), SI
	MOVQ rows+16(FP), DX
	MOVQ count+24(FP), CX
	MOVQ k+32(FP), R10
	LEAQ -8(R10), R8       // where the last vector begins
	XORQ AX, AX            // the vector

rowsNext:
	CMPQ    AX, R8
	JLE     rowsVector
	MOVQ    R8, AX

rowsVector:
	VMOVDQU (DI)(AX*4), Y0
	LEAQ    (SI)(AX*4), R11
	XORQ    BX, BX

rowsOne:
	MOVLQSX (DX)(BX*4), R9
	IMULQ   R10, R9
	VPMAXSD (R11)(R9*4), Y0, Y0
	INCQ    BX
	CMPQ    BX, CX
	JLT     rowsOne

	VMOVDQU Y0, (DI)(AX*4)
	CMPQ    AX, R8
	JEQ     rowsDone
	ADDQ    $8, AX
	JMP     rowsNext

rowsDone:
	VZEROUPPER
	RET
