/** 27 characters that make no words and are never confused: Kubernetes' own alphabet for generated names. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;
const SLOTS = ALPHABET.length ** LENGTH;

/** FNV-1a, 32 bit, over UTF-8. */
export function fnv1a(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** A numbering of all 27^5 suffixes, particular to one set. */
interface Numbering {
  suffix(slot: number): string;
  /** Undefined for a text that is no suffix. */
  slot(suffix: string): number | undefined;
}

function numberingOf(setUid: string): Numbering {
  const offset = fnv1a(setUid) % SLOTS;
  // 27^5 is a power of 3: a stride that 3 does not divide visits every suffix once.
  const stride = (fnv1a(`${setUid}/stride`) % (SLOTS / 3)) * 3 + 1;
  const inverse = modularInverse(stride);
  const mod = (value: bigint) => Number(((value % BigInt(SLOTS)) + BigInt(SLOTS)) % BigInt(SLOTS));
  return {
    suffix: (slot) => encode(mod(BigInt(offset) + BigInt(slot) * BigInt(stride))),
    slot(suffix) {
      const value = decode(suffix);
      return value === undefined ? undefined : mod(BigInt(value - offset) * inverse);
    },
  };
}

function modularInverse(stride: number): bigint {
  // Euler: a^(phi - 1) is the inverse of a, and phi(3^15) = 2 * 3^14.
  let result = 1n;
  let base = BigInt(stride);
  let exponent = BigInt(2 * 3 ** 14 - 1);
  for (; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % BigInt(SLOTS);
    base = (base * base) % BigInt(SLOTS);
  }
  return result;
}

function encode(value: number): string {
  let text = '';
  for (let rest = value, i = 0; i < LENGTH; i++, rest = Math.floor(rest / ALPHABET.length)) {
    text += ALPHABET[rest % ALPHABET.length];
  }
  return text;
}

function decode(text: string): number | undefined {
  if (text.length !== LENGTH) return undefined;
  let value = 0;
  for (let i = LENGTH - 1; i >= 0; i--) {
    const digit = ALPHABET.indexOf(text.charAt(i));
    if (digit < 0) return undefined;
    value = value * ALPHABET.length + digit;
  }
  return value;
}

/**
 * Names for the next `count` machines of a set: `<set>-<5 characters>`, as the original's look.
 *
 * They are a function of the set's uid and of the machines that are known, not random: a creation whose answer was
 * lost, that a crash interrupted, or that a stale cache repeats asks for the same name again and gets AlreadyExists
 * instead of a second machine. They follow the highest slot in use, so that the name of a machine that has just gone
 * is not given to its replacement while others stand. Machines with a name of another making (the original's random
 * suffixes) merely occupy a slot.
 *
 * @param taken Names of all machines known, deleting ones included.
 */
export function nextMachineNames(
  set: { readonly name: string; readonly uid: string },
  taken: Iterable<string>,
  count: number,
): string[] {
  const numbering = numberingOf(set.uid);
  const prefix = `${set.name}-`;
  const used = new Set(taken);
  let slot = -1;
  for (const name of used) {
    const known = name.startsWith(prefix) ? numbering.slot(name.slice(prefix.length)) : undefined;
    if (known !== undefined && known > slot) slot = known;
  }
  const names: string[] = [];
  while (names.length < count) {
    slot = (slot + 1) % SLOTS;
    const name = prefix + numbering.suffix(slot);
    if (!used.has(name)) names.push(name);
  }
  return names;
}
