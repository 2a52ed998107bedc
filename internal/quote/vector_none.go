//go:build !(goexperiment.simd && amd64)

package quote

// vectors says that text is looked at a word at a time, so that none of these is called.
const vectors = false

func lookVector(string) (n int, dirty uint64) { return 0, 0 }
func indexVector([]byte, byte) int            { return 0 }
func validVector(string) int                  { return 0 }
func printableVector(string) int              { return 0 }
func triplesVector(string) int                { return 0 }

func spread(*[spreadBytes]byte, string, int, uint64) int { return 0 }

func (*Escaper) copyVectors([]byte, int, string, int) (int, int) { return 0, 0 }
