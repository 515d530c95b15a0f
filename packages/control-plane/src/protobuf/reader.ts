export class WireError extends Error {
  override readonly name = 'WireError';
}

export interface WireField {
  readonly number: number;
  readonly varint: bigint;
  readonly bytes: Uint8Array | undefined;
}

export class WireReader {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  *fields(): Generator<WireField> {
    while (this.at < this.bytes.length) {
      const tag = Number(this.varint());
      const number = tag >>> 3;
      if (number === 0) throw new WireError(`proto: illegal tag ${number} (wire type ${tag & 7})`);
      yield this.field(number, tag & 7);
    }
  }

  private field(number: number, wireType: number): WireField {
    switch (wireType) {
      case 0:
        return { number, varint: this.varint(), bytes: undefined };
      case 1:
        return { number, varint: 0n, bytes: this.take(8) };
      case 2:
        return { number, varint: 0n, bytes: this.take(Number(this.varint())) };
      case 5:
        return { number, varint: 0n, bytes: this.take(4) };
      default:
        throw new WireError(`proto: illegal wireType ${wireType}`);
    }
  }

  /** Reads a base-128 number of at most 64 bits. */
  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new WireError('unexpected EOF');
      value |= BigInt(byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new WireError('proto: integer overflow');
  }

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  private take(length: number): Uint8Array {
    const end = this.at + length;
    if (!(end <= this.bytes.length)) throw new WireError('unexpected EOF');
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }
}
