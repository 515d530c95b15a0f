export function fnv1a(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
