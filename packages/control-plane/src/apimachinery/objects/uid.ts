/** Returns a UUID of version 4. `random` returns numbers in [0, 1). */
export function randomUid(random: () => number): string {
  const bytes = new Uint8Array(16);
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(random() * 256);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
