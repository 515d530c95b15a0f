/**
 * Writes a protobuf message from its end, because the length of a field precedes its content. The caller must write the
 * fields in descending order of their numbers. The caller must write the content of a field before its tag and length.
 */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(1024);
  #at = 1024;

  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** The bytes belong to this writer and must not be changed. */
  finish(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  #reserve(length: number): number {
    if (length > this.#at) {
      const { size } = this;
      const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, size + length));
      this.#bytes.copy(grown, grown.length - size, this.#at);
      this.#at = grown.length - size;
      this.#bytes = grown;
    }
    this.#at -= length;
    return this.#at;
  }

  raw(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    const at = this.#reserve(length);
    this.#bytes.write(text, at, length, 'utf8');
  }

  double(value: number): void {
    const at = this.#reserve(8);
    this.#bytes.writeDoubleLE(value, at);
  }

  /** Writes a number below 2^53, or a bigint of at most 64 bits. */
  varint(value: number | bigint): void {
    if (typeof value === 'bigint' || value < 0 || value > 0x7fff_ffff) {
      this.#wide(typeof value === 'bigint' ? value : BigInt(value));
      return;
    }
    const length = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
    let at = this.#reserve(length);
    let rest = value;
    for (let more = length; more > 1; more--) {
      this.#bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[at] = rest;
  }

  #wide(value: bigint): void {
    const out: number[] = [];
    let rest = BigInt.asUintN(64, value);
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      out.push(rest === 0n ? low : low | 0x80);
    } while (rest !== 0n);
    this.raw(Uint8Array.from(out));
  }

  /**
   * Writes the tag of a field after its value, because the message is written from its end.
   * @param wireType 0: varint; 1: eight bytes; 2: bytes with a length
   */
  tag(number: number, wireType: 0 | 1 | 2): void {
    this.varint(number * 8 + wireType);
  }

  /** Writes the tag and the length of a field whose content was written since `mark`. */
  head(number: number, mark: number): void {
    this.varint(this.size - mark);
    this.tag(number, 2);
  }
}
