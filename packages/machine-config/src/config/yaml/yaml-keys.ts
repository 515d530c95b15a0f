// Letters and digits of Unicode versions after 15. The original uses Unicode 15, and Node.js may use a later version.
const LATER_LETTERS = [
  '\\u{88f}\\u{c5c}\\u{cdc}\\u{1c89}-\\u{1c8a}\\u{a7cb}-\\u{a7cf}',
  '\\u{a7d2}\\u{a7d4}\\u{a7da}-\\u{a7dc}\\u{a7f1}\\u{105c0}-\\u{105f3}',
  '\\u{10940}-\\u{10959}\\u{10d4a}-\\u{10d65}\\u{10d6f}-\\u{10d85}\\u{10ec2}-\\u{10ec7}\\u{11380}-\\u{11389}',
  '\\u{1138b}\\u{1138e}\\u{11390}-\\u{113b5}\\u{113b7}\\u{113d1}',
  '\\u{113d3}\\u{11bc0}-\\u{11be0}\\u{11db0}-\\u{11ddb}\\u{13460}-\\u{143fa}\\u{16100}-\\u{1611d}',
  '\\u{16d40}-\\u{16d6c}\\u{16ea0}-\\u{16eb8}\\u{16ebb}-\\u{16ed3}\\u{16ff2}-\\u{16ff3}\\u{187f8}-\\u{187ff}',
  '\\u{18cff}\\u{18d09}-\\u{18d1e}\\u{18d80}-\\u{18df2}\\u{1e5d0}-\\u{1e5ed}\\u{1e5f0}',
  '\\u{1e6c0}-\\u{1e6de}\\u{1e6e0}-\\u{1e6e2}\\u{1e6e4}-\\u{1e6e5}\\u{1e6e7}-\\u{1e6ed}\\u{1e6f0}-\\u{1e6f4}',
  '\\u{1e6fe}-\\u{1e6ff}\\u{2b73a}-\\u{2b73f}\\u{2cea2}-\\u{2cead}\\u{2ebf0}-\\u{2ee5d}\\u{323b0}-\\u{33479}',
];
const LATER_DIGITS =
  '\\u{10d40}-\\u{10d49}\\u{116d0}-\\u{116e3}\\u{11bf0}-\\u{11bf9}\\u{11de0}-\\u{11de9}\\u{16130}-\\u{16139}\\u{16d70}-\\u{16d79}\\u{1ccf0}-\\u{1ccf9}\\u{1e5f1}-\\u{1e5fa}';
const LETTER = new RegExp(`^(?![${LATER_LETTERS.join('')}])\\p{L}$`, 'u');
const DIGIT = new RegExp(`^(?![${LATER_DIGITS}])\\p{Nd}$`, 'u');

/**
 * Compares keys with the order of yaml.v2: digits by their value, and other characters before letters. Source: go-yaml
 * v2, sorter.go.
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

/**
 * Computes the value of digits with 64 bits. As in the original, the function subtracts the code of the ASCII zero from
 * every Unicode digit.
 */
const numberOf = (digits: readonly string[], started: bigint): bigint =>
  digits.reduce((value, digit) => BigInt.asIntN(64, value * 10n + BigInt(codeOf(digit) - 0x30)), started);

function hasNonZeroBefore(text: readonly string[], index: number): boolean {
  for (let at = index - 1; at >= 0 && DIGIT.test(text[at] ?? ''); at -= 1) if (text[at] !== '0') return true;
  return false;
}
