import { Annotations } from '@mcm/api';
import { fnv1a } from '../values/fnv.ts';

/** The alphabet of generated names in Kubernetes: 27 characters that form no words and look different. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;
const NAMES = ALPHABET.length ** LENGTH;

/** The number of a set's first machine. Versions without {@link Annotations.NextMachineNumbers} used the numbers below it again. */
const FIRST_NUMBER = 20_000;

/** Numbers from the next one on that a machine may have before the record contains it. A pass creates at most 100 machines. */
const AHEAD = 200;

/** A set, as far as the names of its machines depend on it. */
export interface NamingSet {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** The numbers that a set may give to new machines. It never gives another number. */
export interface MachineNumbers {
  /** No machine has or had this number or a higher one. */
  readonly next: number;
  /** Lower numbers, ascending. It is not known whether the server executed their creation. */
  readonly open: readonly number[];
}

const asNumber = (text: string): number => (/^\d{1,8}$/.test(text.trim()) ? Number(text) : Number.NaN);

/** The numbers in the set's annotation. Texts that are not numbers are ignored. */
export function machineNumbersOf({ metadata }: NamingSet): MachineNumbers {
  const text = metadata.annotations?.[Annotations.NextMachineNumbers] ?? '';
  const [next = Number.NaN, ...open] = text.split(',').map(asNumber);
  if (Number.isNaN(next)) return { next: FIRST_NUMBER, open: [] };
  return { next: Math.max(next, FIRST_NUMBER), open: open.filter((number) => number < next) };
}

/** The value of the annotation. */
export const printMachineNumbers = ({ next, open }: MachineNumbers): string => [next, ...open].join(',');

/** The first element of the sequence of a set, and the step to the next one. */
function sequenceOf(setUid: string): { readonly offset: number; readonly stride: number } {
  const offset = fnv1a(setUid) % NAMES;
  // 27^5 is a power of 3. So a stride that 3 does not divide visits every suffix once.
  const stride = (fnv1a(`${setUid}/stride`) % (NAMES / 3)) * 3 + 1;
  return { offset, stride };
}

/** The factor with which the stride gives 1, by Euclid's algorithm. */
function inverse(stride: number): number {
  let [rest, next, factor, following] = [NAMES, stride, 0, 1];
  while (next !== 0) {
    const quotient = Math.floor(rest / next);
    [rest, next] = [next, rest - quotient * next];
    [factor, following] = [following, factor - quotient * following];
  }
  return (factor + NAMES) % NAMES;
}

/** The number of a suffix; undefined if it is not a suffix. */
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

/** Names of a set's machines by their numbers: `<set>-<five characters>`, as the original's look. */
function machineNamer({ metadata: { name, uid } }: NamingSet): (number: number) => string {
  const { offset, stride } = sequenceOf(uid);
  // Below 2^53 for all numbers that a set can reach.
  return (number) => `${name}-${encode((offset + number * stride) % NAMES)}`;
}

/**
 * The number of a machine that mcm named for the set. Undefined for other names. The names of the original are random: at most
 * two of a thousand look like names of mcm.
 */
export function machineNumberOf(set: NamingSet, name: string): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const value = name.startsWith(prefix) ? decode(name.slice(prefix.length)) : undefined;
  if (value === undefined) return undefined;
  const { offset, stride } = sequenceOf(set.metadata.uid);
  // Below 2^53, as above.
  const number = (((value - offset + NAMES) % NAMES) * inverse(stride)) % NAMES;
  return number < machineNumbersOf(set).next + AHEAD ? number : undefined;
}

/**
 * Names for the next `count` machines of a set.
 *
 * - Names of unanswered creations come first. If the server executed such a creation, it answers AlreadyExists, and the set has its
 *   machine.
 * - Then follow the numbers that no machine had.
 *
 * @param unanswered Names of creations without an answer.
 * @param used True if a known object has the name, or if the name must not be given for another reason.
 */
export function nextMachineNames(
  set: NamingSet,
  unanswered: Iterable<string>,
  count: number,
  used: (name: string) => boolean,
): string[] {
  const nameOf = machineNamer(set);
  const names = [...unanswered].filter((name) => !used(name)).slice(0, count);
  for (let number = machineNumbersOf(set).next; names.length < count; number++) {
    const name = nameOf(number);
    if (!used(name) && !names.includes(name)) names.push(name);
  }
  return names;
}

/**
 * The numbers of a set that has these machines.
 * @param known Names of the machines that the set has.
 * @param unanswered Names of creations without an answer.
 */
export function numbersAfter(set: NamingSet, known: Iterable<string>, unanswered: Iterable<string>): MachineNumbers {
  const { next } = machineNumbersOf(set);
  const numbers = (names: Iterable<string>) =>
    [...names].map((name) => machineNumberOf(set, name)).filter((number) => number !== undefined);
  const there = new Set(numbers(known));
  const open = numbers(unanswered).filter((number) => !there.has(number));
  const highest = [...there, ...open].reduce((most, number) => Math.max(most, number + 1), next);
  return { next: highest, open: open.sort((a, b) => a - b) };
}

/**
 * The names of creations that an earlier process may have sent without recording the result. These are the open numbers, and the
 * numbers between the next one and the highest of a machine.
 */
export function unrecordedNames(set: NamingSet, known: Iterable<string>): string[] {
  const nameOf = machineNamer(set);
  const there = new Set(known);
  const { next, open } = machineNumbersOf(set);
  const after = numbersAfter(set, there, []).next;
  const between = Array.from({ length: after - next }, (_, index) => next + index);
  return [...open, ...between].map(nameOf).filter((name) => !there.has(name));
}
