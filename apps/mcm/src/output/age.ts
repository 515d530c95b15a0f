/**
 * Formats a duration as kubectl does: `45s`, `12m`, `3h10m`, `5d`. If the duration is not a number, the result is
 * `<unknown>`.
 */
export function age(ms: number): string {
  if (Number.isNaN(ms)) return '<unknown>';
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h${minutes % 60 === 0 ? '' : `${minutes % 60}m`}` : `${Math.floor(hours / 24)}d`;
}
