/** Without vowels, a hash cannot contain words. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the FNV-1a hash of a pod template, formatted as JSON with sorted keys. */
export function templateHash(template: unknown): string {
  const text = sorted(template);
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return [...String(hash)].map((digit) => LETTERS.charAt(digit.charCodeAt(0) % LETTERS.length)).join('');
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  // An integer beyond 2^53 is a bigint, for example the seconds of a toleration.
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${sorted(item)}`).join()}}`;
}
