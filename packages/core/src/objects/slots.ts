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

/** Where the sequence of a set begins, and how far it goes from one to the next. */
function sequenceOf(setUid: string): { readonly offset: number; readonly stride: number } {
  const offset = fnv1a(setUid) % SLOTS;
  // 27^5 is a power of 3: a stride that 3 does not divide visits every suffix once.
  const stride = (fnv1a(`${setUid}/stride`) % (SLOTS / 3)) * 3 + 1;
  return { offset, stride };
}

/** Suffixes by number, in an order particular to one set. */
function suffixesOf(setUid: string): (slot: number) => string {
  const { offset, stride } = sequenceOf(setUid);
  // Below 2^53 for as many slots as a set can have.
  return (slot) => encode((offset + slot * stride) % SLOTS);
}

/** No set has had so many machines at the same time, so only the first names of the sequence are in use. */
const EVER_USED = 20_000;

/**
 * Whether the name is one that {@link nextMachineNames} gives. The original's are random: of a thousand of them one or
 * two look like ours.
 */
export function isSlotName(set: { readonly name: string; readonly uid: string }, name: string): boolean {
  const suffix = name.slice(set.name.length + 1);
  const value = decode(suffix);
  if (value === undefined || name !== `${set.name}-${suffix}`) return false;
  const { offset, stride } = sequenceOf(set.uid);
  // Below 2^53, as above.
  const slot = (((value - offset + SLOTS) % SLOTS) * inverse(stride)) % SLOTS;
  return slot < EVER_USED;
}

/** What times the stride gives 1, by Euclid's algorithm. */
function inverse(stride: number): number {
  let [rest, next, factor, following] = [SLOTS, stride, 0, 1];
  while (next !== 0) {
    const quotient = Math.floor(rest / next);
    [rest, next] = [next, rest - quotient * next];
    [factor, following] = [following, factor - quotient * following];
  }
  return (factor + SLOTS) % SLOTS;
}

/** The number of a suffix; undefined when it is none. */
function decode(suffix: string): number | undefined {
  if (suffix.length !== LENGTH) return undefined;
  let value = 0;
  for (const character of [...suffix].reverse()) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) return undefined;
    value = value * ALPHABET.length + digit;
  }
  return value;
}

function encode(value: number): string {
  let text = '';
  for (let rest = value, i = 0; i < LENGTH; i++, rest = Math.floor(rest / ALPHABET.length)) {
    text += ALPHABET[rest % ALPHABET.length];
  }
  return text;
}

/**
 * Names for the next `count` machines of a set: `<set>-<5 characters>`, as the original's look.
 *
 * They are the first free names of a sequence that the set's uid determines. A creation may be repeated after a lost
 * answer, a crash, or with a stale cache. The repetition uses the same name and gets AlreadyExists instead of a second
 * machine. Names after the highest one in use would not work, because a later creation may be known before an earlier one.
 * So a replacement may get the name of a machine that is completely gone. The uid distinguishes their VMs and tokens.
 *
 * @param taken Names of all machines known, deleting ones included.
 */
export function nextMachineNames(
  set: { readonly name: string; readonly uid: string },
  taken: Iterable<string>,
  count: number,
): string[] {
  const suffix = suffixesOf(set.uid);
  const used = new Set(taken);
  const names: string[] = [];
  for (let slot = 0; names.length < count; slot++) {
    const name = `${set.name}-${suffix(slot)}`;
    if (!used.has(name)) names.push(name);
  }
  return names;
}

/** The same, without names that other objects use. */
export function freeMachineNames(
  set: { readonly name: string; readonly uid: string },
  taken: Iterable<string>,
  count: number,
  isHeld: (name: string) => boolean,
): string[] {
  const used = new Set(taken);
  for (;;) {
    const names = nextMachineNames(set, used, count);
    const held = names.filter(isHeld);
    if (held.length === 0) return names;
    for (const name of held) used.add(name);
  }
}
