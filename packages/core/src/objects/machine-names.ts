import { Annotations } from '@mcm/api';
import type { Random } from '@mcm/kube';
import { fnv1a } from '../values/fnv.ts';

/** The 27 characters of generated names form no words and are easy to distinguish. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;
const NAMES = ALPHABET.length ** LENGTH;

const FIRST_NUMBER = 20_000;

/**
 * The largest difference by which the number of an existing machine can exceed the recorded next number. A set creates
 * machines before it records the number, and a reconcile creates at most 100 machines.
 */
const AHEAD = 200;

export interface NamingSet {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface MachineNumbers {
  /** The next number for a machine name. No machine of the set has or had this number. */
  readonly next: number;
  /** Numbers below `next` whose create requests got no response. Machines with these numbers may exist. */
  readonly open: readonly number[];
}

const asNumber = (text: string): number => (/^\d{1,8}$/.test(text.trim()) ? Number(text) : Number.NaN);

export function machineNumbersOf({ metadata }: NamingSet): MachineNumbers {
  const text = metadata.annotations?.[Annotations.NextMachineNumbers] ?? '';
  const [next = Number.NaN, ...open] = text.split(',').map(asNumber);
  if (Number.isNaN(next)) return { next: FIRST_NUMBER, open: [] };
  return { next: Math.max(next, FIRST_NUMBER), open: open.filter((number) => number < next) };
}

export const printMachineNumbers = ({ next, open }: MachineNumbers): string => [next, ...open].join(',');

function sequenceOf(setUid: string): { readonly offset: number; readonly stride: number } {
  const offset = fnv1a(setUid) % NAMES;
  // The number of suffixes, 27^5, is a power of 3, so a step that is not divisible by 3 visits every suffix once.
  const stride = (fnv1a(`${setUid}/stride`) % (NAMES / 3)) * 3 + 1;
  return { offset, stride };
}

function inverse(stride: number): number {
  let [rest, next, factor, following] = [NAMES, stride, 0, 1];
  while (next !== 0) {
    const quotient = Math.floor(rest / next);
    [rest, next] = [next, rest - quotient * next];
    [factor, following] = [following, factor - quotient * following];
  }
  return (factor + NAMES) % NAMES;
}

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

export const randomSuffix = (random: Random): string => encode(Math.floor(random.next() * NAMES));

/** Returns a function that creates the name `<set>-<five characters>` for a number, as in the original. */
function machineNamer({ metadata: { name, uid } }: NamingSet): (number: number) => string {
  const { offset, stride } = sequenceOf(uid);
  return (number) => `${name}-${encode((offset + number * stride) % NAMES)}`;
}

/**
 * Returns the number of a machine name, or undefined for a name that mcm did not create for the set. The original
 * creates random names. Two of a thousand random names look like names of mcm.
 */
export function machineNumberOf(set: NamingSet, name: string): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const value = name.startsWith(prefix) ? decode(name.slice(prefix.length)) : undefined;
  if (value === undefined) return undefined;
  const { offset, stride } = sequenceOf(set.metadata.uid);
  const number = (((value - offset + NAMES) % NAMES) * inverse(stride)) % NAMES;
  return number < machineNumbersOf(set).next + AHEAD ? number : undefined;
}

/**
 * Returns names for new machines.
 * - The names of earlier creations without a response come first. If the API server executed an earlier create request,
 * it responds with AlreadyExists.
 * @param unanswered names of creations without a response.
 * @param used returns true if a name must not be used, for example because an object has the name
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

export function numbersAfter(set: NamingSet, known: Iterable<string>, unanswered: Iterable<string>): MachineNumbers {
  const { next } = machineNumbersOf(set);
  const numbers = (names: Iterable<string>) =>
    [...names].map((name) => machineNumberOf(set, name)).filter((number) => number !== undefined);
  const there = new Set(numbers(known));
  const open = numbers(unanswered).filter((number) => !there.has(number));
  const highest = [...there, ...open].reduce((most, number) => Math.max(most, number + 1), next);
  return { next: highest, open: open.sort((a, b) => a - b) };
}

/** Returns the names of machines that an earlier process may have created without recording the result. */
export function unrecordedNames(set: NamingSet, known: Iterable<string>): string[] {
  const nameOf = machineNamer(set);
  const there = new Set(known);
  const { next, open } = machineNumbersOf(set);
  const after = numbersAfter(set, there, []).next;
  const between = Array.from({ length: after - next }, (_, index) => next + index);
  return [...open, ...between].map(nameOf).filter((name) => !there.has(name));
}
