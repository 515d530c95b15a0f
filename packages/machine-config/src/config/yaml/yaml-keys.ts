// The original knows the letters and digits of Unicode 15. Ignition has no keys with later characters.
const LETTER = /^\p{L}$/u;
const DIGIT = /^\p{Nd}$/u;

/**
 * Compares keys as yaml.v2 sorts them: digits by their value, other characters before letters. This is not a total order for keys that mix digits and
 * letters at one position, but Ignition has no such keys. Source: go-yaml v2, sorter.go.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const left = [...a];
  const right = [...b];
  for (let index = 0; index < left.length && index < right.length; index += 1) {
    const one = left[index] ?? '';
    const other = right[index] ?? '';
    if (one !== other) return compareAt(left, right, index, one, other);
  }
  return left.length - right.length;
}

function compareAt(
  left: readonly string[],
  right: readonly string[],
  index: number,
  one: string,
  other: string,
): number {
  const letters = [LETTER.test(one), LETTER.test(other)] as const;
  if (letters[0] && letters[1]) return codeOf(one) - codeOf(other);
  if (letters[0] || letters[1]) return letters[1] ? -1 : 1;
  const started = (one === '0' || other === '0') && hasNonZeroBefore(left, index) ? 1n : 0n;
  const [ours, theirs] = [digitsFrom(left, index), digitsFrom(right, index)];
  const [mine, yours] = [numberOf(ours, started), numberOf(theirs, started)];
  if (mine !== yours) return mine < yours ? -1 : 1;
  return ours.length - theirs.length || codeOf(one) - codeOf(other);
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

function digitsFrom(text: readonly string[], start: number): readonly string[] {
  let end = start;
  while (end < text.length && DIGIT.test(text[end] ?? '')) end += 1;
  return text.slice(start, end);
}

/** The original computes with 64 bits, and subtracts the code of the ASCII zero from every Unicode digit. */
const numberOf = (digits: readonly string[], started: bigint): bigint =>
  digits.reduce((value, digit) => BigInt.asIntN(64, value * 10n + BigInt(codeOf(digit) - 0x30)), started);

function hasNonZeroBefore(text: readonly string[], index: number): boolean {
  for (let at = index - 1; at >= 0 && DIGIT.test(text[at] ?? ''); at -= 1) if (text[at] !== '0') return true;
  return false;
}
