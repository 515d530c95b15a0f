export interface ElfNeeds {
  readonly libraries: readonly string[];
  readonly loader: string | undefined;
  readonly architecture: string;
}

const ARCHITECTURES: Readonly<Record<number, string>> = { 21: 'ppc64le', 22: 's390x', 62: 'amd64', 183: 'arm64' };

const LOAD = 1;
const DYNAMIC = 2;
const INTERPRETER = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: bigint;
  readonly size: number;
}

/** Reads numbers in the byte order of the file's machine. Only s390x is big-endian. */
interface Numbers {
  u16(at: number): number;
  u32(at: number): number;
  u64(at: number): bigint;
}

const numbersOf = (file: Buffer): Numbers =>
  file[5] === 2
    ? {
        u16: (at) => file.readUInt16BE(at),
        u32: (at) => file.readUInt32BE(at),
        u64: (at) => file.readBigUInt64BE(at),
      }
    : {
        u16: (at) => file.readUInt16LE(at),
        u32: (at) => file.readUInt32LE(at),
        u64: (at) => file.readBigUInt64LE(at),
      };

function segments({ u16, u32, u64 }: Numbers): readonly Segment[] {
  const [start, size, count] = [Number(u64(32)), u16(54), u16(56)];
  return Array.from({ length: count }, (_none, index) => {
    const at = start + index * size;
    return {
      type: u32(at),
      offset: Number(u64(at + 8)),
      address: u64(at + 16),
      size: Number(u64(at + 32)),
    };
  });
}

const textAt = (file: Buffer, at: number): string => file.toString('latin1', at, file.indexOf(0, at));

/** Reads a 64-bit executable or shared library (System V ABI). Throws an error for any other file. */
export function readElf(file: Buffer): ElfNeeds {
  if (file.toString('latin1', 0, 5) !== '\x7fELF\x02') throw new Error('not a 64-bit ELF file');
  const numbers = numbersOf(file);
  const machine = numbers.u16(18);
  const architecture = ARCHITECTURES[machine];
  if (architecture === undefined) {
    throw new Error(
      `an ELF file of the unsupported machine ${machine}; supported machines: ${Object.values(ARCHITECTURES).join(', ')}`,
    );
  }
  const parts = segments(numbers);
  const loader = parts.find(({ type }) => type === INTERPRETER);
  return { libraries: neededBy(file, numbers, parts), loader: loader && textAt(file, loader.offset), architecture };
}

function neededBy(file: Buffer, { u64 }: Numbers, parts: readonly Segment[]): string[] {
  const dynamic = parts.find(({ type }) => type === DYNAMIC);
  if (!dynamic) return [];
  const entries: [bigint, bigint][] = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) entries.push([u64(at), u64(at + 8)]);
  const table = entries.find(([tag]) => tag === DT_STRTAB)?.[1] ?? 0n;
  const home = parts.find(
    ({ type, address, size }) => type === LOAD && address <= table && table < address + BigInt(size),
  );
  if (!home) throw new Error('an ELF file without a table of section names');
  const names = home.offset + Number(table - home.address);
  return entries.filter(([tag]) => tag === DT_NEEDED).map(([, offset]) => textAt(file, names + Number(offset)));
}
