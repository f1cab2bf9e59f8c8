package main

// period is the length of the repeating block, in bytes.
const period = 1_048_573

// pattern is the endless byte stream of a seed, as in `crates/interop/src/pattern.rs`.
type pattern []byte

func newPattern(seed uint64) pattern {
	block := make([]byte, 0, period+8)
	for n := seed; len(block) < period; {
		n += 0x9e3779b97f4a7c15
		word := mix(n)
		for shift := 0; shift < 64; shift += 8 {
			block = append(block, byte(word>>shift))
		}
	}
	return block[:period]
}

func mix(n uint64) uint64 {
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9
	n = (n ^ (n >> 27)) * 0x94d049bb133111eb
	return n ^ (n >> 31)
}

// at returns at most `most` bytes of the stream from `offset` on.
func (p pattern) at(offset, most uint64) []byte {
	start := offset % period
	return p[start:min(start+most, period)]
}

// checksum is FNV-1a with 64 bits.
type checksum uint64

func newChecksum() *checksum {
	sum := checksum(0xcbf29ce484222325)
	return &sum
}

func (c *checksum) update(bytes []byte) {
	for _, b := range bytes {
		*c = (*c ^ checksum(b)) * 0x100000001b3
	}
}

func (c *checksum) value() uint64 { return uint64(*c) }
