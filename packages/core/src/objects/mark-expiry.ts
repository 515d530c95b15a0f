import { Annotations, type MachineDeployment, parseDurationMs } from '@mcm/api';

const KEY = Annotations.MarkExpiry;

export function expiryOf({ metadata }: MachineDeployment): number | undefined {
  const ms = parseDurationMs(metadata.annotations?.[KEY] ?? '');
  return ms !== undefined && ms > 0 ? ms : undefined;
}

/** mcm ignores an invalid expiry annotation. */
export function expiryProblem(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[KEY];
  const ms = text === undefined ? 1 : parseDurationMs(text);
  if (ms !== undefined && ms > 0) return undefined;
  return `metadata.annotations[${KEY}]: ${JSON.stringify(text)} is ignored; write a duration such as "1h"`;
}
